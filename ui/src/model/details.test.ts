import { expect, test } from 'vitest'
import type { EventDetails, Profile } from './api'
import { deviceProfileOf, deviceProfiles, exactTime, fieldName, fieldValue, groupName, fieldLink, readDeviceList, shownGroups } from './details'

const field = (name: string, value: unknown, unit = '') => ({ name, value, unit, meaning: '' })
const event = (groups: EventDetails['groups'], name = 'x'): EventDetails => ({
  id: 1, table: 'SystemProfileEvents', name, track: 0, row: null, start: '0', end: '1', groups, predecessors: [], successors: [],
})

test('field and group names become labels', () => {
  expect(fieldName('duration_ns')).toBe('Duration')
  expect(fieldName('registers_per_thread')).toBe('Registers per thread')
  expect(fieldName('hlo_op')).toBe('HLO operation')
  expect(groupName('GpuKernel')).toBe('GPU kernel')
  expect(groupName('IDs')).toBe('IDs')
})

test('values are formatted by their unit, with all digits in addition', () => {
  expect(fieldValue(field('duration_ns', 18015, 'ns'))).toEqual({ text: '18.02 µs', exact: '18,015 ns', isLong: false })
  expect(fieldValue(field('shared_bytes', 8192, 'B')).text).toBe('8.19 kB')
  expect(fieldValue(field('occupancy_percent', 12.5, '%')).text).toBe('12.5 %')
  expect(fieldValue(field('launch_event_id', 106895)).text).toBe('106895')
  expect(fieldValue(field('flow_id', ['1.67', '1.68'])).text).toBe('1.67, 1.68')
  expect(fieldValue(field('shape', { a: [1, 2] })).text).toBe('{\n  "a": [\n    1,\n    2\n  ]\n}')
})

test('times keep all digits', () => {
  expect(exactTime(27215751000n)).toBe('27.215751 ms')
  expect(exactTime(5439011742500n)).toBe('5.4390117425 s')
  expect(exactTime(928000n)).toBe('928 ns')
  expect(exactTime(7n)).toBe('7 ps')
  expect(exactTime(0n)).toBe('0 ps')
  expect(exactTime(-1500n)).toBe('−1.5 ns')
})

test('empty groups and zero fractions are left out', () => {
  const groups = shownGroups(event([
    { title: 'Data', fields: [] },
    { title: 'Timing', fields: [field('start_fraction_ps', 0, 'ps'), field('duration_fraction_ps', 5, 'ps')] },
  ]))
  expect(groups).toEqual([{ title: 'Timing', fields: [field('duration_fraction_ps', 5, 'ps')] }])
})

test('fields link to events, source lines and searches', () => {
  const operation = { title: 'HloOperation', fields: [field('source_file', 'a.py'), field('source_line', 7), field('opcode', 'dot')] }
  const step = { title: 'Step', fields: [field('event_id', 42)] }
  const details = event([operation, step])
  expect(fieldLink(details, 'HloOperation', operation.fields[0]!)).toMatchObject({ to: 'source', file: 'a.py', line: 7 })
  expect(fieldLink(details, 'HloOperation', operation.fields[2]!)).toMatchObject({ to: 'search', field: 'opcode', value: 'dot' })
  expect(fieldLink(details, 'IDs', field('step_id', 3))).toMatchObject({ to: 'event', id: 42 })
  expect(fieldLink(details, 'IDs', field('process_id', 3))).toBeNull()
})

test('a device profile is found by core and instance, else by model', () => {
  const workspace = ['own', 'n_1', 'device_profile_model_graph'].map((name) => ({ name }) as Profile)
  const entries = readDeviceList(['{"device_profile_list":[{"nc_id":0,"device_profile_name":"n_1","instance_id":"i-1"},{"nc_id":1,"device_profile_name":"n_2"}]}', '{}'])
  const all = deviceProfiles(entries, workspace, 'own')
  expect(all.map((one) => [one.name, one.profile?.name ?? null])).toEqual([
    ['n_1', 'n_1'], ['n_2', null], ['device_profile_model_graph', 'device_profile_model_graph'],
  ])
  const run = (core: number, instance: string) =>
    event([{ title: 'IDs', fields: [field('nc_idx', core), field('instance_id', instance), field('model_name', 'graph.neff')] }])
  expect(deviceProfileOf(run(0, 'i-1'), all)?.name).toBe('n_1')
  expect(deviceProfileOf(run(1, 'i-9'), all)?.name).toBe('n_2')
  expect(deviceProfileOf(run(0, 'i-9'), all)?.name).toBe('device_profile_model_graph')
  expect(deviceProfileOf(run(0, 'i-9'), all.slice(0, 2))).toBeNull()
})

test('of processes with a core each, the process tells the device profile', () => {
  const all = [7, 8, 9].map((process) => ({ name: `rank_${process}`, core: process % 2, instance: 'i-1', process, profile: null }))
  const run = (process: number, instance = 'i-1') =>
    event([{ title: 'IDs', fields: [field('nc_idx', 0), field('instance_id', instance), field('process_id', process)] }])
  expect([7, 8, 9].map((process) => deviceProfileOf(run(process), all)?.name)).toEqual(['rank_7', 'rank_8', 'rank_9'])
  expect(deviceProfileOf(run(8, 'host of jax'), all)?.name).toBe('rank_8')
  const both = [...all, { ...all[0]!, name: 'other', instance: 'host of jax' }]
  expect([7, 8].map((process) => deviceProfileOf(run(process, 'host of jax'), both)?.name)).toEqual(['other', undefined])
})

// The profile list: order, format names, recent profiles.
import { expect, test } from 'vitest'
import type { Profile } from './api'
import { plainText } from './figures'
import { deviceName, formatName, shortFormatName, readNames, sortListed, timeAgo, addRecent, type SortKey } from './profiles'

function profile(name: string, rest: Partial<Profile> = {}): Profile {
  return {
    name, id: null, status: 'ready', percent: 100, reason: null, created: '2026-01-01T00:00:00Z', bytes: 1, events: 1, duration_ns: 1, format: null,
    device_model: null, device_count: 0, step_ns: null, finding: null, is_capture: false, favorite: false, ...rest,
  }
}

const NOW = Date.parse('2026-01-10T12:00:00Z')

test.each([
  ['2026-01-10T11:59:50Z', 'just now'],
  ['2026-01-10T12:00:30Z', 'just now'], // a clock that is ahead
  ['2026-01-10T11:58:00Z', '2 minutes ago'],
  ['2026-01-10T09:30:00Z', '2 hours ago'],
  ['2026-01-09T11:00:00Z', 'yesterday'],
  ['2025-11-01T00:00:00Z', '2 months ago'],
  ['2023-11-01T00:00:00Z', '2 years ago'],
  ['never', '–'],
])('%s is %s', (created, words) => {
  expect(timeAgo(created, NOW)).toBe(words)
})

test('profiles are sorted by a column, either way; equals keep their order', () => {
  const list = [profile('b', { bytes: 2 }), profile('A', { bytes: 1 }), profile('c', { bytes: 2 })]
  const names = (sorted: Profile[]) => sorted.map((one) => one.name).join('')
  expect(names(sortListed(list, 'name', false))).toBe('Abc')
  expect(names(sortListed(list, 'name', true))).toBe('cbA')
  expect(names(sortListed(list, 'size', true))).toBe('bcA')
  expect(names(list)).toBe('bAc')
})

test('runs are sorted among profiles; what is unknown comes last either way', () => {
  const list = [profile('b', { step_ns: 2 }), { dataset: 'runs', run: 'a', created: '2026-02-01T00:00:00Z' }, profile('c', { step_ns: 1 })]
  const names = (...order: [SortKey, boolean]) => sortListed(list, ...order).map((one) => ('run' in one ? one.run : one.name)).join('')
  expect([names('name', false), names('created', true), names('step', true), names('step', false)]).toEqual(['abc', 'abc', 'bca', 'cba'])
})

test('a device has its model, and how many there are', () => {
  expect(plainText(deviceName({ device_model: 'NVIDIA H200', device_count: 8 }))).toBe('8 × NVIDIA H200')
  expect(deviceName({ device_model: 'NVIDIA H200', device_count: 1 })).toBe('NVIDIA H200')
  expect(deviceName({ device_model: null, device_count: 4 })).toBe('')
})

test('formats have names; an unknown one is shown as is', () => {
  expect(formatName('xplane')).toBe('JAX / XLA (XPlane)')
  expect(formatName('kymo-session+xplane')).toBe('Kymo recording + JAX / XLA (XPlane)')
  expect(shortFormatName('kymo-session+xplane')).toBe('Kymo + XPlane')
  expect(formatName(null)).toBe('')
  expect(formatName('new-format')).toBe('new-format')
})

test('recent names have no duplicates, and invalid storage is read as empty', () => {
  expect(addRecent(['a', 'b'], 'b')).toEqual(['b', 'a'])
  expect(addRecent(Array.from({ length: 20 }, String), 'x')).toHaveLength(8)
  expect(readNames('["a",1]')).toEqual(['a'])
  expect(readNames('{')).toEqual([])
  expect(readNames(null)).toEqual([])
})

// Data of the summary charts.
import { expect, test } from 'vitest'
import type { TimelineData } from './timelineData'
import { counterSeries, deviceLabels, deviceModels, readSeries, readSteps, readSummary, formatBusyShare, stepsQuery, ticks, type DeviceSummary } from './summary'

function device(name: string, host: string, model: string): DeviceSummary {
  return { name, host, model, event_count: 0, busy_ns: 0, busy_share: 0, launch_delay_ns: null }
}

test('axis ticks are round and reach the maximum', () => {
  expect(ticks(7.8, 4)).toEqual([0, 2, 4, 6, 8])
  expect(ticks(100, 4)).toEqual([0, 50, 100])
  expect(ticks(0, 4)).toEqual([0])
  expect(ticks(NaN, 4)).toEqual([0])
})

test('missing parts of a document are read as empty', () => {
  const summary = readSummary({ format: 'xplane' })
  expect(summary.devices).toEqual([])
  expect(summary.steps).toEqual({ count: 0, step_ns: null, host_ns: null, device_ns: null, period_ns: null })
  expect(summary.start_epoch_ns).toBeNull()
})

test('devices have short names, with the host where there are several', () => {
  expect(deviceLabels([device('/device:GPU:0', 'a', '')])).toEqual(['GPU 0'])
  expect(deviceLabels([device('/device:GPU:0', 'a', ''), device('/device:GPU:0', 'b', '')])).toEqual(['GPU 0 · a', 'GPU 0 · b'])
  expect(deviceModels([device('0', 'a', 'H200'), device('1', 'a', 'H200'), device('2', 'a', '')])).toBe('2 × H200')
})

test('many steps share a bar, few have one each', () => {
  expect(stepsQuery(20, 'SELECT 1')).toContain('id // 1 ')
  expect(stepsQuery(24_000, 'SELECT 1')).toContain('id // 100 ')
  const bar = { id: 0, steps: 1, from_ns: 10, to_ns: 30, step_ns: 20, device_ns: null }
  expect(readSteps([[3, 0, 1, 10, 30, 20, null]])).toEqual([{ label: '3', ...bar }])
  expect(readSteps([[0, 0, 1, 10, 30, 20, null], [0, 1, 1, 10, 30, 20, null]]).map((one) => one.label)).toEqual(['0', '1'])
})

test('series are sorted by maximum, with points in the middle of their bucket', () => {
  const series = readSeries([['low', 0, 1], ['high', 0, 5], ['high', 239, 7]], 0, 2400)
  expect(series.map((one) => one.name)).toEqual(['high', 'low'])
  expect(series[0]!.points).toEqual([{ at: 5, value: 5 }, { at: 2395, value: 7 }])
})

test('a small share is not shown as zero', () => {
  expect(formatBusyShare(0)).toBe('0.0 %')
  expect(formatBusyShare(0.0001)).toBe('< 0.1 %')
  expect(formatBusyShare(0.2584)).toBe('25.8 %')
})

test('counters are read with their gaps, the highest first', () => {
  const column = (...values: number[]) => Float64Array.from(values)
  const counters = { start: column(0, 1000, 9000, 0), end: column(1000, 2000, 9500, 500), max: column(5, 6, 7, 9) }
  const rows = [{ track: 3, row: 0, first: 0, count: 3 }, { track: 4, row: 0, first: 3, count: 1 }]
  const series = counterSeries(new Map([[3, 'low'], [4, 'high'], [5, 'none']]), { from: 1000, counterRows: rows, counters } as unknown as TimelineData)
  expect(series.map((one) => one.name)).toEqual(['high', 'low'])
  expect(series[1]!.points).toEqual([{ at: 1, value: 5 }, { at: 2, value: 6 }, { at: 3, value: null }, { at: 10, value: 7 }, { at: 10.5, value: null }])
})

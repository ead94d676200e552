import { expect, test } from 'vitest'
import type { Track } from './api'
import { busyNames, busyText, busyTracks, columnShares, meanShares } from './overview'

const track = (id: number, level: Track['level'], role: string, name: string, parent: number | null = null, rows = 1) =>
  ({ id, level, role, name, parent, rows }) as Track

test('devices are shown, all of them; without any, what else has events', () => {
  const all = [track(1, 'instance', '', 'a'), track(2, 'instance', '', 'b'), track(3, 'source', 'device', '/device:GPU:0', 1), track(4, 'source', 'device', '/device:GPU:0', 2),
    track(5, 'source', 'host', '/host:CPU', 1), track(6, 'lane', 'stream', 'Stream', 3)]
  const { areDevices, tracks } = busyTracks(all)
  expect([areDevices, tracks.map(({ id }) => id), busyNames(tracks, all)]).toEqual([true, [3, 4], ['a · GPU 0', 'b · GPU 0']])
  expect(busyTracks(all.filter(({ role }) => role !== 'device')).tracks.map(({ id }) => id)).toEqual([5])
})

test('columns have the mean of their bins, however wide the strip is', () => {
  const shares = Float32Array.from({ length: 100 }, (_, at) => (at % 7) / 6)
  const mean = (values: Float32Array) => values.reduce((sum, one) => sum + one, 0) / values.length
  for (const width of [1, 33, 100, 101, 640]) expect(mean(columnShares(shares, width))).toBeCloseTo(mean(shares), 5)
  expect([...columnShares(Float32Array.of(1, 0), 4)]).toEqual([1, 1, 0, 0])
})

test('the text names each device, and how many more there are', () => {
  const source = (name: string, ...shares: number[]) => ({ name, shares: Float32Array.from(shares) })
  expect(busyText([source('GPU 0', 0.5, 0)], true, null)).toBe('GPU 0: 25.0 % busy')
  expect(busyText([source('GPU 0', 0.5, 0), source('GPU 1', 1, 1)], true, 0)).toBe('Mean of 2 devices: 75.0 % busy\nGPU 0: 50.0 % busy\nGPU 1: 100.0 % busy')
  const many = Array.from({ length: 64 }, (_, at) => source(`GPU ${at}`, at % 2))
  expect(busyText(many, true, 0).split('\n')).toHaveLength(17)
  expect(busyText(many, true, 0)).toMatch(/^Mean of 64 devices: 50\.0 % busy\n[^]*\nand 49 more$/)
  expect([...meanShares(many)]).toEqual([0.5])
})

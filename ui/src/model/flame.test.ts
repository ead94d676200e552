// Flame graphs: trees from responses, and frames within their parents.
import { expect, test } from 'vitest'
import type { FlameResponse } from './api'
import { flameFrames, flameTree, selfTimes, trackGroups } from './flame'

const RESPONSE: FlameResponse = {
  total_ns: 100, count: 4, left_out: 0,
  nodes: [
    { name: 'step', parent: -1, count: 1, total_ns: 80, self_ns: 10 },
    { name: 'forward', parent: 0, count: 1, total_ns: 50, self_ns: 50 },
    { name: 'backward', parent: 0, count: 1, total_ns: 20, self_ns: 20 },
    { name: 'idle', parent: -1, count: 1, total_ns: 20, self_ns: 20 },
  ],
}

const place = (frames: ReturnType<typeof flameFrames>, name: string) => {
  const frame = frames.find((one) => one.node.name === name)
  return frame ? [frame.depth, frame.x, frame.width] : null
}

test('frames are as wide as their time, below what they are in', () => {
  const frames = flameFrames(flameTree([{ response: RESPONSE }]), 0.001)
  expect(place(frames, 'All')).toEqual([0, 0, 1])
  expect(place(frames, 'step')).toEqual([1, 0, 0.8])
  expect(place(frames, 'forward')).toEqual([2, 0, 0.5])
  expect(place(frames, 'backward')![1]).toBeCloseTo(0.5)
  expect(place(frames, 'idle')![1]).toBeCloseTo(0.8)
  expect(place(flameFrames(flameTree([{ response: RESPONSE }]), 0.3), 'backward')).toBe(null)
})

test('a frame that is zoomed to has the whole width, and so have those above it', () => {
  const root = flameTree([{ title: 'Host', response: RESPONSE }])
  const step = root.children[0]!.children[0]!
  const frames = flameFrames(step, 0.001)
  expect(['All', 'Host', 'step'].map((name) => place(frames, name))).toEqual([[0, 0, 1], [1, 0, 1], [2, 0, 1]])
  expect(place(frames, 'forward')).toEqual([3, 0, 0.625])
  expect(place(frames, 'idle')).toBe(null)
})

test('children that overlap stay within their parent', () => {
  const overlapping = { ...RESPONSE, nodes: RESPONSE.nodes.map((node) => (node.name === 'backward' ? { ...node, total_ns: 110 } : node)) }
  const frames = flameFrames(flameTree([{ response: overlapping }]), 0.001)
  const [, x, width] = place(frames, 'backward')!
  expect(x! + width!).toBeCloseTo(0.8)
})

test('self times are added up by name', () => {
  const root = flameTree([{ title: 'a', response: RESPONSE }, { title: 'b', response: RESPONSE }])
  expect(selfTimes(root)[0]).toEqual({ name: 'forward', count: 2, self_ns: 100 })
  expect(selfTimes(root).reduce((sum, one) => sum + one.self_ns, 0)).toBe(200)
})

test('a device is shown once: by its streams, else by its operations', () => {
  const track = (id: number, level: 'source' | 'lane', role: string, parent: number | null, table: 'SystemProfileEvents' | 'HloRun' = 'SystemProfileEvents') =>
    ({ id, level, role, parent, table, name: `t${id}`, is_counter: false, rows: 1, event_count: 5, sort_key: 0 }) as const
  const groups = trackGroups([
    track(1, 'source', 'device', null), track(2, 'lane', 'stream', 1), track(3, 'lane', 'ops', 1, 'HloRun'),
    track(4, 'source', 'device', null), track(5, 'lane', 'ops', 4), track(6, 'lane', 'modules', 4),
    track(7, 'source', 'host', null), track(8, 'lane', 'plain', 7),
    track(9, 'source', 'other', null), track(10, 'lane', 'plain', 9), // the profiler's own span
  ])
  expect(groups.map((group) => group.tracks)).toEqual([[2], [5], [8]])
  expect(trackGroups([track(9, 'source', 'other', null), track(10, 'lane', 'plain', 9)]).map((group) => group.tracks)).toEqual([[10]])
})

// Flame graphs: a call tree from the server, laid out as frames of a given width.
import type { FlameResponse, Track } from './api'

export interface FlameNode {
  name: string
  count: number
  total_ns: number
  self_ns: number
  parent: FlameNode | null
  children: FlameNode[] // most time first
  part: number | null // of the graph; null: the whole
  path: readonly string[] // names from the part's outermost event on
}

/** A frame; x and width are shares of the whole. */
export interface Frame {
  node: FlameNode
  depth: number
  x: number
  width: number
}

/** The trees of several responses under one root; a title makes each a tree of its own. */
export function flameTree(parts: readonly { title?: string; response: FlameResponse }[]): FlameNode {
  const root: FlameNode = { name: 'All', count: 0, total_ns: 0, self_ns: 0, parent: null, children: [], part: null, path: [] }
  for (const [part, { title, response }] of parts.entries()) {
    if (response.nodes.length === 0) continue
    let top = root
    if (title) {
      top = { name: title, count: response.count, total_ns: response.total_ns, self_ns: 0, parent: root, children: [], part, path: [] }
      root.children.push(top)
    }
    root.count += response.count
    root.total_ns += response.total_ns
    const made: FlameNode[] = []
    for (const node of response.nodes) {
      const parent = node.parent < 0 ? top : made[node.parent]!
      const one: FlameNode = { ...node, parent, children: [], part, path: [...parent.path, node.name] }
      made.push(one)
      parent.children.push(one)
    }
  }
  return root
}

/** Frames of a node, its ancestors above it, and all that is at least `min` of the width. Children that overlap in time, and so
 *  have more time than their parent, are scaled to it. */
export function flameFrames(focus: FlameNode, min: number): Frame[] {
  const path: FlameNode[] = []
  for (let node = focus.parent; node; node = node.parent) path.unshift(node)
  const frames: Frame[] = path.map((node, depth) => ({ node, depth, x: 0, width: 1 }))
  const pending: Frame[] = [{ node: focus, depth: path.length, x: 0, width: 1 }]
  for (let frame = pending.pop(); frame; frame = pending.pop()) {
    frames.push(frame)
    const { node, depth, x, width } = frame
    const inside = node.children.reduce((sum, child) => sum + child.total_ns, 0)
    const scale = width / Math.max(node.total_ns, inside, 1e-9)
    let at = x
    for (const child of node.children) {
      const share = child.total_ns * scale
      if (share >= min) pending.push({ node: child, depth: depth + 1, x: at, width: share })
      at += share
    }
  }
  return frames
}

/** Self time by name, most first. */
export function selfTimes(root: FlameNode): { name: string; count: number; self_ns: number }[] {
  const byName = new Map<string, { name: string; count: number; self_ns: number }>()
  const pending = [...root.children]
  for (let node = pending.pop(); node; node = pending.pop()) {
    const sum = byName.get(node.name) ?? { name: node.name, count: 0, self_ns: 0 }
    sum.count += node.count
    sum.self_ns += node.self_ns
    byName.set(node.name, sum)
    pending.push(...node.children)
  }
  return [...byName.values()].filter((sum) => sum.self_ns > 0).sort((a, b) => b.self_ns - a.self_ns)
}

/** A step; times in ns. */
export interface FlameStep {
  id: number
  name: string
  number: number
  start_ts: number
  end_ts: number
  device_start_ts: number | null
  device_end_ts: number | null
}

export const FLAME_STEPS_SQL =
  'SELECT id, name, number, start_ts, end_ts, device_start_ts, device_end_ts FROM Step ORDER BY start_ts, id'

/** Tracks of one device, or of the host, that show its time once. */
export interface TrackGroup {
  title: string
  isDevice: boolean
  tracks: number[]
}

/** Streams, else operations, of each device; all threads of the host. Rows derived from streams would count their time twice,
 *  and what belongs to neither, such as the span of PyTorch's profiler itself, is no work. */
export function trackGroups(tracks: readonly Track[]): TrackGroup[] {
  const byId = new Map(tracks.map((track) => [track.id, track]))
  const hasHost = tracks.some((track) => track.level === 'source' && track.role === 'host')
  const sources = new Map<string, { title: string; isDevice: boolean; lanes: Track[] }>()
  for (const lane of tracks) {
    if (lane.level !== 'lane' || lane.is_counter || lane.event_count === 0 || lane.table !== 'SystemProfileEvents') continue
    const source = byId.get(lane.parent ?? -1)
    const isDevice = source?.role === 'device'
    if (!isDevice && hasHost && source?.role !== 'host') continue
    const key = isDevice ? String(source.id) : 'host'
    const group = sources.get(key) ?? { title: isDevice ? source.name : 'Host', isDevice, lanes: [] }
    group.lanes.push(lane)
    sources.set(key, group)
  }
  return [...sources.values()].map(({ title, isDevice, lanes }) => {
    const of = (role: string) => lanes.filter((lane) => lane.role === role)
    const chosen = !isDevice ? lanes : of('stream').length > 0 ? of('stream') : of('ops').length > 0 ? of('ops') : lanes
    return { title, isDevice, tracks: chosen.map((lane) => lane.id) }
  })
}

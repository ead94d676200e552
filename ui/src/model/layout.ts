// Vertical layout of the timeline: from tracks and view settings to a list of group headers and lanes with their y.
import type { Track } from './api'
import { buildTrackTree, type LaneNode, type Node } from './trackTree'
import type { View } from './view'

export type LayoutView = Pick<View, 'collapsed' | 'hidden' | 'pinned' | 'order' | 'grouping' | 'rowHeight' | 'filter'> & { minimal: boolean }

interface LayoutItem {
  id: number
  label: string
  title: string // full path, for the tooltip
  depth: number
  y: number
  height: number
  isCollapsed: boolean
  canCollapse: boolean
}

export interface Lane extends LayoutItem {
  kind: 'lane'
  track: Track
  source: string
  rows: number // visible rows
  rowHeight: number
  isPinned: boolean
}

export interface Group extends LayoutItem {
  kind: 'group'
  end: number // y behind the last item inside
  busy: Track[] // tracks whose first rows together are its busy time
}

export type Item = Lane | Group

export interface Layout {
  pinned: Lane[]
  pinnedHeight: number
  items: Item[]
  height: number
  hidden: { id: number; label: string }[]
  lanes: Map<number, Lane> // visible lanes by track
  parents: Map<number, number[]> // groups of each lane, outermost first; includes collapsed and hidden lanes
  siblings: Map<number, number[]> // ids of the same group, in order
  folded: Set<number> // groups that are collapsed unless the view names them
}

export const HEADER_HEIGHT = 24
export const LANE_PADDING = 3
const COUNTER_ROWS = 2

function laneHeight(track: Track, rows: number, rowHeight: number): number {
  return (track.is_counter ? COUNTER_ROWS : rows) * rowHeight + 2 * LANE_PADDING
}

class Builder {
  readonly layout: Layout = {
    pinned: [], pinnedHeight: 0, items: [], height: 0, hidden: [], lanes: new Map(), parents: new Map(), siblings: new Map(), folded: new Set(),
  }
  readonly #collapsed: Set<number>
  readonly #hidden: Set<number>
  readonly #pinned: Set<number>

  constructor(
    readonly view: LayoutView,
    readonly busyTime: BusyTime,
  ) {
    this.#collapsed = new Set(view.collapsed)
    this.#hidden = new Set(view.hidden)
    this.#pinned = new Set(view.pinned)
  }

  place(nodes: Node[], depth: number, path: string[], parents: number[]): void {
    const shown = nodes.filter((node) => !this.#skip(node, parents))
    const ids = shown.map((node) => node.id)
    for (const node of shown) {
      this.layout.siblings.set(node.id, ids)
      if (node.kind === 'lane') this.#push(this.#lane(node, depth, path, this.layout.height, false), parents)
      else if (node.children.length) this.#group(node, depth, path, parents)
    }
  }

  pin(nodes: Node[], path: string[] = [], parents: number[] = []): void {
    for (const node of nodes) {
      if (node.kind === 'group') this.pin(node.children, [...path, node.label], [...parents, node.id])
      else if (this.#pinned.has(node.id) && !this.#hidden.has(node.id)) {
        const lane = this.#lane(node, 0, path, this.layout.pinnedHeight, true)
        lane.label = [path.at(-1), node.label].filter(Boolean).join(' · ')
        this.layout.pinned.push(lane)
        this.layout.pinnedHeight += lane.height
        this.layout.lanes.set(node.id, lane)
        this.layout.parents.set(node.id, [])
      }
    }
  }

  #skip(node: Node, parents: number[]): boolean {
    if (this.#hidden.has(node.id)) {
      this.layout.hidden.push({ id: node.id, label: node.label })
      this.#recordParents(node, parents)
      return true
    }
    return node.kind === 'lane' && this.#pinned.has(node.id)
  }

  #push(item: Item, parents: number[]): void {
    this.layout.items.push(item)
    this.layout.height += item.height
    if (item.kind === 'lane') {
      this.layout.lanes.set(item.id, item)
      this.layout.parents.set(item.id, parents)
    }
  }

  #lane(node: LaneNode, depth: number, path: string[], y: number, isPinned: boolean): Lane {
    const isCollapsed = this.#collapsed.has(node.id)
    const rows = isCollapsed ? 1 : Math.max(1, node.track.rows)
    const { rowHeight } = this.view
    return {
      kind: 'lane', id: node.id, label: node.label, title: [...path, node.label].join(' / '), depth, y,
      height: laneHeight(node.track, rows, rowHeight), isCollapsed, canCollapse: node.track.rows > 1, track: node.track,
      source: node.source, rows, rowHeight, isPinned,
    }
  }

  #group(node: Extract<Node, { kind: 'group' }>, depth: number, path: string[], parents: number[]): void {
    const isCollapsed = this.#collapsed.has(node.id) !== node.isFolded
    const inside = [...path, node.label]
    const group: Group = {
      kind: 'group', id: node.id, label: node.label, title: inside.join(' / '), depth, y: this.layout.height,
      height: HEADER_HEIGHT, isCollapsed, canCollapse: true, end: 0, busy: this.busyTime.of(node),
    }
    if (node.isFolded) this.layout.folded.add(node.id)
    this.#push(group, parents)
    if (isCollapsed) this.#recordParents(node, parents)
    else this.place(node.children, depth + 1, inside, [...parents, node.id])
    group.end = this.layout.height
  }

  /** Collapsed and hidden lanes have no position, but can still be revealed through their groups. */
  #recordParents(node: Node, parents: number[]): void {
    if (node.kind === 'group') {
      if (node.isFolded) this.layout.folded.add(node.id)
      for (const child of node.children) this.#recordParents(child, [...parents, node.id])
    } else if (!this.layout.lanes.has(node.id)) this.layout.parents.set(node.id, parents)
  }
}

/** Finds the tracks whose busy time is that of a group: the largest that contain no lane of another group. */
class BusyTime {
  readonly #byId: Map<number, Track>
  readonly #lanes = new Map<number, number>() // number of lanes in each track

  constructor(tracks: Track[]) {
    this.#byId = new Map(tracks.map((track) => [track.id, track]))
    for (const track of tracks) if (isSliceLane(track)) this.#count(track, this.#lanes)
  }

  of(group: Node): Track[] {
    const own = this.#byId.get(group.id)
    if (own) return own.rows > 0 ? [own] : []
    const lanes = sliceLanes(group)
    const inside = new Map<number, number>()
    for (const lane of lanes) this.#count(lane, inside)
    const found = new Set<Track>()
    for (const lane of lanes) {
      const all = this.#path(lane).filter(({ id }) => inside.get(id) === this.#lanes.get(id))
      const largest = all.at(-1) ?? lane
      if (largest.rows > 0) found.add(largest)
    }
    return [...found]
  }

  /** A track and those it is in, innermost first. */
  #path(track: Track): Track[] {
    const path: Track[] = []
    for (let at: Track | undefined = track; at; at = this.#byId.get(at.parent ?? -1)) path.push(at)
    return path
  }

  #count(lane: Track, into: Map<number, number>): void {
    for (const { id } of this.#path(lane)) into.set(id, (into.get(id) ?? 0) + 1)
  }
}

function isSliceLane(track: Track): boolean {
  return track.level === 'lane' && !track.is_counter && track.event_count > 0
}

function sliceLanes(node: Node): Track[] {
  if (node.kind === 'group') return node.children.flatMap(sliceLanes)
  return isSliceLane(node.track) ? [node.track] : []
}

/** The lanes whose path of names contains all the words, with their groups. */
function matching(nodes: Node[], words: string[], path: string): Node[] {
  if (words.length === 0) return nodes
  return nodes.flatMap((node): Node[] => {
    const inside = `${path} ${node.label.toLowerCase()}`
    if (node.kind === 'lane') return words.every((word) => inside.includes(word)) ? [node] : []
    const children = matching(node.children, words, inside)
    return children.length ? [{ ...node, children }] : []
  })
}

export function makeLayout(tracks: Track[], pids: ReadonlyMap<number, number>, view: LayoutView): Layout {
  const words = view.filter.toLowerCase().split(/\s+/).filter(Boolean)
  const nodes = matching(buildTrackTree(tracks, pids, view), words, '')
  const builder = new Builder(view, new BusyTime(tracks))
  builder.pin(nodes)
  builder.place(nodes, 0, [], [])
  return builder.layout
}

/** `collapsed` with all of these groups open. */
export function expanded(layout: Layout, collapsed: number[], groups: number[]): number[] {
  const others = collapsed.filter((id) => !groups.includes(id))
  return [...others, ...groups.filter((id) => layout.folded.has(id))]
}

/** The new order after an item has moved by `by` positions among its siblings. */
export function reordered(layout: Layout, order: number[], id: number, by: number): number[] {
  const siblings = layout.siblings.get(id)
  if (!siblings) return order
  const at = siblings.indexOf(id)
  const to = Math.max(0, Math.min(siblings.length - 1, at + by))
  if (to === at) return order
  const next = siblings.filter((other) => other !== id)
  next.splice(to, 0, id)
  const touched = new Set(siblings)
  return [...order.filter((other) => !touched.has(other)), ...next]
}

/** The open groups that the items at the top of the scrolled area are in; their headers stay visible there. */
export function stuckGroups(layout: Layout, scroll: number): { group: Group; y: number }[] {
  const stuck: { group: Group; y: number }[] = []
  for (const item of layout.items) {
    const top = scroll + stuck.length * HEADER_HEIGHT
    if (item.y >= top) break
    if (item.kind === 'group' && !item.isCollapsed && item.depth === stuck.length && item.end > top) {
      stuck.push({ group: item, y: Math.min(top - scroll, item.end - scroll - HEADER_HEIGHT) })
    }
  }
  return stuck
}

/** The items that overlap [top, bottom). */
export function itemsBetween<T extends { y: number; height: number }>(items: T[], top: number, bottom: number): T[] {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (items[middle]!.y + items[middle]!.height <= top) low = middle + 1
    else high = middle
  }
  let end = low
  while (end < items.length && items[end]!.y < bottom) end++
  return items.slice(low, end)
}

// Hit testing: the item under the pointer, nearby edges to snap to, the first event.
import type { TileCache, TrackTile } from '../data/tileCache'
import { LANE_PADDING, type Group, type Lane, type Layout } from '../model/layout'
import { itemNear, lastStart } from '../model/timelineData'
import type { Ps } from '../model/time'
import { timeToX, xToTime } from '../model/viewport'
import { coversFor, visibleItems, type Viewport } from './buildScene'
import { coverage } from './columns'

export interface PickedEvent {
  kind: 'event'
  lane: Lane
  row: number
  id: number
  name: string
  start: Ps
  end: Ps
  count: number
  busy: number
}

export interface PickedSample {
  kind: 'sample'
  lane: Lane
  start: Ps
  end: Ps
  count: number
  min: number
  max: number
  mean: number
  last: number
}

export type Picked = PickedEvent | PickedSample

const SLACK_PX = 3

export function laneAt(layout: Layout, viewport: Viewport, y: number): { lane: Lane; row: number; top: number } | null {
  for (const { item, y: top, clip } of visibleItems(layout, viewport)) {
    if (y < Math.max(top, clip.top) || y >= Math.min(top + item.height, clip.bottom)) continue
    if (item.kind !== 'lane') return null
    const row = Math.floor((y - top - LANE_PADDING) / item.rowHeight)
    return { lane: item, row: Math.max(0, Math.min(item.rows - 1, row)), top }
  }
  return null
}

/** The group header at a point, and the share of the time under it that the group is busy. */
export function groupAt(layout: Layout, cache: TileCache, viewport: Viewport, x: number, y: number): { group: Group; busy: number } | null {
  for (const { item, y: top, clip } of visibleItems(layout, viewport)) {
    if (item.kind !== 'group' || y < Math.max(top, clip.top) || y >= Math.min(top + item.height, clip.bottom)) continue
    const pixel = Math.floor(x)
    const { span, width } = viewport
    const under = { from: xToTime(pixel, span, width), to: xToTime(pixel + 1, span, width) }
    const shares = item.busy.map((track) => coverage(coversFor(cache, track.id, viewport), 0, under, 1)[0]!)
    return shares.length ? { group: item, busy: Math.min(1, Math.max(...shares)) } : null
  }
  return null
}

export function pick(layout: Layout, cache: TileCache, viewport: Viewport, x: number, y: number): Picked | null {
  const place = laneAt(layout, viewport, y)
  if (!place) return null
  const { lane, row } = place
  const time = xToTime(x, viewport.span, viewport.width)
  const slack = (SLACK_PX * (viewport.span.to - viewport.span.from)) / viewport.width
  for (const { tile, span } of coversFor(cache, lane.id, viewport)) {
    if (time < span.from || time >= span.to) continue
    return lane.track.is_counter ? sampleIn(tile, lane, time, slack) : eventIn(tile, lane, row, time, slack)
  }
  return null
}

function eventIn(tile: TrackTile, lane: Lane, row: number, time: Ps, slack: number): PickedEvent | null {
  const { slices, from } = tile.data
  const entry = tile.sliceRows.find((candidate) => candidate.row === row)
  const i = entry ? itemNear(slices, entry, time - from, slack) : -1
  return i < 0 ? null : eventAt(tile, lane, row, i)
}

function eventAt(tile: TrackTile, lane: Lane, row: number, i: number): PickedEvent {
  const { slices, from, names } = tile.data
  return {
    kind: 'event', lane, row, id: slices.id[i]!, name: names[slices.name[i]!]!, start: from + slices.start[i]!,
    end: from + slices.end[i]!, count: slices.count[i]!, busy: slices.busy[i]!,
  }
}

function sampleIn(tile: TrackTile, lane: Lane, time: Ps, slack: number): PickedSample | null {
  const { counters, from } = tile.data
  const entry = tile.counterRows[0]
  const i = entry ? itemNear(counters, entry, time - from, slack) : -1
  if (i < 0) return null
  return {
    kind: 'sample', lane, start: from + counters.start[i]!, end: from + counters.end[i]!, count: counters.count[i]!,
    min: counters.min[i]!, max: counters.max[i]!, mean: counters.mean[i]!, last: counters.last[i]!,
  }
}

/** The first event of a lane's outermost row that starts within the viewport. */
export function firstEvent(cache: TileCache, viewport: Viewport, lane: Lane): PickedEvent | null {
  for (const { tile, span } of coversFor(cache, lane.id, viewport)) {
    const { slices, from } = tile.data
    const entry = tile.sliceRows.find((candidate) => candidate.row === 0)
    if (!entry) continue
    const i = lastStart(slices.start, entry.first, entry.count, viewport.span.from - 1 - from) + 1
    // An event belongs to the tile it starts in.
    if (i < entry.first + entry.count && from + slices.start[i]! < span.to) return eventAt(tile, lane, 0, i)
  }
  return null
}

/** The row of an event, if a cached tile contains it as a single item. */
export function rowOf(cache: TileCache, track: number, id: number, start: Ps): number | null {
  for (const tile of cache.tilesOf(track)) {
    const { slices, from } = tile.data
    for (const row of tile.sliceRows) {
      const i = lastStart(slices.start, row.first, row.count, start - from)
      if (i >= row.first && slices.id[i] === id) return row.row
    }
  }
  return null
}

/** The start or end of an event that is nearest to x, within `reach` pixels; else the time at x itself. */
export function snap(layout: Layout, cache: TileCache, viewport: Viewport, x: number, reach: number): Ps {
  const time = xToTime(x, viewport.span, viewport.width)
  let best = time
  let distance = reach
  const consider = (edge: Ps) => {
    const away = Math.abs(timeToX(edge, viewport.span, viewport.width) - x)
    if (away < distance) [best, distance] = [edge, away]
  }
  for (const { item } of visibleItems(layout, viewport)) {
    if (item.kind !== 'lane' || item.track.is_counter) continue
    for (const { tile, span } of coversFor(cache, item.id, viewport)) {
      if (time < span.from || time >= span.to) continue
      const { slices, from } = tile.data
      for (const row of tile.sliceRows) {
        const i = lastStart(slices.start, row.first, row.count, time - from)
        for (let near = Math.max(row.first, i); near <= i + 1 && near < row.first + row.count; near++) {
          consider(from + slices.start[near]!)
          consider(from + slices.end[near]!)
        }
      }
    }
  }
  return best
}

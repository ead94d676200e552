// Builds the scene of a frame from layout, cached tiles and viewport, and the demand for tiles.
import type { Cover, TileCache, TrackTile, TileDemand } from '../data/tileCache'
import type { Track } from '../model/api'
import type { Coloring } from '../model/coloring'
import { HEADER_HEIGHT, itemsBetween, LANE_PADDING, stuckGroups, type Item, type Lane, type Layout } from '../model/layout'
import { nameSlot } from '../model/palette'
import { levelFor, tileRange } from '../model/tileGrid'
import type { Span } from '../model/time'
import type { Area, Scene, SceneRect } from './scene'

export interface Viewport {
  span: Span
  whole: Span
  width: number
  height: number
  ratio: number
  scrollTop: number
}

export interface SceneStyle {
  coloring: Coloring
  hits: TileCache | null // tiles of search results alone; all other events are dimmed
  ticks: { x: number }[]
}

const CURVE_PADDING = 2
const DIMMED = 0.22

interface Range {
  min: number
  max: number
}

const ranges = new WeakMap<TrackTile, Range>()

function counterRangeOfTile(tile: TrackTile): Range {
  let range = ranges.get(tile)
  if (range) return range
  range = { min: 0, max: -Infinity }
  for (const row of tile.counterRows) {
    for (let i = row.first; i < row.first + row.count; i++) {
      range.min = Math.min(range.min, tile.data.counters.min[i]!)
      range.max = Math.max(range.max, tile.data.counters.max[i]!)
    }
  }
  ranges.set(tile, range)
  return range
}

/** The value range of a counter, including 0, over all cached tiles: stable while panning. */
export function counterRange(cache: TileCache, track: number): Range {
  const all = { min: 0, max: -Infinity }
  for (const tile of cache.tilesOf(track)) {
    const range = counterRangeOfTile(tile)
    all.min = Math.min(all.min, range.min)
    all.max = Math.max(all.max, range.max)
  }
  if (all.max <= all.min) all.max = all.min + 1
  return all
}

export function coversFor(cache: TileCache, track: number, viewport: Viewport): Cover[] {
  const level = levelFor((viewport.span.to - viewport.span.from) / (viewport.width * viewport.ratio))
  const [first, last] = tileRange(viewport.span, level, viewport.whole)
  const covers: Cover[] = []
  for (let index = first; index <= last; index++) cache.cover(track, level, index, covers)
  return covers
}

/** The visible items of the layout, with their position and clip area on the canvas. */
export function* visibleItems(layout: Layout, viewport: Viewport): Generator<{ item: Item; y: number; clip: Area }> {
  const shift = layout.pinnedHeight - viewport.scrollTop
  const stuck = stuckGroups(layout, viewport.scrollTop)
  const covered = Math.max(0, ...stuck.map(({ y, group }) => y + group.height))
  const below = { top: layout.pinnedHeight + covered, bottom: viewport.height }
  for (const item of itemsBetween(layout.items, viewport.scrollTop + covered, viewport.scrollTop + viewport.height - layout.pinnedHeight)) {
    yield { item, y: item.y + shift, clip: below }
  }
  // The outer ones above the inner ones, which are pushed up below them by the next group.
  for (const [at, { group, y }] of stuck.entries()) {
    const top = layout.pinnedHeight + Math.max(at * HEADER_HEIGHT, y)
    yield { item: group, y: layout.pinnedHeight + y, clip: { top, bottom: layout.pinnedHeight + y + group.height } }
  }
  const pinned = { top: 0, bottom: Math.min(viewport.height, layout.pinnedHeight) }
  for (const item of layout.pinned) yield { item, y: item.y, clip: pinned }
}

/** The tiles that a viewport needs; of search results, only those of slices. */
export function tileDemand(layout: Layout, viewport: Viewport, areHits = false): TileDemand {
  const visible = new Map<number, Track>()
  const collect = (items: Item[], into: Map<number, Track>) => {
    for (const item of items) {
      if (item.kind === 'lane') {
        if (!areHits || !item.track.is_counter) into.set(item.id, item.track)
      } else if (!areHits) for (const track of item.busy) into.set(track.id, track)
    }
  }
  const height = viewport.height - layout.pinnedHeight
  collect(layout.pinned, visible)
  collect(itemsBetween(layout.items, viewport.scrollTop, viewport.scrollTop + height), visible)
  const nearby = new Map<number, Track>()
  collect(itemsBetween(layout.items, viewport.scrollTop - height / 2, viewport.scrollTop + 1.5 * height), nearby)
  for (const id of visible.keys()) nearby.delete(id)
  const list = (tracks: Map<number, Track>) =>
    [...tracks.values()].map((track) => ({ id: track.id, rows: Math.max(1, track.rows) }))
  return {
    span: viewport.span,
    whole: viewport.whole,
    level: levelFor((viewport.span.to - viewport.span.from) / (viewport.width * viewport.ratio)),
    visible: list(visible),
    nearby: list(nearby),
  }
}

function buildRects(layout: Layout, viewport: Viewport, ticks: { x: number }[]): SceneRect[] {
  const rects: SceneRect[] = []
  const { width } = viewport
  for (const { x } of ticks) rects.push({ x, y: 0, width: 1, height: viewport.height, tone: 'grid' })
  const cut = (y: number, height: number, clip: Area, tone: SceneRect['tone']) => {
    const top = Math.max(y, clip.top)
    const bottom = Math.min(y + height, clip.bottom)
    if (bottom > top) rects.push({ x: 0, y: top, width, height: bottom - top, tone })
  }
  for (const { item, y, clip } of visibleItems(layout, viewport)) {
    if (item.kind === 'group') cut(y, item.height, clip, 'header')
    cut(y + item.height - 1, 1, clip, 'grid')
  }
  if (layout.pinned.length) rects.push({ x: 0, y: layout.pinnedHeight - 1, width, height: 2, tone: 'edge' })
  return rects
}

function addLane(
  scene: Scene, lane: Lane, y: number, clip: Area, cache: TileCache, hits: TileCache | null, viewport: Viewport,
): void {
  const covers = coversFor(cache, lane.id, viewport)
  if (lane.track.is_counter) {
    const height = lane.height - 2 * LANE_PADDING
    scene.counters.push({
      track: lane.id, y: y + LANE_PADDING, height, ...counterRange(cache, lane.id), slot: nameSlot(lane.label), clip, covers,
    })
    return
  }
  const place = { track: lane.id, y: y + LANE_PADDING, rowHeight: lane.rowHeight, rows: lane.rows, clip }
  scene.lanes.push({ ...place, covers, strength: hits ? DIMMED : 1, isHit: false, below: 0 })
  if (hits) scene.lanes.push({ ...place, covers: coversFor(hits, lane.id, viewport), strength: 1 - DIMMED, isHit: true, below: DIMMED })
}

export function buildScene(layout: Layout, cache: TileCache, viewport: Viewport, style: SceneStyle): Scene {
  const scene: Scene = {
    width: viewport.width, height: viewport.height, ratio: viewport.ratio, span: viewport.span,
    rects: buildRects(layout, viewport, style.ticks), lanes: [], counters: [], groups: [], coloring: style.coloring,
  }
  for (const { item, y, clip } of visibleItems(layout, viewport)) {
    if (item.kind === 'lane') addLane(scene, item, y, clip, cache, style.hits, viewport)
    else if (item.busy.length) {
      const members = item.busy.map((track) => coversFor(cache, track.id, viewport))
      scene.groups.push({ y: y + CURVE_PADDING, height: item.height - 2 * CURVE_PADDING, clip, members })
    }
  }
  return scene
}

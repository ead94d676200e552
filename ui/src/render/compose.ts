// Makes the scene of a frame from the layout, the tiles that are here and the window; and says which tiles are missed.
import type { Cover, TileCache, TrackTile, Wanted } from '../data/tiles'
import type { Track } from '../model/api'
import type { Colouring } from '../model/colouring'
import type { HitIndex } from '../model/hits'
import { itemsBetween, LANE_PADDING, type Item, type Lane, type Layout } from '../model/layout'
import { nameSlot } from '../model/palette'
import { levelFor, tileRange } from '../model/tileGrid'
import type { Span } from '../model/time'
import type { Area, Scene, SceneRect } from './scene'

export interface Window {
  span: Span
  whole: Span
  width: number
  height: number
  ratio: number
  scrollTop: number
}

export interface Look {
  colouring: Colouring
  hits: HitIndex | null
  ticks: { x: number }[]
}

export const STRIP_PADDING = 6

interface Range {
  least: number
  most: number
}

const ranges = new WeakMap<TrackTile, Range>()

function rangeOfTile(tile: TrackTile): Range {
  let range = ranges.get(tile)
  if (range) return range
  range = { least: 0, most: -Infinity }
  for (const row of tile.counterRows) {
    for (let i = row.first; i < row.first + row.count; i++) {
      range.least = Math.min(range.least, tile.answer.counters.least[i]!)
      range.most = Math.max(range.most, tile.answer.counters.most[i]!)
    }
  }
  ranges.set(tile, range)
  return range
}

/** The values of a counter from 0 on, over all of it that is known: it does not change while panning. */
export function counterRange(cache: TileCache, track: number): Range {
  const all = { least: 0, most: -Infinity }
  for (const tile of cache.tilesOf(track)) {
    const range = rangeOfTile(tile)
    all.least = Math.min(all.least, range.least)
    all.most = Math.max(all.most, range.most)
  }
  if (all.most <= all.least) all.most = all.least + 1
  return all
}

export function coversOf(cache: TileCache, track: number, window: Window): Cover[] {
  const level = levelFor((window.span.to - window.span.from) / (window.width * window.ratio))
  const [first, last] = tileRange(window.span, level, window.whole)
  const covers: Cover[] = []
  for (let index = first; index <= last; index++) cache.cover(track, level, index, covers)
  return covers
}

/** What of the layout is on the canvas: where, and in which part of it. */
export function* placed(layout: Layout, window: Window): Generator<{ item: Item; y: number; clip: Area }> {
  const shift = layout.pinnedHeight - window.scrollTop
  const below = { top: layout.pinnedHeight, bottom: window.height }
  for (const item of itemsBetween(layout.items, window.scrollTop, window.scrollTop + window.height - layout.pinnedHeight)) {
    yield { item, y: item.y + shift, clip: below }
  }
  const pinned = { top: 0, bottom: Math.min(window.height, layout.pinnedHeight) }
  for (const item of layout.pinned) yield { item, y: item.y, clip: pinned }
}

export function wantedOf(layout: Layout, window: Window): Wanted {
  const visible = new Map<number, Track>()
  const collect = (items: Item[], into: Map<number, Track>) => {
    for (const item of items) {
      if (item.kind === 'lane') into.set(item.id, item.track)
      else for (const track of item.strip) into.set(track.id, track)
    }
  }
  const height = window.height - layout.pinnedHeight
  collect(layout.pinned, visible)
  collect(itemsBetween(layout.items, window.scrollTop, window.scrollTop + height), visible)
  const nearby = new Map<number, Track>()
  collect(itemsBetween(layout.items, window.scrollTop - height / 2, window.scrollTop + 1.5 * height), nearby)
  for (const id of visible.keys()) nearby.delete(id)
  const list = (tracks: Map<number, Track>) =>
    [...tracks.values()].map((track) => ({ id: track.id, rows: Math.max(1, track.rows) }))
  return {
    span: window.span,
    whole: window.whole,
    level: levelFor((window.span.to - window.span.from) / (window.width * window.ratio)),
    visible: list(visible),
    nearby: list(nearby),
  }
}

function rectsOf(layout: Layout, window: Window, ticks: { x: number }[]): SceneRect[] {
  const rects: SceneRect[] = []
  const { width } = window
  for (const { x } of ticks) rects.push({ x, y: 0, width: 1, height: window.height, tone: 'grid' })
  const cut = (y: number, height: number, clip: Area, tone: SceneRect['tone']) => {
    const top = Math.max(y, clip.top)
    const bottom = Math.min(y + height, clip.bottom)
    if (bottom > top) rects.push({ x: 0, y: top, width, height: bottom - top, tone })
  }
  for (const { item, y, clip } of placed(layout, window)) {
    if (item.kind === 'group') cut(y, item.height, clip, 'header')
    cut(y + item.height - 1, 1, clip, 'grid')
  }
  if (layout.pinned.length) rects.push({ x: 0, y: layout.pinnedHeight - 1, width, height: 2, tone: 'edge' })
  return rects
}

function addLane(scene: Scene, lane: Lane, y: number, clip: Area, cache: TileCache, window: Window): void {
  const covers = coversOf(cache, lane.id, window)
  if (lane.track.is_counter) {
    const height = lane.height - 2 * LANE_PADDING
    scene.counters.push({
      track: lane.id, y: y + LANE_PADDING, height, ...counterRange(cache, lane.id), slot: nameSlot(lane.label), clip, covers,
    })
  } else {
    scene.lanes.push({
      track: lane.id, y: y + LANE_PADDING, rowHeight: lane.rowHeight, rows: lane.rows, clip, covers, hasLabels: true, opacity: 1,
    })
  }
}

export function compose(layout: Layout, cache: TileCache, window: Window, look: Look): Scene {
  const scene: Scene = {
    width: window.width, height: window.height, ratio: window.ratio, span: window.span,
    rects: rectsOf(layout, window, look.ticks), lanes: [], counters: [], colouring: look.colouring, hits: look.hits,
  }
  for (const { item, y, clip } of placed(layout, window)) {
    if (item.kind === 'lane') addLane(scene, item, y, clip, cache, window)
    else {
      for (const track of item.strip) {
        scene.lanes.push({
          track: track.id, y: y + STRIP_PADDING, rowHeight: item.height - 2 * STRIP_PADDING, rows: 1, clip,
          covers: coversOf(cache, track.id, window), hasLabels: false, opacity: 0.6,
        })
      }
    }
  }
  return scene
}

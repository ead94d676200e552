// The tile grid of the timeline: at level k a tile spans 2^k ps and is requested with TILE_PX pixels. Levels differ by a
// factor of two, and panning reuses the same tiles.
import type { Span } from './time'

export const TILE_PX = 1024
export const MIN_LEVEL = 10

export interface TileId {
  level: number
  index: number
}

/** The level whose tile pixels are at most one screen pixel, and more than half of one. */
export function levelFor(psPerPixel: number): number {
  return Math.max(MIN_LEVEL, Math.floor(Math.log2(psPerPixel * TILE_PX)))
}

/** The level at which one tile, or two around time 0, cover the whole span. */
export function wholeLevel(span: Span): number {
  return Math.max(MIN_LEVEL, Math.ceil(Math.log2(Math.max(Math.abs(span.from), Math.abs(span.to), 1) + 1)))
}

export function tileLength(level: number): number {
  return 2 ** level
}

export function tileSpan(tile: TileId): Span {
  const length = tileLength(tile.level)
  return { from: tile.index * length, to: (tile.index + 1) * length }
}

/** First and last index of the tiles that overlap a span, with `more` on both sides, within `whole`. */
export function tileRange(span: Span, level: number, whole: Span, more = 0): [number, number] {
  const length = tileLength(level)
  const firstTile = Math.floor(whole.from / length)
  const lastTile = Math.max(firstTile, Math.ceil(whole.to / length) - 1)
  const first = Math.floor(span.from / length) - more
  const last = Math.ceil(span.to / length) - 1 + more
  return [Math.max(firstTile, Math.min(lastTile, first)), Math.max(firstTile, Math.min(lastTile, last))]
}

/** A numeric map key: 2^37 tiles per level fit into the 53 exact bits of a number. */
export function tileKey(level: number, index: number): number {
  return index * 64 + level
}

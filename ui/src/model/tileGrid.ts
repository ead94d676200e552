// The grid that the timeline is fetched in: at level k a tile is 2^k ps long and asked for with TILE_PX pixels, so that
// two levels differ by a factor of two and panning meets the same tiles again.
import type { Span } from './time'

export const TILE_PX = 1024
export const MIN_LEVEL = 10

export interface TileAddress {
  level: number
  index: number
}

/** The level at which a tile's pixel is at most one of the screen's, and more than half of it. */
export function levelFor(psPerPixel: number): number {
  return Math.max(MIN_LEVEL, Math.floor(Math.log2(psPerPixel * TILE_PX)))
}

/** The level at which one tile, or two around time 0, hold everything. */
export function wholeLevel(span: Span): number {
  return Math.max(MIN_LEVEL, Math.ceil(Math.log2(Math.max(Math.abs(span.from), Math.abs(span.to), 1) + 1)))
}

export function tileLength(level: number): number {
  return 2 ** level
}

export function tileSpan(tile: TileAddress): Span {
  const length = tileLength(tile.level)
  return { from: tile.index * length, to: (tile.index + 1) * length }
}

/** First and last index of the tiles that a span touches, `more` beyond it on both sides, within `whole`. */
export function tileRange(span: Span, level: number, whole: Span, more = 0): [number, number] {
  const length = tileLength(level)
  const firstTile = Math.floor(whole.from / length)
  const lastTile = Math.max(firstTile, Math.ceil(whole.to / length) - 1)
  const first = Math.floor(span.from / length) - more
  const last = Math.ceil(span.to / length) - 1 + more
  return [Math.max(firstTile, Math.min(lastTile, first)), Math.max(firstTile, Math.min(lastTile, last))]
}

/** One number for an address: 2^37 tiles of every level have room in the 53 bits that are exact. */
export function tileKey(level: number, index: number): number {
  return index * 64 + level
}

// Values per screen pixel, computed from tiles: the covered share of a row, and minimum, maximum and mean of a counter.
import type { Cover } from '../data/tileCache'
import type { Row } from '../model/timelineData'
import type { Span } from '../model/time'

/** Calls `add` with each item of a row and its part within the cover, in pixels. */
function eachItem(
  cover: Cover, row: Row, columns: { start: Float64Array; end: Float64Array }, span: Span, width: number,
  add: (item: number, from: number, to: number, shown: number) => void,
): void {
  const scale = width / (span.to - span.from)
  const left = Math.max(0, (cover.span.from - span.from) * scale)
  const right = Math.min(width, (cover.span.to - span.from) * scale)
  const offset = (cover.tile.data.from - span.from) * scale
  let low = row.first
  let high = row.first + row.count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (offset + columns.end[middle]! * scale < left) low = middle + 1
    else high = middle
  }
  for (let i = low; i < row.first + row.count; i++) {
    const from = offset + columns.start[i]! * scale
    if (from >= right) return
    const to = offset + columns.end[i]! * scale
    add(i, Math.max(left, from), Math.min(right, to), to - from)
  }
}

/** The covered share of each of `width` pixels: the sum of what slices.ts adds to them. */
export function coverage(covers: Cover[], row: number, span: Span, width: number, into = new Float32Array(width)): Float32Array {
  for (const cover of covers) {
    const { busy } = cover.tile.data.slices
    for (const entry of cover.tile.sliceRows) {
      if (entry.row !== row) continue
      eachItem(cover, entry, cover.tile.data.slices, span, width, (item, from, to) => {
        for (let x = Math.floor(from); x < to; x++) into[x]! += (Math.min(to, x + 1) - Math.max(from, x)) * busy[item]!
      })
    }
  }
  return into
}

export interface CounterColumns {
  min: Float64Array
  max: Float64Array
  mean: Float64Array
  weight: Float64Array // 0: no sample, a hole
}

const INSTANT = 1e-6 // weight of a sample without duration

export function counterColumns(covers: Cover[], span: Span, width: number): CounterColumns {
  const columns: CounterColumns = {
    min: new Float64Array(width).fill(Infinity), max: new Float64Array(width).fill(-Infinity), mean: new Float64Array(width),
    weight: new Float64Array(width),
  }
  for (const cover of covers) {
    const { counters } = cover.tile.data
    for (const entry of cover.tile.counterRows) {
      eachItem(cover, entry, counters, span, width, (item, from, to, shown) => {
        for (let x = Math.floor(from); x < to || (shown === 0 && x === Math.floor(from) && x < width); x++) {
          const weight = Math.max(INSTANT, Math.min(to, x + 1) - Math.max(from, x))
          columns.min[x] = Math.min(columns.min[x]!, counters.min[item]!)
          columns.max[x] = Math.max(columns.max[x]!, counters.max[item]!)
          columns.mean[x]! += weight * counters.mean[item]!
          columns.weight[x]! += weight
        }
      })
    }
  }
  for (let x = 0; x < width; x++) if (columns.weight[x]! > 0) columns.mean[x]! /= columns.weight[x]!
  return columns
}

// Values per pixel against brute force over small steps of time.
import { expect, test } from 'vitest'
import type { Cover } from '../data/tileCache'
import type { TimelineData } from '../model/timelineData'
import { counterColumns, coverage } from './columns'

interface Item {
  start: number
  end: number
  busy?: number
  value?: number
}

/** A cover of [from, to) with items of one row, relative to `from`. */
function coverOf(items: Item[], from: number, to: number, isCounter = false): Cover {
  const column = (of: (item: Item) => number) => Float64Array.from(items, of)
  const row = { track: 1, row: 0, first: 0, count: items.length }
  const times = { start: column((item) => item.start - from), end: column((item) => item.end - from) }
  const values = column((item) => item.value ?? 0)
  const count = new Uint32Array(items.length).fill(1)
  const data = {
    from, to, width: 1, names: [''], sliceRows: isCounter ? [] : [row], counterRows: isCounter ? [row] : [],
    slices: { ...times, id: values, count, busy: Float32Array.from(items, (item) => item.busy ?? 1), name: count },
    counters: { ...times, min: values, max: values, mean: values, last: values, count },
  } as TimelineData
  const tile = {
    track: 1, level: 10, index: 0, span: { from, to }, data, sliceRows: data.sliceRows, counterRows: data.counterRows, bytes: 0, usedAt: 0,
  }
  return { tile, span: { from, to } }
}

let seed = 1
function random(): number {
  seed = (seed * 16807) % 2147483647
  return seed / 2147483647
}

test('the coverage of each pixel is the covered share of its time, across the borders of tiles', () => {
  for (let trial = 0; trial < 50; trial++) {
    const items: Item[] = []
    for (let at = 0; at < 1000; ) {
      const start = Math.min(1000, at + Math.floor(random() * 30))
      const end = Math.min(1000, start + Math.floor(random() * (trial % 2 ? 5 : 60)))
      if (end > start) items.push({ start, end, busy: 1 })
      at = end + 1
    }
    const covers = [0, 300, 512].map((from, i) => {
      const to = [300, 512, 1000][i]!
      return coverOf(items.filter((item) => item.end > from && item.start < to), from, to)
    })
    const [from, width] = [Math.floor(random() * 400), 7 + Math.floor(random() * 90)]
    const span = { from, to: from + 100 + Math.floor(random() * 400) }
    const drawn = coverage(covers, 0, span, width)
    const pixel = (span.to - span.from) / width
    for (let x = 0; x < width; x++) {
      const [left, right] = [span.from + x * pixel, span.from + (x + 1) * pixel]
      const truth = items.reduce((sum, item) => sum + Math.max(0, Math.min(right, item.end) - Math.max(left, item.start)), 0) / pixel
      expect(drawn[x]).toBeCloseTo(truth, 4)
    }
  }
})

test('items of several events count with their busy share', () => {
  const drawn = coverage([coverOf([{ start: 0, end: 50, busy: 0.2 }, { start: 50, end: 100, busy: 0.6 }], 0, 100)], 0, { from: 0, to: 100 }, 1)
  expect(drawn[0]).toBeCloseTo(0.4, 6)
})

test('a counter has the mean by time, its extremes, and holes', () => {
  const items = [{ start: 0, end: 15, value: 1 }, { start: 15, end: 20, value: 5 }, { start: 60, end: 70, value: 2 }, { start: 90, end: 90, value: 7 }]
  const { min, max, mean, weight } = counterColumns([coverOf(items, 0, 100, true)], { from: 0, to: 100 }, 10)
  expect([...weight].map((one) => one > 0)).toEqual([true, true, false, false, false, false, true, false, false, true])
  expect([min[1], max[1], mean[1]]).toEqual([1, 5, 3])
  expect([mean[0], mean[6], mean[9]]).toEqual([1, 2, 7])
})

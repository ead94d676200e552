// Decoding of binary timeline responses, built by hand.
import { expect, test } from 'vitest'
import { decodeTimeline, itemNear, lastStart, TimelineFormatError } from './timelineData'

interface Slice { start: number; end: number; id: number; count: number; busy: number; name: number }

function response(
  rows: number[][], slices: Slice[], names: string[], counters: number[][] = [], counterRows: number[][] = [],
): ArrayBuffer {
  const parts: Uint8Array[] = []
  const push = (bytes: Uint8Array) => {
    parts.push(bytes, new Uint8Array((8 - (bytes.length % 8)) % 8))
  }
  const header = new DataView(new ArrayBuffer(64))
  const text = names.map((name) => new TextEncoder().encode(name))
  const words = [0x4c54594b, 1, rows.length, counterRows.length, slices.length, counters.length, names.length, 100]
  words.forEach((word, at) => header.setUint32(4 * at, word, true))
  header.setBigInt64(32, 5n, true)
  header.setBigInt64(40, 1005n, true)
  header.setBigUint64(48, BigInt(4 * names.length + text.reduce((sum, name) => sum + name.length, 0)), true)
  push(new Uint8Array(header.buffer))
  push(new Uint8Array(new Uint32Array([...rows, ...counterRows].flat()).buffer))
  for (const column of ['start', 'end', 'id'] as const) push(new Uint8Array(Float64Array.from(slices, (s) => s[column]).buffer))
  push(new Uint8Array(Uint32Array.from(slices, (s) => s.count).buffer))
  push(new Uint8Array(Float32Array.from(slices, (s) => s.busy).buffer))
  push(new Uint8Array(Uint32Array.from(slices, (s) => s.name).buffer))
  for (let column = 0; column < 6; column++) push(new Uint8Array(Float64Array.from(counters, (c) => c[column]!).buffer))
  push(new Uint8Array(Uint32Array.from(counters, (c) => c[6]!).buffer))
  let end = 0
  parts.push(new Uint8Array(Uint32Array.from(text, (name) => (end += name.length)).buffer), ...text)
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole.buffer
}

const SLICES: Slice[] = [
  { start: 0, end: 10, id: 7, count: 1, busy: 1, name: 1 },
  { start: 20, end: 50, id: 8, count: 3, busy: 0.5, name: 0 },
  { start: 5, end: 6, id: 9, count: 1, busy: 1, name: 2 },
]

test('slices, counters and names are decoded', () => {
  const buffer = response([[4, 0, 0, 2], [4, 1, 2, 1]], SLICES, ['bé', '', 'c'], [[0, 1000, 1, 3, 2, 3, 5]], [[9, 0, 0, 1]])
  const read = decodeTimeline(buffer)
  expect([read.from, read.to, read.width]).toEqual([5, 1005, 100])
  expect(read.sliceRows).toEqual([{ track: 4, row: 0, first: 0, count: 2 }, { track: 4, row: 1, first: 2, count: 1 }])
  expect(read.counterRows).toEqual([{ track: 9, row: 0, first: 0, count: 1 }])
  expect([...read.slices.id]).toEqual([7, 8, 9])
  expect([...read.slices.busy]).toEqual([1, 0.5, 1])
  expect(read.names).toEqual(['bé', '', 'c'])
  expect([...read.counters.mean]).toEqual([2])
  expect(read.slices.start.buffer).toBe(buffer)
})

test('an empty response is valid', () => {
  expect(decodeTimeline(response([], [], [])).sliceRows).toEqual([])
})

test('inconsistent data is rejected', () => {
  const good = response([[4, 0, 0, 3]], SLICES, ['a', 'b', 'c'])
  expect(() => decodeTimeline(good.slice(0, 40))).toThrow(TimelineFormatError)
  for (let length = 64; length < good.byteLength; length += 7) {
    expect(() => decodeTimeline(good.slice(0, length))).toThrow(TimelineFormatError)
  }
  const changed = (at: number, word: number) => {
    const copy = good.slice(0)
    new DataView(copy).setUint32(at, word, true)
    return () => decodeTimeline(copy)
  }
  expect(changed(0, 1)).toThrow(/KYTL/)
  expect(changed(4, 2)).toThrow(/version 2/)
  expect(changed(64 + 12, 4)).toThrow(/items/)
  expect(changed(16, 0x7fffffff)).toThrow(TimelineFormatError)
  expect(() => decodeTimeline(response([[4, 0, 0, 3]], SLICES, ['a', 'b']))).toThrow(/name/)
})

test('items are found by time, with slack on both sides', () => {
  const columns = { start: Float64Array.of(0, 20, 100), end: Float64Array.of(10, 50, 101) }
  const row = { first: 0, count: 3 }
  expect(lastStart(columns.start, 0, 3, -1)).toBe(-1)
  expect(lastStart(columns.start, 0, 3, 20)).toBe(1)
  expect(itemNear(columns, row, 25, 0)).toBe(1)
  expect(itemNear(columns, row, 12, 3)).toBe(0)
  expect(itemNear(columns, row, 18, 3)).toBe(1)
  expect(itemNear(columns, row, 15, 3)).toBe(-1)
  expect(itemNear(columns, row, 98, 3)).toBe(2)
})

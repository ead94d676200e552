// Decodes the binary timeline response (docs/api.md) into typed arrays over its buffer. Inconsistent data is rejected, so that
// the renderer can trust every index.

export interface Slices {
  start: Float64Array // ps since the response's `from`
  end: Float64Array
  id: Float64Array
  count: Uint32Array
  busy: Float32Array
  name: Uint32Array
}

export interface Counters {
  start: Float64Array
  end: Float64Array
  min: Float64Array
  max: Float64Array
  mean: Float64Array
  last: Float64Array
  count: Uint32Array
}

/** A row of a track: `count` items from `first` on, ordered by time. */
export interface Row {
  track: number
  row: number
  first: number
  count: number
}

export interface TimelineData {
  from: number
  to: number
  width: number
  sliceRows: Row[]
  counterRows: Row[]
  slices: Slices
  counters: Counters
  names: string[]
}

const HEADER_BYTES = 64
const ROW_BYTES = 16

export class TimelineFormatError extends Error {}

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new TimelineFormatError(`Invalid timeline response: ${what}.`)
}

/** Reads one column after the other; each starts at a multiple of 8 bytes. */
class Columns {
  constructor(
    readonly buffer: ArrayBuffer,
    public at: number,
  ) {}

  take<T>(type: { new (buffer: ArrayBuffer, at: number, length: number): T; BYTES_PER_ELEMENT: number }, count: number): T {
    const bytes = count * type.BYTES_PER_ELEMENT
    check(this.at + bytes <= this.buffer.byteLength, 'truncated')
    const column = new type(this.buffer, this.at, count)
    this.at += Math.ceil(bytes / 8) * 8
    return column
  }
}

function readRows(words: Uint32Array, first: number, count: number, items: number): Row[] {
  const rows: Row[] = []
  for (let i = first; i < first + count; i++) {
    const row = { track: words[4 * i]!, row: words[4 * i + 1]!, first: words[4 * i + 2]!, count: words[4 * i + 3]! }
    check(row.first + row.count <= items, 'row items out of range')
    rows.push(row)
  }
  return rows
}

function readNames(columns: Columns, count: number, bytes: number): string[] {
  const ends = columns.take(Uint32Array, count)
  // The names follow their end offsets directly.
  const begin = ends.byteOffset + 4 * count
  check(begin + (count ? ends[count - 1]! : 0) <= columns.buffer.byteLength && 4 * count <= bytes, 'names truncated')
  const text = new TextDecoder()
  const names: string[] = []
  let from = 0
  for (const end of ends) {
    check(end >= from, 'name offsets out of order')
    names.push(text.decode(new Uint8Array(columns.buffer, begin + from, end - from)))
    from = end
  }
  return names
}

export function decodeTimeline(buffer: ArrayBuffer): TimelineData {
  check(buffer.byteLength >= HEADER_BYTES, 'shorter than the header')
  const view = new DataView(buffer)
  check(view.getUint32(0, true) === 0x4c54594b, 'missing KYTL signature')
  check(view.getUint32(4, true) === 1, `unknown version ${view.getUint32(4, true)}`)
  const [sliceRows, counterRows, sliceCount, counterCount, nameCount, width] = new Uint32Array(buffer, 8, 6) as unknown as [
    number, number, number, number, number, number,
  ]
  const columns = new Columns(buffer, HEADER_BYTES)
  const rowWords = columns.take(Uint32Array, (ROW_BYTES / 4) * (sliceRows + counterRows))
  const slices: Slices = {
    start: columns.take(Float64Array, sliceCount),
    end: columns.take(Float64Array, sliceCount),
    id: columns.take(Float64Array, sliceCount),
    count: columns.take(Uint32Array, sliceCount),
    busy: columns.take(Float32Array, sliceCount),
    name: columns.take(Uint32Array, sliceCount),
  }
  const counters: Counters = {
    start: columns.take(Float64Array, counterCount),
    end: columns.take(Float64Array, counterCount),
    min: columns.take(Float64Array, counterCount),
    max: columns.take(Float64Array, counterCount),
    mean: columns.take(Float64Array, counterCount),
    last: columns.take(Float64Array, counterCount),
    count: columns.take(Uint32Array, counterCount),
  }
  const names = readNames(columns, nameCount, Number(view.getBigUint64(48, true)))
  for (const name of slices.name) check(name < nameCount, 'name index out of range')
  return {
    from: Number(view.getBigInt64(32, true)),
    to: Number(view.getBigInt64(40, true)),
    width,
    sliceRows: readRows(rowWords, 0, sliceRows, sliceCount),
    counterRows: readRows(rowWords, sliceRows, counterRows, counterCount),
    slices,
    counters,
    names,
  }
}

/** Among `count` items from `first` on, the last that starts at or before `time`; first - 1 if none does. */
export function lastStart(starts: Float64Array, first: number, count: number, time: number): number {
  let low = first
  let high = first + count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (starts[middle]! <= time) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The item at `time`, else the nearest within `slack`, else -1. Items of a row do not overlap. */
export function itemNear(
  columns: { start: Float64Array; end: Float64Array }, row: { first: number; count: number }, time: number, slack: number,
): number {
  const before = lastStart(columns.start, row.first, row.count, time)
  const after = before + 1
  const late = before >= row.first ? time - columns.end[before]! : Infinity
  if (late < 0) return before
  const early = after < row.first + row.count ? columns.start[after]! - time : Infinity
  if (Math.min(late, early) > slack) return -1
  return late <= early ? before : after
}

// Tracks made from queries: rows with a start, a duration or an end, and a name become events of a lane.
import type { EventTable, SqlResponse, Track } from './api'
import { hash } from './palette'
import { eventColumn } from './sql'
import type { Span } from './time'
import type { Row, TimelineData } from './timelineData'
import type { SqlTrack } from './view'

// Above the ids of the profile's tracks; equal queries have equal ids.
const FIRST_ID = 2 ** 31

export function sqlTrackId(sql: string): number {
  return FIRST_ID + (hash(sql) % 2 ** 30)
}

export const SQL_ROLE = 'sql'
/** Of events that are in no table of events. */
export const NO_EVENT_ID = -1

/** The columns of a result that make a track. */
export interface TrackColumns {
  start: number
  length: number
  lengthIsEnd: boolean
  name: number // -1: none
  startScale: number // to ps
  lengthScale: number
}

const STARTS = ['start', 'start_ts', 'start_ns', 'start_ps', 'ts', 'timestamp']
const LENGTHS = ['duration', 'duration_ns', 'duration_ps', 'dur']
const ENDS = ['end', 'end_ts', 'end_ns', 'end_ps']

/** Times are in ns, as in all tables, unless the column's name ends with _ps. */
export function trackColumns(response: SqlResponse): TrackColumns | null {
  const names = response.columns.map((column) => column.name.toLowerCase())
  const find = (wanted: string[]) => names.findIndex((name, at) => wanted.includes(name) && response.columns[at]!.kind === 'number')
  const scale = (at: number) => (names[at]!.endsWith('_ps') ? 1 : 1000)
  const start = find(STARTS)
  const [duration, end] = [find(LENGTHS), find(ENDS)]
  const length = duration >= 0 ? duration : end
  if (start < 0 || length < 0) return null
  const named = names.indexOf('name')
  const name = named >= 0 ? named : response.columns.findIndex((column) => column.kind === 'text')
  return { start, length, lengthIsEnd: duration < 0, name, startScale: scale(start), lengthScale: scale(length) }
}

interface LaidOut {
  start: number // ps
  end: number
  name: number
  id: number
}

/** The events of a query, in rows without overlaps. */
export interface SqlLane {
  track: Track
  rows: LaidOut[][]
  names: string[]
}

const MAX_ROWS = 64

/** An event goes below all events that contain it, as on other tracks; what finds no row is in the last one. */
function layOut(events: LaidOut[]): LaidOut[][] {
  const rows: LaidOut[][] = []
  events.sort((a, b) => a.start - b.start || b.end - a.end)
  for (const event of events) {
    let at = rows.length
    while (at > 0 && (rows[at - 1]!.at(-1)!.end < event.end || rows[at - 1]!.at(-1)!.end <= event.start)) at--
    while (at < rows.length && rows[at]!.at(-1)!.end > event.start) at++
    if (at === rows.length && rows.length < MAX_ROWS) rows.push([])
    rows[Math.min(at, MAX_ROWS - 1)]!.push(event)
  }
  return rows
}

export function makeSqlLane({ name, sql }: SqlTrack, response: SqlResponse): SqlLane | null {
  const columns = trackColumns(response)
  if (!columns) return null
  const link = eventColumn(sql, response.columns.map((column) => column.name))
  const names = new Map<string, number>()
  const events: LaidOut[] = []
  for (const row of response.rows) {
    const [start, length] = [row[columns.start], row[columns.length]]
    if (typeof start !== 'number' || typeof length !== 'number') continue
    const from = start * columns.startScale
    const to = length * columns.lengthScale + (columns.lengthIsEnd ? 0 : from)
    const label = columns.name >= 0 ? String(row[columns.name] ?? '') : ''
    const number = names.get(label) ?? names.size
    names.set(label, number)
    const id = link ? row[link.at] : null
    events.push({ start: from, end: Math.max(from, to), name: number, id: typeof id === 'number' ? id : NO_EVENT_ID })
  }
  const rows = layOut(events)
  const table: EventTable = link?.table ?? 'SystemProfileEvents'
  const track: Track = {
    id: sqlTrackId(sql), parent: null, level: 'lane', role: SQL_ROLE, name, table, is_counter: false, rows: Math.max(1, rows.length),
    event_count: events.length, sort_key: 0,
  }
  return { track, rows, names: [...names.keys()] }
}

interface Item extends LaidOut {
  count: number
  busy: number // ps
  longest: number
}

/** The items to draw, as the server makes them: events shorter than a pixel that start in the same one are one item. */
function itemsOf(row: LaidOut[], span: Span, width: number): Item[] {
  const pixel = (span.to - span.from) / width
  const items: Item[] = []
  let last = -1
  for (const event of row) {
    if (event.start >= span.to || (event.end <= span.from && event.start < span.from)) continue
    const length = event.end - event.start
    const at = length >= pixel ? -1 : Math.floor((event.start - span.from) / pixel)
    const open = items.at(-1)
    if (open && at >= 0 && at === last) {
      open.end = Math.max(open.end, event.end)
      open.count++
      open.busy += length
      if (length > open.longest) Object.assign(open, { longest: length, name: event.name, id: event.id })
    } else items.push({ ...event, count: 1, busy: length, longest: length })
    last = at
  }
  return items
}

/** A tile of the lane, in the shape of the server's answers. */
export function sqlTimeline(lane: SqlLane, span: Span, width: number): TimelineData {
  const all: Item[] = []
  const sliceRows: Row[] = []
  lane.rows.forEach((row, number) => {
    const items = itemsOf(row, span, width)
    if (items.length > 0) sliceRows.push({ track: lane.track.id, row: number, first: all.length, count: items.length })
    all.push(...items)
  })
  const none = new Float64Array(0)
  return {
    from: span.from, to: span.to, width, sliceRows, counterRows: [], names: lane.names,
    slices: {
      start: Float64Array.from(all, (item) => item.start - span.from), end: Float64Array.from(all, (item) => item.end - span.from),
      id: Float64Array.from(all, (item) => item.id), count: Uint32Array.from(all, (item) => item.count),
      busy: Float32Array.from(all, (item) => (item.end > item.start ? Math.min(1, item.busy / (item.end - item.start)) : 1)),
      name: Uint32Array.from(all, (item) => item.name),
    },
    counters: { start: none, end: none, min: none, max: none, mean: none, last: none, count: new Uint32Array(0) },
  }
}

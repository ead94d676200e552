// Boxes on the timeline of a device: around collectives and barriers, around what deserves a warning, and where an error was notified.
import { formatBytes, formatCount } from './numbers'
import { formatNs, withMicroSign, type Span } from './time'

export interface TimelineBox {
  kind: 'collective' | 'barrier' | 'warning' | 'error'
  rank: number
  from: number // ps
  to: number
  title: string
  lines: string[]
  lanes: (lane: string) => boolean // that it is around
  isOfCore: boolean // around all lanes of the core where none of its own is visible
  event: number | null
}

export interface CollectiveRow {
  rank: number
  start_ts: number
  end_ts: number
  operation: string
  algorithm: string
  dtype: string
  num_elements: number
  input_size: number | null
  output_size: number | null
  bus_bandwidth: number | null
  replica_group: string | null
  trigger_engine: string
  cc_trigger_start_delay: number | null
  stream_id: number
  id: number
}

export interface WarningRow {
  rank: number
  start_ts: number
  end_ts: number
  title: string
  statement: string
  queue_name: string | null
}

export interface ErrorRow {
  rank: number
  timestamp: number
  description: string
  metadata: string | null
  id: number
}

/** Boxes of a kind that are loaded at once: the longest. */
export const MAX_BOXES = 3000

const inRange = ({ from, to }: Span) => `WHERE end_ts >= ${Math.floor(from / 1000)} AND start_ts <= ${Math.ceil(to / 1000)}
  ORDER BY duration_ns DESC LIMIT ${MAX_BOXES}`

export function collectivesSql(span: Span): string {
  return `SELECT rank, start_ts, end_ts, operation, algorithm, dtype, num_elements, input_size, output_size, bus_bandwidth, replica_group,
    trigger_engine, cc_trigger_start_delay, stream_id, id FROM CcOp ${inRange(span)}`
}

export function warningsSql(span: Span): string {
  return `SELECT rank, start_ts, end_ts, title, statement, queue_name FROM PerformanceWarning ${inRange(span)}`
}

export function errorsSql({ from, to }: Span): string {
  return `SELECT rank, timestamp, description, metadata, id FROM Error
    WHERE timestamp >= ${Math.floor(from / 1000)} AND timestamp <= ${Math.ceil(to / 1000)} ORDER BY timestamp LIMIT ${MAX_BOXES}`
}

function collectiveLines(row: CollectiveRow): string[] {
  const lines = [`${formatNs(row.end_ts - row.start_ts)}${row.algorithm === 'barrier' ? '' : `, ${row.algorithm}`}`]
  if (row.algorithm !== 'barrier')
    lines.push(`${formatCount(row.num_elements)} × ${row.dtype}, ${formatBytes(row.input_size ?? 0)} in, ${formatBytes(row.output_size ?? 0)} out`)
  if (row.bus_bandwidth) lines.push(`${formatBytes(row.bus_bandwidth)}/s bus bandwidth`)
  if (row.replica_group) lines.push(`rank ${row.rank} of ranks ${row.replica_group.replaceAll(/[[\]]/g, '')}`)
  if (row.cc_trigger_start_delay !== null)
    lines.push(`triggered by ${row.trigger_engine}${row.cc_trigger_start_delay > 0 ? `, ${formatNs(row.cc_trigger_start_delay)} before it began` : ''}`)
  return lines
}

export function collectiveBox(row: CollectiveRow): TimelineBox {
  const own = [`CC-core ${row.stream_id}`, `Collectives, CC-core ${row.stream_id}`]
  return {
    kind: row.algorithm === 'barrier' ? 'barrier' : 'collective', rank: row.rank, from: row.start_ts * 1000, to: row.end_ts * 1000,
    title: row.operation, lines: collectiveLines(row), lanes: (lane) => own.includes(lane), isOfCore: true, event: row.id,
  }
}

const THROTTLED = ['Throttling', 'TensorMatrix']

export function warningBox(row: WarningRow): TimelineBox {
  const queue = row.queue_name
  return {
    kind: 'warning', rank: row.rank, from: row.start_ts * 1000, to: row.end_ts * 1000, title: row.title, lines: [withMicroSign(row.statement)],
    lanes: queue === null ? (lane) => THROTTLED.includes(lane) : (lane) => lane === queue || lane.startsWith(`${queue}, DMA engine`),
    isOfCore: false, event: null,
  }
}

const ERRORS = ['Custom Notification', 'Errors']

export function errorBox(row: ErrorRow): TimelineBox {
  const at = row.timestamp * 1000
  return {
    kind: 'error', rank: row.rank, from: at, to: at, title: row.description, lines: [...(row.metadata ? [row.metadata] : []), `at ${formatNs(row.timestamp)}`],
    lanes: (lane) => ERRORS.includes(lane), isOfCore: false, event: row.id,
  }
}

export interface Part {
  y: number
  height: number
}

/** The name of a box on the timeline, TAG_HEIGHT high. */
export interface Tag {
  x: number
  y: number
  width: number
}

export const TAG_HEIGHT = 15
const MIN_TAG = 34
const [LETTER, CAPITAL, MARGINS] = [6.4, 1.6, 8] // pixels; a capital is wider by that

/** Puts the tag of a box low and to the left in it, but beside or above tags that are there; null if there is no room. */
export function placeTag(placed: Tag[], box: { x: number; width: number; y: number; height: number }, title: string): Tag | null {
  const wanted = MARGINS + LETTER * title.length + CAPITAL * (title.match(/[A-Z]/g)?.length ?? 0)
  for (let y = box.y + box.height - TAG_HEIGHT; y >= box.y; y -= TAG_HEIGHT) {
    const beside = placed.filter((other) => Math.abs(other.y - y) < TAG_HEIGHT).sort((a, b) => a.x - b.x)
    let x = box.x
    for (const other of beside) if (other.x < x + MIN_TAG && other.x + other.width > x) x = other.x + other.width
    const next = Math.min(box.x + box.width, ...beside.filter((other) => other.x >= x).map((other) => other.x))
    const tag = { x, y, width: Math.min(wanted, next - x) }
    if (tag.width < Math.min(MIN_TAG, wanted)) continue
    placed.push(tag)
    return tag
  }
  return null
}

/** Parts that touch become one. */
export function joinParts(parts: readonly Part[]): Part[] {
  const joined: Part[] = []
  for (const { y, height } of [...parts].sort((a, b) => a.y - b.y)) {
    const last = joined.at(-1)
    if (height <= 0) continue
    if (last && y <= last.y + last.height + 1) last.height = Math.max(last.height, y + height - last.y)
    else joined.push({ y, height })
  }
  return joined
}

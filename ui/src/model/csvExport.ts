// CSV of what is visible on a device's timeline: a file for each table, the lane of each row first.
import type { Span } from './time'

export interface ExportTable {
  table: string
  title: string
  track: string // SQL: the lane's name
  time: string // column of its start
  end: string
  order: string // SQL: which row stands for others of its pixel
  without?: string // column that the lane's name replaces
}

export const EXPORT_TABLES: ExportTable[] = [
  { table: 'Instruction', title: 'Instructions', track: 'timeline_track', time: 'start_ts', end: 'end_ts', order: 'duration_ns DESC, id', without: 'timeline_track' },
  { table: 'DmaPacketAggregated', title: 'DMA transfers', track: 'queue_name', time: 'start_ts', end: 'end_ts', order: 'duration_ns DESC, id' },
  { table: 'DmaPacket', title: 'DMA packets', track: "concat(queue_name, ', DMA engine ', engine_idx)", time: 'start_ts', end: 'end_ts', order: 'duration_ns DESC, id' },
  { table: 'CcInstruction', title: 'CC-core instructions', track: "concat('CC-core ', core_idx)", time: 'start_ts', end: 'end_ts', order: 'duration_ns DESC' },
  { table: 'SemaphoreUpdate', title: 'Semaphore updates', track: "concat('Semaphore ', id)", time: 'timestamp', end: 'timestamp', order: 'timestamp DESC' },
]

/** Rows that overlap the span, of a rank or of all. With `pixels`, at most one row of a lane starts in each of them: the longest. */
export function exportSql(one: ExportTable, span: Span, rank: number | null, pixels: number | null): string {
  const [from, to] = [Math.floor(span.from / 1000), Math.ceil(span.to / 1000)]
  const step = pixels === null ? 0 : (to - from) / pixels
  const rows = one.without ? `* EXCLUDE (${one.without})` : '*'
  const ofRank = rank === null ? '' : ` AND rank = ${rank}`
  const sample = step > 1
    ? ` QUALIFY row_number() OVER (PARTITION BY rank, ${one.track}, floor((${one.time} - ${from}) / ${step}) ORDER BY ${one.order}) = 1`
    : ''
  return `SELECT ${one.track} AS timeline_track, ${rows} FROM ${one.table}
    WHERE ${one.end} >= ${from} AND ${one.time} <= ${to}${ofRank}${sample} ORDER BY ${one.time}, 1`
}

// Memory over time: what lies at which address of a partition of SBUF, or of the scratchpad in HBM, and when.
import { formatBytes, formatCount } from './numbers'
import { keySlot, nameSlot } from './palette'
import type { ChartRect } from './rectChart'
import type { Span } from './time'

export const MAX_ALLOCATIONS = 5000

export interface AllocationRow {
  start_ts: number
  end_ts: number
  start_address: number
  end_address: number
  op_source_type: string | null
  opcode: string | null
  operands: string | null
  queue_name: string | null
  block_id: number | null
  tensor_name: string | null
  hlo_name: string | null
  note: string | null
}

export const MAP_COLORS = ['tensor', 'source'] as const
export type MapColor = (typeof MAP_COLORS)[number]

/** A memory that can be shown: a partition of SBUF, or the scratchpad. */
export interface Memory {
  key: string
  title: string
  bytes: number
}

export const SBUF_SQL = `SELECT 'sbuf' || partition AS key, 'SBUF partition ' || partition AS title, max(end_address) AS bytes
  FROM {SbufAllocation} GROUP BY partition ORDER BY partition`
export const SCRATCHPAD_SQL = "SELECT 'scratchpad' AS key, 'Scratchpad in HBM' AS title, max(end_address) AS bytes FROM {ScratchpadAllocation}"

const SBUF_COLUMNS = 'op_source_type, opcode, operands, queue_name, block_id, tensor_name, hlo_name, NULL AS note'
const SCRATCHPAD_COLUMNS = `NULL AS op_source_type, NULL AS opcode, NULL AS operands, NULL AS queue_name, NULL AS block_id, tensor_name, NULL AS hlo_name,
  concat_ws(', ', 'made by ' || layer, access_count || ' accesses', read_bytes || ' B read', write_bytes || ' B written') AS note`

/** What takes most of the picture first; the rest is too small to see. */
export function allocationsSql(memory: string, { from, to }: Span): string {
  const [start, end] = [Math.floor(from / 1000), Math.ceil(to / 1000)]
  const partition = /^sbuf(\d+)$/.exec(memory)?.[1]
  const [columns, table, which] = partition === undefined
    ? [SCRATCHPAD_COLUMNS, '{ScratchpadAllocation}', '']
    : [SBUF_COLUMNS, '{SbufAllocation}', `partition = ${partition} AND `]
  return `SELECT start_ts, end_ts, start_address, end_address, ${columns} FROM ${table} WHERE ${which}end_ts >= ${start} AND start_ts <= ${end}
    ORDER BY (least(end_ts, ${end}) - greatest(start_ts, ${start})) * (end_address - start_address) DESC LIMIT ${MAX_ALLOCATIONS}`
}

export const nameOf = (row: AllocationRow): string => row.tensor_name ?? row.hlo_name ?? row.opcode ?? 'unnamed'

function slotOf(row: AllocationRow, color: MapColor): number {
  return color === 'tensor' ? nameSlot(nameOf(row)) : keySlot(row.op_source_type === 'dma' ? 0 : 1)
}

function writerOf(row: AllocationRow): string {
  if (row.note !== null) return row.note
  if (row.op_source_type === 'dma') return `loaded by ${row.queue_name}, block ${row.block_id}`
  return `written by ${row.opcode}${row.operands ? `: ${row.operands}` : ''}`
}

/** Addresses are the units; the first ones are at the top. Small rectangles are drawn over large ones. */
export function allocationRect(row: AllocationRow, color: MapColor): ChartRect {
  const size = row.end_address - row.start_address
  return {
    from: row.start_ts * 1000, to: row.end_ts * 1000, y: row.start_address, height: size, label: nameOf(row), slot: slotOf(row, color), opacity: 0.9,
    lines: [
      `${formatBytes(size)}${row.note === null ? ' a partition' : ''}, addresses ${formatCount(row.start_address)} to ${formatCount(row.end_address)}`,
      writerOf(row), ...(row.tensor_name && row.hlo_name ? [`for ${row.hlo_name}`] : []),
    ],
  }
}

/** What is in use from a change to the next one. */
export interface UsageRow {
  start_ts: number
  end_ts: number
  used_bytes: number
  tensor_count: number
}

export function usageSql({ from, to }: Span): string {
  return `SELECT * FROM (SELECT timestamp AS start_ts, lead(timestamp) OVER (PARTITION BY pcore_idx ORDER BY timestamp) AS end_ts, used_bytes, tensor_count
      FROM {ScratchpadUsage})
    WHERE used_bytes > 0 AND end_ts >= ${Math.floor(from / 1000)} AND start_ts <= ${Math.ceil(to / 1000)}
    ORDER BY (end_ts - start_ts) * used_bytes DESC LIMIT ${MAX_ALLOCATIONS}`
}

/** Bytes are the units, from the bottom up. */
export function usageRect(row: UsageRow, bytes: number): ChartRect {
  return {
    from: row.start_ts * 1000, to: row.end_ts * 1000, y: bytes - row.used_bytes, height: row.used_bytes, label: formatBytes(row.used_bytes), slot: keySlot(0),
    lines: [`in use, by ${formatCount(row.tensor_count)} ${row.tensor_count === 1 ? 'tensor' : 'tensors'}`],
  }
}

function addressText(bytes: number): string {
  if (bytes === 0) return '0'
  const [size, unit] = bytes % 2 ** 20 === 0 ? [2 ** 20, 'MiB'] : bytes % 1024 === 0 ? [1024, 'KiB'] : [1, 'B']
  return `${bytes / size} ${unit}`
}

/** Of the chart of bytes in use, whose top is the highest address. */
export function usageAxis(bytes: number): { y: number; text: string }[] {
  return [{ y: 0, text: addressText(bytes) }, { y: bytes, text: '0' }]
}

/** Labels of the address axis: a few round sizes. */
export function addressAxis(bytes: number): { y: number; text: string }[] {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, bytes) / 7)))
  const labels: { y: number; text: string }[] = []
  for (let y = 0; y <= bytes; y += step) labels.push({ y, text: addressText(y) })
  return labels
}

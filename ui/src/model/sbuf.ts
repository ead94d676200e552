// SBUF over time: what lies at which address of a partition, and when.
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
}

export const SBUF_COLOURS = ['tensor', 'source'] as const
export type SbufColour = (typeof SBUF_COLOURS)[number]

export const PARTITIONS_SQL = 'SELECT partition, max(end_address) AS bytes, count(*) AS count FROM {SbufAllocation} GROUP BY partition ORDER BY partition'

/** What takes most of the picture first; the rest is too small to see. */
export function allocationsSql(partition: number, { from, to }: Span): string {
  return `SELECT start_ts, end_ts, start_address, end_address, op_source_type, opcode, operands, queue_name, block_id, tensor_name, hlo_name
    FROM {SbufAllocation} WHERE partition = ${partition} AND end_ts >= ${Math.floor(from / 1000)} AND start_ts <= ${Math.ceil(to / 1000)}
    ORDER BY (least(end_ts, ${Math.ceil(to / 1000)}) - greatest(start_ts, ${Math.floor(from / 1000)})) * (end_address - start_address) DESC
    LIMIT ${MAX_ALLOCATIONS}`
}

export const nameOf = (row: AllocationRow): string => row.tensor_name ?? row.hlo_name ?? row.opcode ?? 'unnamed'

function slotOf(row: AllocationRow, colour: SbufColour): number {
  return colour === 'tensor' ? nameSlot(nameOf(row)) : keySlot(row.op_source_type === 'dma' ? 0 : 1)
}

/** Addresses are the units; the first ones are at the top. Small rectangles are drawn over large ones. */
export function allocationRect(row: AllocationRow, colour: SbufColour): ChartRect {
  const by = row.op_source_type === 'dma' ? `loaded by ${row.queue_name}, block ${row.block_id}` : `written by ${row.opcode}${row.operands ? `: ${row.operands}` : ''}`
  return {
    from: row.start_ts * 1000, to: row.end_ts * 1000, y: row.start_address, height: row.end_address - row.start_address,
    label: nameOf(row), slot: slotOf(row, colour), opacity: 0.9,
    lines: [
      `${formatBytes(row.end_address - row.start_address)} a partition, addresses ${formatCount(row.start_address)} to ${formatCount(row.end_address)}`, by,
      ...(row.tensor_name && row.hlo_name ? [`for ${row.hlo_name}`] : []),
    ],
  }
}

/** Labels of the address axis: a few round sizes. */
export function addressAxis(bytes: number): { y: number; text: string }[] {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, bytes) / 7)))
  const labels: { y: number; text: string }[] = []
  for (let y = 0; y <= bytes; y += step) labels.push({ y, text: y === 0 ? '0' : y % 1024 === 0 ? `${y / 1024} KiB` : `${y} B` })
  return labels
}

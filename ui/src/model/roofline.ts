// The roofline: peaks of the device as lines, operations as points. The server's table has XProf's columns and units.
import type { ToolRow } from './toolTables'

export interface Ceiling {
  name: string
  column: string // of the server's table
  bytesPerS: number
}

export interface Peaks {
  flopsPerS: number
  ceilings: Ceiling[]
}

const GFLOPS = 1e9

// The device's main memory first, then those on its chip.
const MEMORIES = [
  ['HBM', 'hbm_gb_per_s'], ['CMEM read', 'cmem_read_gb_per_s'], ['CMEM write', 'cmem_write_gb_per_s'],
  ['VMEM read', 'vmem_read_gb_per_s'], ['VMEM write', 'vmem_write_gb_per_s'],
] as const

/** Of the device that the server compares with. */
export function readPeaks(device: ToolRow | undefined): Peaks {
  const ceilings = MEMORIES
    .map(([name, id]) => ({ name, column: id, bytesPerS: Number(device?.[id] ?? 0) * 1e9 }))
    .filter(({ bytesPerS }) => bytesPerS > 0)
  return { flopsPerS: Number(device?.tflops ?? 0) * 1e12, ceilings }
}

export interface RooflinePoint {
  row: ToolRow
  x: number // FLOP per byte
  y: number // FLOP/s
  share: number // of the time
}

/** The operations of the whole profile. */
export function totalRows(rows: readonly ToolRow[], hasInfeed: boolean): ToolRow[] {
  return rows.filter((row) => row.step === 'Total' && row.include_infeed_outfeed === hasInfeed)
}

export const isProgram = (row: ToolRow) => row.rank === 0

/** Those that can be drawn: logarithms need operations and bytes. */
export function readPoints(rows: readonly ToolRow[]): RooflinePoint[] {
  return rows
    .map((row) => ({
      row, x: Number(row.operational_intensity ?? 0), y: Number(row.model_flop_rate ?? 0) * GFLOPS,
      share: isProgram(row) ? 1 : Number(row.total_self_time_percent ?? 0),
    }))
    .filter(({ x, y }) => x > 0 && y > 0)
}

const MAX_OUTSIDE = 0.005 // of the time, at each end of an axis

/** The values without those at either end that hardly take time: one of them would stretch an axis by decades. */
export function usualValues(points: readonly { value: number; share: number }[]): number[] {
  const sorted = [...points].sort((a, b) => a.value - b.value)
  const most = MAX_OUTSIDE * sorted.reduce((sum, { share }) => sum + share, 0)
  const skipped = (from: typeof sorted) => {
    let sum = 0
    const at = from.findIndex(({ share }) => (sum += share) > most)
    return Math.max(at, 0)
  }
  return sorted.slice(skipped(sorted), sorted.length - skipped([...sorted].reverse())).map(({ value }) => value)
}

/** The powers of ten around the values. */
export function decades(values: readonly number[]): { from: number; to: number } {
  const logs = values.filter((value) => value > 0).map(Math.log10)
  if (logs.length === 0) return { from: 0, to: 1 }
  const from = Math.floor(Math.min(...logs))
  return { from, to: Math.max(from + 1, Math.ceil(Math.max(...logs))) }
}

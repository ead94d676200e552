// The roofline: peaks of the device as lines, operations as points. The server's table has XProf's columns and units.
import type { ToolRow } from './toolTables'

export interface Ceiling {
  name: string
  bytesPerS: number
}

export interface Peaks {
  flopsPerS: number
  ceilings: Ceiling[]
}

const GFLOPS = 1e9

/** Of the device that the server compares with. */
export function readPeaks(device: ToolRow | undefined): Peaks {
  const bytesPerS = Number(device?.hbm_gb_per_s ?? 0) * 1e9
  return { flopsPerS: Number(device?.tflops ?? 0) * 1e12, ceilings: bytesPerS > 0 ? [{ name: 'HBM', bytesPerS }] : [] }
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
      row, x: Number(row.bottleneck_operational_intensity || row.operational_intensity || 0), y: Number(row.measured_flop_rate ?? 0) * GFLOPS,
      share: isProgram(row) ? 1 : Number(row.total_self_time_percent ?? 0),
    }))
    .filter(({ x, y }) => x > 0 && y > 0)
}

/** The powers of ten around the values. */
export function decades(values: readonly number[]): { from: number; to: number } {
  const logs = values.filter((value) => value > 0).map(Math.log10)
  if (logs.length === 0) return { from: 0, to: 1 }
  const from = Math.floor(Math.min(...logs))
  return { from, to: Math.max(from + 1, Math.ceil(Math.max(...logs))) }
}

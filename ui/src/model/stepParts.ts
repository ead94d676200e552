// Steps and the parts of their time, in the order they are stacked.
import type { ToolRow } from './toolTables'

export interface StackedBar {
  label: string
  parts: number[] // ms
}

export interface StepParts {
  names: string[] // of the parts, those that have time
  ids: string[] // their columns
  keys: number[] // of their colors: a part has the same everywhere
  bars: StackedBar[]
}

export interface PartColumn {
  id: string
  name: string
}

export const STEP_PARTS: PartColumn[] = [
  { id: 'deviceComputeTimeMs', name: 'Device compute' }, { id: 'deviceCollectivesTimeMs', name: 'Collectives' },
  { id: 'deviceToDeviceTimeMs', name: 'Device to device' }, { id: 'infeedTimeMs', name: 'Input' }, { id: 'outfeedTimeMs', name: 'Output' },
  { id: 'kernelLaunchTimeMs', name: 'Kernel launch' }, { id: 'hostComputeTimeMs', name: 'Host compute' }, { id: 'compileTimeMs', name: 'Compilation' },
  { id: 'otherTimeMs', name: 'Other' },
  // On TPUs.
  { id: 'tcComputeTimeMs', name: 'TensorCore compute' }, { id: 'scv0ComputeTimeMs', name: 'SparseCore compute' },
  { id: 'scv0InfeedTimeMs', name: 'SparseCore input' }, { id: 'tcInfeedTimeMs', name: 'TensorCore input' },
  { id: 'tcOutfeedTimeMs', name: 'TensorCore output' }, { id: 'tcIdleTimeMs', name: 'TensorCore idle' }, { id: 'hostTransferTimeMs', name: 'Host transfer' },
]

export const CORE_PARTS: PartColumn[] = [
  { id: 'compute_us', name: 'Device compute' }, { id: 'collectives_us', name: 'Collectives' }, { id: 'device_to_device_us', name: 'Device to device' },
  { id: 'input_us', name: 'Input' }, { id: 'output_us', name: 'Output' }, { id: 'host_transfer_us', name: 'Host transfer' }, { id: 'kernel_launch_us', name: 'Kernel launch' },
  { id: 'host_compute_us', name: 'Host compute' }, { id: 'compile_us', name: 'Compilation' }, { id: 'other_us', name: 'Other' },
]

const FIRST_KEY = 4 // blue

/** Bars of those parts that have time; `scale` makes milliseconds of the columns' unit. */
export function readParts(rows: readonly ToolRow[], columns: readonly PartColumn[], label: (row: ToolRow) => string, scale = 1): StepParts {
  const used = columns.filter(({ id }) => rows.some((row) => Number(row[id] ?? 0) > 0))
  return {
    names: used.map(({ name }) => name), ids: used.map(({ id }) => id), keys: used.map((column) => FIRST_KEY + columns.indexOf(column)),
    bars: rows.map((row) => ({ label: label(row), parts: used.map(({ id }) => Number(row[id] ?? 0) * scale) })),
  }
}

/** The query of the means below the bars. */
export function meansQuery(query: string, ids: readonly string[], scale = 1, where = ''): string {
  const columns = ids.map((id) => `avg("${id}") * ${scale} AS "${id}"`).join(', ')
  return `UNPIVOT (SELECT ${columns} FROM (\n${query}\n)${where && ` WHERE ${where}`}) ON COLUMNS(*) INTO NAME part VALUE mean_ms`
}

/** At most so many bars: the mean of neighbors. */
export function thinBars(bars: readonly StackedBar[], most: number): { bars: StackedBar[]; each: number } {
  const each = Math.max(1, Math.ceil(bars.length / most))
  if (each === 1) return { bars: [...bars], each }
  const thinned: StackedBar[] = []
  for (let at = 0; at < bars.length; at += each) {
    const group = bars.slice(at, at + each)
    thinned.push({
      label: group.length === 1 ? group[0]!.label : `${group[0]!.label}–${group[group.length - 1]!.label}`,
      parts: group[0]!.parts.map((_, part) => group.reduce((sum, bar) => sum + bar.parts[part]!, 0) / group.length),
    })
  }
  return { bars: thinned, each }
}

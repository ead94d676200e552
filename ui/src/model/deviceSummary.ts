// The summary of a device profile: its metrics as bars, shares and facts. Metrics that a profile lacks are left out.
import { figure, type Figure, type FigureKey, type Words } from './figures'
import { formatBytes, formatCount, formatFlops, formatNumber, formatShare } from './numbers'
import { formatNs } from './time'

export type Metrics = Record<string, unknown>

export interface Amount {
  name: string
  share: number // 0 to 1
  value: Words
  note?: Words
}

function number(metrics: Metrics, name: string): number | null {
  const value = metrics[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

const seconds = (value: number) => formatNs(value * 1e9)

const rankKey = ({ rank }: Metrics): FigureKey => (typeof rank === 'number' ? { rank } : {})

/** A metric as a figure of the table Summary. */
function metric(metrics: Metrics, name: string, text: string): Figure {
  return figure(`table.Summary.${name}`, text, rankKey(metrics))
}

const UNITS: [string, string][] = [
  ['Tensor', 'tensor_engine'], ['Vector', 'vector_engine'], ['Scalar', 'scalar_engine'], ['GpSimd', 'gpsimd_engine'], ['Sync', 'sync_engine'],
  ['DMA', 'dma'], ['Collectives', 'cc_op'],
]

/** How much of the time each engine, DMA and collectives are active. */
export function activeShares(metrics: Metrics): Amount[] {
  return UNITS.flatMap(([name, prefix]) => {
    const share = number(metrics, `${prefix}_active_time_percent`)
    const time = number(metrics, `${prefix}_active_time`)
    if (share === null || time === null || (prefix === 'cc_op' && time === 0)) return []
    const counted = prefix === 'dma' ? 'dma_transfer_count' : prefix === 'cc_op' ? 'cc_op_count' : `${prefix}_instruction_count`
    const count = number(metrics, counted)
    const noun = (prefix === 'dma' ? 'transfer' : prefix === 'cc_op' ? 'collective' : 'instruction') + (count === 1 ? '' : 's')
    return [{
      name, share, note: count === null ? undefined : [metric(metrics, counted, formatCount(count)), ` ${noun}`],
      value: [metric(metrics, `${prefix}_active_time_percent`, formatShare(share)), ' · ', metric(metrics, `${prefix}_active_time`, seconds(time))],
    }]
  })
}

export interface OpcodeRow {
  engine: string
  opcode: string
  instruction_count: number
  instruction_time_ns: number // added up: more than the time active where instructions overlap
  active_time_ns: number
  active_time_percent: number // 0 to 1
  rank?: number
}

/** How much of the time at least one instruction of an opcode runs on an engine: the share, and that time. */
export function opcodeShare(row: OpcodeRow): Amount {
  const { active_time_percent: share, instruction_count: count } = row
  const key = { engine: row.engine, opcode: row.opcode, ...rankKey({ rank: row.rank }) }
  const of = (column: string, text: string) => figure(`table.OpcodeSummary.${column}`, text, key)
  const each = figure('device.opcodes.mean_ns', formatNs(row.instruction_time_ns / Math.max(1, count)), key)
  return {
    name: `${row.opcode} · ${row.engine}`, share,
    value: [of('active_time_percent', formatShare(share)), ' · ', of('active_time_ns', formatNs(row.active_time_ns))],
    note: [of('instruction_count', formatCount(count)), count === 1 ? ' instruction of ' : ' instructions, ', each, count === 1 ? '' : ' each on average'],
  }
}

/** Use of the Tensor engine and of HBM, as shares of what the hardware could do. */
export function utilization(metrics: Metrics): Amount[] {
  const found: Amount[] = []
  const add = (name: string, key: string, note?: Words) => {
    const share = number(metrics, key)
    if (share !== null) found.push({ name, share, value: [metric(metrics, key, formatShare(share))], note })
  }
  const limit = number(metrics, 'mfu_max_achievable_estimated_percent')
  const limitNote: Words | undefined =
    limit === null ? undefined
    : limit >= 1 ? 'HBM bandwidth is not a limit'
    : ['HBM bandwidth allows ', metric(metrics, 'mfu_max_achievable_estimated_percent', formatShare(limit))]
  add('MFU: operations the model needs', 'mfu_estimated_percent', limitNote)
  add('MFU by instructions, without transposes', 'mfu_inst_estimated_percent')
  add('HFU: operations the Tensor engine did', 'hfu_estimated_percent')
  add('MBU: HBM bandwidth', 'mbu_estimated_percent')
  return found
}

/** Operations, as shares of what the Tensor engine did. */
export function flops(metrics: Metrics): Amount[] {
  const all = number(metrics, 'hardware_flops')
  if (!all) return []
  const rows: [string, string][] = [['Model', 'model_flops'], ['Tensor engine', 'hardware_flops'], ['of which transposes', 'transpose_flops']]
  return rows.flatMap(([name, key]) => {
    const value = number(metrics, key)
    return value === null ? [] : [{ name, share: value / all, value: [metric(metrics, key, formatFlops(value))] }]
  })
}

/** What limits the program, by its intensity: a sentence, or none. */
export function boundBy(metrics: Metrics): Words {
  const intensity = number(metrics, 'mm_arithmetic_intensity')
  const ratio = number(metrics, 'peak_flops_bandwidth_ratio')
  if (intensity === null || ratio === null) return ''
  const side = intensity < ratio ? 'below' : 'above'
  const limit = intensity < ratio ? 'memory would be the limit' : 'compute would be the limit'
  return [
    metric(metrics, 'mm_arithmetic_intensity', formatNumber(intensity)), ` operations per byte of HBM, ${side} the hardware’s `,
    metric(metrics, 'peak_flops_bandwidth_ratio', formatNumber(ratio)), `: ${limit}.`,
  ]
}

export interface Slice {
  name: string
  value: number
  text: Words
  share?: Words // in its words; otherwise worked out from the values
  isRest?: boolean // all that have no slice of their own
}

/** Traffic of HBM by its cause. */
export function hbmTraffic(metrics: Metrics): Slice[] {
  const of = (key: string) => number(metrics, key) ?? 0
  const slices = [
    { name: 'Read', value: of('hbm_read_bytes') - of('spill_reload_bytes') },
    { name: 'Spill reload', value: of('spill_reload_bytes') },
    { name: 'Written', value: of('hbm_write_bytes') - of('spill_save_bytes') },
    { name: 'Spill save', value: of('spill_save_bytes') },
  ]
  const sum = slices.reduce((all, { value }) => all + value, 0)
  const shown = (column: string, cause: string, text: string) => figure(`device.hbm_traffic.${column}`, text, { ...rankKey(metrics), cause })
  return slices.filter(({ value }) => value > 0).map((slice) => ({
    ...slice, text: [shown('bytes', slice.name, formatBytes(slice.value))], share: [shown('share', slice.name, formatShare(slice.value / sum))],
  }))
}

/** A part of the critical path: a unit works, or waits for something. */
export interface PathPart {
  unit: string
  wait: string | null
  time_ns: number
  rank?: number
}

export const PATH_SQL = `SELECT CASE WHEN wait IS NULL THEN unit ELSE '' END AS unit, wait, sum(duration_ns)::DOUBLE AS time_ns
  FROM {CriticalPath} GROUP BY ALL ORDER BY time_ns DESC`

/** The critical path as a track: each part is the event that works or waits. */
export const PATH_TRACK_SQL = `SELECT event_id, CASE WHEN wait IS NULL THEN unit ELSE 'wait: ' || wait END AS name, start_ts, duration_ns
  FROM {CriticalPath} ORDER BY start_ts`

/** What the critical path consists of. */
export function criticalPath(parts: readonly PathPart[]): Amount[] {
  const total = parts.reduce((sum, { time_ns }) => sum + time_ns, 0)
  return parts.filter(({ time_ns }) => time_ns > 0).map(({ unit, wait, time_ns, rank }) => {
    const of = (column: string, text: string) => figure(`device.critical_path.${column}`, text, { ...rankKey({ rank }), unit, wait })
    return {
      name: wait === null ? unit : `Wait: ${wait}`, share: time_ns / total,
      value: [of('share', formatShare(time_ns / total)), ' · ', of('time_ns', formatNs(time_ns))],
    }
  })
}

/** The first figures to see. */
export function headlines(metrics: Metrics): [string, Words][] {
  const facts: [string, Words | null][] = [
    ['Time on the device', format(metrics, 'total_time', seconds)],
    ['MFU', format(metrics, 'mfu_estimated_percent', formatShare)],
    ['HFU', format(metrics, 'hfu_estimated_percent', formatShare)],
    ['MBU', format(metrics, 'mbu_estimated_percent', formatShare)],
    ['Active', format(metrics, 'total_active_time_percent', formatShare)],
    ['Operations', format(metrics, 'model_flops', formatFlops)],
    ['Average transfer', format(metrics, 'dma_transfer_average_bytes', formatBytes)],
    ['Weights', format(metrics, 'weight_size_bytes', formatBytes)],
  ]
  return facts.filter((fact): fact is [string, Words] => fact[1] !== null)
}

function format(metrics: Metrics, name: string, write: (value: number) => string): Words | null {
  const value = number(metrics, name)
  return value === null ? null : [metric(metrics, name, write(value))]
}

const SYSTEM: [string, string][] = [
  ['Instance', 'instance_type'], ['NeuronCore', 'neuroncore_idx'], ['Device', 'neuron_device_idx'], ['Simulated', 'is_simulation'],
  ['Compiler', 'compiler_version'], ['Runtime', 'runtime_version'], ['Driver', 'driver_version'], ['Collectives', 'collectives_version'],
  ['Profiler', 'explorer_version'], ['Tensor engine', 'tensor_engine_clock_freq'], ['HBM bandwidth', 'hbm_ddr_bandwidth'],
  ['DMA bandwidth', 'dma_ddr_bandwidth'], ['DMA engines', 'num_dma_engines_per_neuroncore'],
]

export function systemFacts(metadata: Metrics): [string, Words][] {
  const of = (key: string, text: string) => figure(`table.Metadata.${key}`, text)
  return SYSTEM.flatMap(([label, key]): [string, Words][] => {
    const value = metadata[key]
    if (value === null || value === undefined || value === '' || (value === 0 && !key.endsWith('_idx'))) return []
    if (typeof value === 'boolean') return value ? [[label, 'yes']] : []
    if (key.endsWith('bandwidth')) return [[label, [of(key, `${formatBytes(Number(value))}/s`)]]]
    if (key === 'tensor_engine_clock_freq') {
      const [rows, columns] = ['tensor_engine_num_rows', 'tensor_engine_num_cols'].map((size) => of(size, String(metadata[size])))
      return [[label, [rows!, ' × ', columns!, ' at ', of(key, `${formatNumber(Number(value))} GHz`)]]]
    }
    return [[label, typeof value === 'number' ? [of(key, String(value))] : String(value)]]
  })
}

// Tables of the server's analyses, and what a page shows of each. Columns have XProf's ids.
import type { Tool } from './analysis'
import type { FigureKey } from './figures'
import { exactMatch } from './search'
import type { Cell, CellKind, Sorting, TableColumn } from './tables'

export type ToolRow = Record<string, Cell>

/** The tables of an answer, by name: lists of records. */
export function readTables(document: unknown): Map<string, ToolRow[]> {
  const tables = Object.entries((document ?? {}) as Record<string, unknown>)
  return new Map(tables.filter((table): table is [string, ToolRow[]] => Array.isArray(table[1])))
}

export function readTable(document: unknown, name: string): ToolRow[] {
  return readTables(document).get(name) ?? []
}

export interface ToolColumn {
  id: string
  title: string
  kind: CellKind
  scale?: number // of the server's unit in that of the kind
  meaning?: string
  hasBar?: boolean
  isWide?: boolean
}

/** A page that is a table with a chart. */
export interface TableSpec {
  label: string
  noun: string
  table: string // of the answer
  key: string // the column that names a row
  parts: { id: string; title: string }[] // columns whose values share the time
  time: string // the column that is shared
  timeScale: number // to ns
  choices: { id: string; title: string; isRequired?: boolean }[] // columns that a list of values filters; some need one of them
  sort: Sorting
  columns: ToolColumn[]
  searches: (row: ToolRow) => string[] // that find its events; the first with results is used
}

const US = 1_000 // in ns
const GFLOPS = 1e9
const GIB = 2 ** 30

const times: ToolColumn[] = [
  { id: 'total_time', title: 'Total', kind: 'ns', scale: US, meaning: 'Sum of the durations.' },
  { id: 'avg_time', title: 'Mean', kind: 'ns', scale: US },
  { id: 'total_self_time', title: 'Self', kind: 'ns', scale: US, hasBar: true, meaning: 'Time excluding nested events.' },
  { id: 'avg_self_time', title: 'Mean self', kind: 'ns', scale: US },
]
const rates: ToolColumn[] = [
  { id: 'model_flop_rate', title: 'FLOP rate', kind: 'flopRate', scale: GFLOPS, meaning: 'Operations of the model over the total time.' },
  { id: 'measured_memory_bw', title: 'Bandwidth', kind: 'rate', scale: GIB, meaning: 'Bytes accessed over the total time.' },
  { id: 'operational_intensity', title: 'FLOP/B', kind: 'number', meaning: 'Operational intensity: operations per byte accessed.' },
  { id: 'bound_by', title: 'Bound by', kind: 'text', meaning: 'The resource with the highest utilization.' },
]

/** The event that a row names, if any: the first of its events. */
export function firstEvent(row: ToolRow): number | null {
  return typeof row.first_event_id === 'number' ? row.first_event_id : null
}

/** Events of operations have their name, or on TPUs their whole text. */
export const operationSearches = (name: Cell) => [exactMatch('name', String(name)), `name:"%${String(name)} = *"`]

export const TABLE_SPECS: Partial<Record<Tool, TableSpec>> = {
  kernel_stats: {
    label: 'Kernel statistics', noun: 'kernels', table: 'kernels', key: 'kernel_name', time: 'total_duration_us', timeScale: US,
    parts: [{ id: 'family', title: 'By family' }, { id: 'kernel_name', title: 'By kernel' }, { id: 'op_name', title: 'By operation' }],
    choices: [{ id: 'family', title: 'Family' }],
    sort: { key: 'total_duration_us', isDescending: true },
    searches: (row) => [exactMatch('name', String(row.kernel_name))],
    columns: [
      { id: 'kernel_name', title: 'Kernel', kind: 'text', isWide: true },
      { id: 'time_percent', title: 'Share', kind: 'percent', hasBar: true, meaning: 'Share of the time of all kernels.' },
      { id: 'total_duration_us', title: 'Total', kind: 'ns', scale: US },
      { id: 'occurrences', title: 'Count', kind: 'count' },
      { id: 'avg_duration_us', title: 'Mean', kind: 'ns', scale: US },
      { id: 'min_duration_us', title: 'Min', kind: 'ns', scale: US },
      { id: 'max_duration_us', title: 'Max', kind: 'ns', scale: US },
      { id: 'occupancy_pct', title: 'Occupancy', kind: 'percent', meaning: 'Theoretical occupancy: resident warps relative to the maximum of the device.' },
      { id: 'family', title: 'Family', kind: 'text', meaning: 'What kind of kernel it is, by its name.' },
      { id: 'uses_tensor_cores', title: 'Tensor cores', kind: 'text', meaning: 'Blank if its name does not tell.' },
      { id: 'block_dim', title: 'Block', kind: 'text', meaning: 'Block size, in threads.' },
      { id: 'grid_dim', title: 'Grid', kind: 'text', meaning: 'Grid size, in blocks.' },
      { id: 'registers_per_thread', title: 'Registers', kind: 'count', meaning: 'Registers per thread.' },
      { id: 'shmem_bytes', title: 'Shared', kind: 'bytes', meaning: 'Shared memory per block, static and dynamic.' },
      { id: 'op_name', title: 'Operation', kind: 'text' },
    ],
  },
  collective_stats: {
    label: 'Collective statistics', noun: 'kinds of collectives', table: 'collectives', key: 'operation', time: 'total_us', timeScale: US,
    parts: [{ id: 'operation', title: 'By operation' }, { id: 'communicator', title: 'By communicator' }],
    choices: [{ id: 'operation', title: 'Operation' }, { id: 'communicator', title: 'Communicator' }],
    sort: { key: 'total_us', isDescending: true },
    searches: (row) => [exactMatch('name', String(row.kernel))],
    columns: [
      { id: 'operation', title: 'Operation', kind: 'text' },
      { id: 'communicator', title: 'Communicator', kind: 'text', isWide: true },
      { id: 'ranks', title: 'Ranks', kind: 'count' },
      { id: 'data_type', title: 'Type', kind: 'text' },
      { id: 'size_bytes', title: 'Size', kind: 'bytes', meaning: 'The larger of what a rank sends and receives, as nccl-tests count it.' },
      { id: 'occurrences', title: 'Count', kind: 'count' },
      { id: 'time_percent', title: 'Share', kind: 'percent', hasBar: true, meaning: 'Share of the time of all collectives.' },
      { id: 'total_us', title: 'Total', kind: 'ns', scale: US, meaning: 'Sum of the durations, including the time ranks wait for each other.' },
      { id: 'avg_us', title: 'Mean', kind: 'ns', scale: US },
      { id: 'min_us', title: 'Min', kind: 'ns', scale: US },
      { id: 'max_us', title: 'Max', kind: 'ns', scale: US },
      { id: 'algorithm_gb_per_s', title: 'Algorithm', kind: 'rate', scale: 1e9, meaning: 'Size over the mean duration.' },
      { id: 'bus_gb_per_s', title: 'Bus', kind: 'rate', scale: 1e9, meaning: 'What links carry: for an all-reduce over n ranks, 2 (n - 1) / n of the size.' },
      { id: 'best_bus_gb_per_s', title: 'Best bus', kind: 'rate', scale: 1e9, meaning: 'Bus bandwidth of the fastest one, which waits least for other ranks.' },
      { id: 'kernel', title: 'Kernel', kind: 'text' },
    ],
  },
  hlo_stats: {
    label: 'HLO statistics', noun: 'operations', table: 'operations', key: 'hlo_op_name', time: 'total_self_time', timeScale: US,
    parts: [{ id: 'category', title: 'By category' }, { id: 'bound_by', title: 'By what bounds them' }, { id: 'hlo_op_name', title: 'By operation' }],
    choices: [{ id: 'category', title: 'Category' }, { id: 'bound_by', title: 'Bound by' }, { id: 'program_id', title: 'Program' }],
    sort: { key: 'total_self_time', isDescending: true },
    searches: (row) => operationSearches(row.hlo_op_name!),
    columns: [
      { id: 'hlo_op_name', title: 'Operation', kind: 'text', isWide: true },
      { id: 'category', title: 'Category', kind: 'text' },
      { id: 'total_self_time_percent', title: 'Share', kind: 'percent', hasBar: true, meaning: 'Share of the time from the devices’ first work to their last.' },
      { id: 'cumulative_total_self_time_percent', title: 'Cumulative', kind: 'percent', meaning: 'The same share of this row and those with more time.' },
      times[2]!, times[0]!,
      { id: 'occurrences', title: 'Count', kind: 'count' },
      times[3]!,
      ...rates,
      { id: 'flops', title: 'FLOPs', kind: 'flops', meaning: 'Floating-point operations of all executions.' },
      { id: 'bytes', title: 'Bytes', kind: 'bytes', meaning: 'Bytes accessed by all executions.' },
      { id: 'hbm_bw', title: 'HBM bandwidth', kind: 'rate', scale: GIB },
      { id: 'cmem_read_bw', title: 'CMEM read', kind: 'rate', scale: GIB },
      { id: 'cmem_write_bw', title: 'CMEM write', kind: 'rate', scale: GIB },
      { id: 'xprof_model_flop_rate', title: 'XProf’s FLOP rate', kind: 'flopRate', scale: GFLOPS, meaning: 'With XLA’s cost model for GPUs, which counts clock cycles of some operations.' },
      { id: 'dma_stall_percent', title: 'DMA stall', kind: 'share', meaning: 'Share of its total time in which it waits for DMA.' },
      { id: 'attribution', title: 'Attributed by', kind: 'text', meaning: 'How the kernels were attributed to the operation.' },
      { id: 'kernels', title: 'Device work', kind: 'count', meaning: 'Kernels, copies and memsets that do it.' },
      { id: 'core_type', title: 'Core', kind: 'text' },
      { id: 'parent_op_name', title: 'Parent', kind: 'text' },
      { id: 'hlo_rematerialization', title: 'Rematerialized', kind: 'text' },
      { id: 'source', title: 'Source', kind: 'text' },
      { id: 'tf_op_name', title: 'Framework operator', kind: 'text' },
      { id: 'program_id', title: 'Program', kind: 'text' },
      { id: 'hlo_op_expression', title: 'Text', kind: 'text' },
    ],
  },
  framework_op_stats: {
    label: 'Operator statistics', noun: 'operators', table: 'operations_without_idle', key: 'operation', time: 'total_self_time', timeScale: US,
    parts: [{ id: 'type', title: 'By type' }, { id: 'operation', title: 'By operator' }],
    choices: [{ id: 'host_or_device', title: 'On', isRequired: true }, { id: 'type', title: 'Type' }, { id: 'bound_by', title: 'Bound by' }],
    sort: { key: 'total_self_time', isDescending: true },
    searches: (row) => [
      exactMatch('layer', String(row.operation)), ...operationSearches(row.operation!), exactMatch('name', `${String(row.operation)}:${String(row.type)}`),
    ],
    columns: [
      { id: 'operation', title: 'Operator', kind: 'text', isWide: true },
      { id: 'type', title: 'Type', kind: 'text' },
      { id: 'host_or_device', title: 'On', kind: 'text' },
      { id: 'device_total_self_time_percent', title: 'Device share', kind: 'share', hasBar: true, meaning: 'Share of the time of all operators on devices, added up.' },
      { id: 'host_total_self_time_percent', title: 'Host share', kind: 'share', hasBar: true, meaning: 'Share of the host threads’ time.' },
      times[2]!, times[0]!,
      { id: 'occurrences', title: 'Count', kind: 'count' },
      times[3]!,
      ...rates,
      { id: 'gpu_tensorcore_utilization', title: 'Tensor cores', kind: 'share', meaning: 'Share of its kernels’ time on tensor cores.' },
      { id: 'eager', title: 'Mode', kind: 'text' },
    ],
  },
}

const isBlank = (value: Cell | undefined) => value === null || value === undefined || value === '' || value === 0

/** A cell in the unit of its column. */
export function toolCell(row: ToolRow, { id, scale = 1 }: ToolColumn): Cell {
  const value = row[id] ?? null
  return typeof value === 'number' ? value * scale : value
}

/** What tells rows of a tool's table apart: their rank where they have one, otherwise all their texts. */
export function toolRowKey(row: ToolRow): FigureKey {
  if (typeof row.rank === 'number') return { rank: row.rank }
  return Object.fromEntries(Object.entries(row).filter(([, value]) => typeof value === 'string'))
}

/** The columns that have values. */
export function toolColumns(spec: Pick<TableSpec, 'key' | 'columns'>, rows: readonly ToolRow[], group?: string): TableColumn<ToolRow>[] {
  return spec.columns
    .filter(({ id, kind }) => id === spec.key || kind === 'id' || rows.some((row) => !isBlank(row[id])))
    .map((column) => ({
      key: column.id, title: column.title, kind: column.kind, meaning: column.meaning, hasBar: column.hasBar, isWide: column.isWide,
      value: (row) => toolCell(row, column), figure: group && column.kind !== 'text' ? `${group}.${column.id}` : undefined,
    }))
}

export interface Part {
  name: string
  value: number // ns
  isRest?: boolean
}

const MAX_PARTS = 8
const MAX_REST = 0.67 // more says nothing

/** The time by a column's value, the largest first; the rest is one part. None when the rest is most of it. */
export function timeParts(rows: readonly ToolRow[], spec: TableSpec, id: string): Part[] {
  const sums = new Map<string, number>()
  for (const row of rows) {
    const name = String(row[id] ?? '') || '(none)'
    sums.set(name, (sums.get(name) ?? 0) + Number(row[spec.time] ?? 0) * spec.timeScale)
  }
  const sorted = [...sums].map(([name, value]) => ({ name, value })).filter(({ value }) => value > 0).sort((a, b) => b.value - a.value)
  const rest = sorted.slice(MAX_PARTS)
  if (rest.length < 2) return sorted
  const sum = (parts: Part[]) => parts.reduce((all, part) => all + part.value, 0)
  if (sum(rest) > MAX_REST * sum(sorted)) return []
  return [...sorted.slice(0, MAX_PARTS), { name: `${rest.length} others`, value: sum(rest), isRest: true }]
}

/** The query of the charts of a page: parts of the time by each column, of the rows that are chosen. */
export function partsQuery(query: string, spec: TableSpec, chosen: readonly [string, string][]): string {
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`
  const where = chosen.map(([id, value]) => ` AND "${id}" = ${text(value)}`).join('')
  const parts = spec.parts.map(({ id }) =>
    `SELECT ${text(id)} AS chart, coalesce(nullif("${id}"::VARCHAR, ''), '(none)') AS name, ${spec.timeScale} * sum("${spec.time}") AS ns ` +
    `FROM shown GROUP BY 1, 2 HAVING ns > 0`)
  return `WITH shown AS (SELECT * FROM (\n${query}\n) WHERE true${where}),
part AS (${parts.join(' UNION ALL ')}),
ranked AS (SELECT *, row_number() OVER (PARTITION BY chart ORDER BY ns DESC) AS place, count(*) OVER (PARTITION BY chart) AS parts FROM part)
SELECT chart, CASE WHEN place > ${MAX_PARTS} AND parts > ${MAX_PARTS} + 1 THEN parts - ${MAX_PARTS} || ' others' ELSE name END AS part, sum(ns) AS time_ns,
    sum(ns) / sum(sum(ns)) OVER (PARTITION BY chart) AS share
FROM ranked
GROUP BY 1, 2`
}

/** The values of a column, in order. */
export function valuesOf(rows: readonly ToolRow[], id: string): string[] {
  return [...new Set(rows.map((row) => String(row[id] ?? '')).filter(Boolean))].sort()
}

const KINDS: [RegExp, CellKind, number][] = [[/_ns$/, 'ns', 1], [/(_us|Us)$/, 'ns', 1e3], [/(_ms|Ms)$/, 'ns', 1e6], [/_bytes$/, 'bytes', 1], [/percent$/i, 'percent', 1]]

/** Columns of a table of which nothing but the ids is known: these tell units. */
export function anyColumns(rows: readonly ToolRow[], group?: string): TableColumn<ToolRow>[] {
  return Object.keys(rows[0] ?? {}).map((id, at) => {
    const isNumber = rows.some((row) => typeof row[id] === 'number')
    const [, kind, scale] = (isNumber && KINDS.find(([end]) => end.test(id))) || [null, isNumber ? ('number' as const) : ('text' as const), 1]
    const title = id.replace(/(_ns|_us|_ms|_bytes|_percent)$/, '').replaceAll('_', ' ')
    return {
      key: id, title: title[0]!.toUpperCase() + title.slice(1), kind, isWide: at === 0 && !isNumber, value: (row) => toolCell(row, { id, title, kind, scale }),
      figure: group && isNumber ? `${group}.${id}` : undefined,
    }
  })
}

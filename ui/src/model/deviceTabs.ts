// Tabs of device profiles that are a table each: what they ask for, and their columns by the schema.
import type { SqlResponse, TableInfo } from './api'
import { fieldName } from './details'
import { figure, type Words } from './figures'
import { formatCount } from './numbers'
import type { HasTable } from './sql'
import { isIdentifier, type CellKind, type TableColumn } from './tables'
import { formatNs } from './time'
import type { Tab } from './view'

export interface TableView {
  key: string
  title: string
  table: string // that it needs, and whose schema describes the columns
  sql: string // "{Table}" stands for the rows of the chosen rank
  joined?: string // table that it has columns of as well
  keys?: string[] // that tell rows apart, where they are not rows of the table
  isRecord?: boolean // one row, shown as a list of its fields
  sort?: string
  bars?: string[] // columns with bars
  names?: 'tensor' | 'queue' | 'collective' | 'rank' // what a row is about: a click shows it
  note?: (rows: Record<string, unknown>[]) => Words // what the rows tell, in a sentence
  figures?: string // query of the page's own figures; default: `sql`
  empty: string
}

interface RankRow {
  rank: number
  collective_count: number
  came_last_count: number
  held_up_ns: number
  is_slowest: boolean
}

/** The rank that holds up the others. */
export function slowestRank(rows: readonly RankRow[]): Words {
  const slowest = rows.find((row) => row.is_slowest)
  if (!slowest) return 'No rank waited for another.'
  const each = slowest.held_up_ns / Math.max(1, rows.length - 1)
  const of = (id: string, text: string) => figure(id, text, { rank: slowest.rank })
  return [
    `Rank ${slowest.rank} is the slowest: it arrived last at `, of('table.RankSummary.came_last_count', formatCount(slowest.came_last_count)), ' of ',
    of('table.RankSummary.collective_count', formatCount(slowest.collective_count)), ' collectives, and the others waited ',
    of('table.RankSummary.held_up_ns', formatNs(slowest.held_up_ns)), ' for it, ', of('page.ranks.held_up_each_ns', formatNs(each)), ' each on average.',
  ]
}

const VIEWS: Partial<Record<Tab, TableView[]>> = {
  ranks: [
    {
      key: 'ranks', title: 'Ranks', table: 'RankSummary', joined: 'Summary', names: 'rank', sort: 'held_up_ns', bars: ['held_up_ns', 'waited_ns', 'total_time_ns'],
      sql: `SELECT r.rank, held_up_ns, waited_ns, came_last_count, collective_count, total_time_ns, neuron_device_idx, neuroncore_idx, is_slowest,
        tensor_engine_active_time_percent, dma_active_time_percent, cc_op_active_time_percent, mfu_estimated_percent
        FROM RankSummary r LEFT JOIN Summary s ON s.rank = r.rank ORDER BY r.rank`,
      figures: 'SELECT rank, held_up_ns / greatest(1, count(*) OVER () - 1) AS held_up_each_ns FROM RankSummary',
      note: (rows) => slowestRank(rows as unknown as RankRow[]), empty: 'The ranks have nothing in common.',
    },
    {
      key: 'skew', title: 'Collectives across ranks', table: 'CollectiveSkew', names: 'collective', sort: 'skew_ns', bars: ['skew_ns', 'waited_ns'],
      sql: `SELECT k.operation, skew_ns, waited_ns, last_rank, rank_count, k.start_ts, min(c.duration_ns) AS shortest_ns, max(c.duration_ns) AS longest_ns,
          max(c.algorithm) AS algorithm, max(c.output_size) AS output_size, k.replica_group_id, k.op_id, k.occurrence, k.execution_index,
          min(CASE WHEN c.rank = last_rank THEN c.id END) AS event_id
        FROM CollectiveSkew k LEFT JOIN (SELECT *, row_number() OVER (PARTITION BY rank, execution_index, op_id ORDER BY start_ts) - 1 AS occurrence FROM CcOp) c
          ON c.op_id = k.op_id AND c.execution_index = k.execution_index AND c.occurrence = k.occurrence
            AND (k.operation = 'Permute' OR coalesce(c.replica_group_id, 0) = k.replica_group_id)
        GROUP BY ALL ORDER BY skew_ns DESC, k.start_ts`,
      empty: 'No collective involves more than one profiled rank.',
    },
  ],
  tensors: [
    {
      key: 'tensors', title: 'Tensors', table: 'TensorInfo', sql: 'SELECT * EXCLUDE (node, pcore_idx), node, pcore_idx FROM {TensorInfo}', sort: 'size', bars: ['size', 'load_to_sbuf_total_size_bytes'],
      names: 'tensor', empty: 'The profile has no tensors.',
    },
  ],
  queues: [
    {
      key: 'queues', title: 'DMA queues', table: 'DmaQueuesInfo', keys: ['name'], names: 'queue', sort: 'transfer_bytes', bars: ['transfer_bytes', 'transfer_time_ns'],
      sql: `SELECT q.*, coalesce(transfers, 0) AS transfers, t.* EXCLUDE (queue_name, transfers) FROM (SELECT name, any_value(type) AS type,
          min(engine_idx) || '–' || max(engine_idx) AS engine_idx FROM {DmaQueuesInfo} GROUP BY name) q
        LEFT JOIN (SELECT queue_name, count(*) AS transfers, sum(transfer_bytes)::DOUBLE AS transfer_bytes, avg(transfer_bytes) AS average_bytes,
          sum(duration_ns)::DOUBLE AS transfer_time_ns, sum(transfer_bytes)::DOUBLE * 1e9 / nullif(sum(duration_ns), 0) AS throughput
          FROM {DmaPacketAggregated} GROUP BY queue_name) t ON t.queue_name = q.name ORDER BY transfer_bytes DESC NULLS LAST, name`,
      empty: 'The program has no DMA queues.',
    },
    { key: 'rings', title: 'Queue rings', table: 'DmaQueuesInfo', sql: 'SELECT * FROM {DmaQueuesInfo}', names: 'queue', empty: 'The program has no DMA queues.' },
  ],
  memory: [
    {
      key: 'hbm', title: 'HBM by use', table: 'HbmUsageSummaryByType', sort: 'usage_bytes', bars: ['usage_bytes'], empty: 'This profile does not record what is in HBM.',
      sql: 'SELECT usage_type, usage_bytes, neuron_device_idx, neuroncore_idx FROM {HbmUsageSummaryByType}',
    },
  ],
  neff: [
    { key: 'header', title: 'Header', table: 'NeffHeader', sql: 'SELECT * FROM {NeffHeader}', isRecord: true, empty: 'The profile has no NEFF header.' },
    {
      key: 'nodes', title: 'Nodes', table: 'TensorInfo', names: 'tensor', sort: 'size', bars: ['size'], empty: 'The program has no nodes.',
      sql: "SELECT variable_name, type, shape, format, size, node FROM {TensorInfo} WHERE type IN ('IN', 'OUT', 'WEIGHT')",
    },
    { key: 'model', title: 'Model and hardware', table: 'Metadata', sql: 'SELECT * FROM {Metadata}', isRecord: true, empty: 'The profile has no metadata.' },
    { key: 'runs', title: 'Executions', table: 'ExecutionInfo', sql: 'SELECT * FROM {ExecutionInfo}', empty: 'The profile lists no executions.' },
  ],
  terms: [{ key: 'terms', title: 'Metrics', table: 'Summary', sql: 'SELECT * FROM {Summary}', isRecord: true, empty: 'The profile has no metrics.' }],
}

export function tableViews(tab: Tab, has: HasTable): TableView[] {
  const all = VIEWS[tab] ?? []
  const known = all.filter((view) => has(view.table))
  return known.length > 0 ? known : all.slice(0, 1)
}

/** The query for a rank; tables without ranks have the rows of all. */
export function ofRank(sql: string, rank: number | null, hasRank: (table: string) => boolean): string {
  return sql.replaceAll(/\{(\w+)\}/g, (_, table: string) =>
    rank === null || !hasRank(table) ? table : `(SELECT * EXCLUDE (rank) FROM ${table} WHERE rank = ${rank})`)
}

const UNITS: Record<string, CellKind> = { s: 's', ns: 'ns', B: 'bytes', 'B/s': 'rate', '%': 'percent', fraction: 'share', flop: 'flops', GHz: 'GHz' }
const ENDINGS: [RegExp, CellKind][] = [
  [/_ns$/, 'ns'], [/(_|^)(bytes|size)$/, 'bytes'], [/^throughput$/, 'rate'], [/_percent$/, 'share'], [/flops$/, 'flops'], [/count$|^(transfers|engines)$/, 'count'],
]

/** How a column's numbers are shown: by its unit, else by its name. */
export function columnKind(name: string, unit: string): CellKind {
  return UNITS[unit] ?? (isIdentifier(name) ? 'id' : (ENDINGS.find(([ending]) => ending.test(name))?.[1] ?? 'number'))
}

/** Columns of an answer, described by the schemas of its tables; numbers that no table has are figures of the page. Columns without any
    value are left out. */
export function schemaColumns(response: SqlResponse, tables: readonly TableInfo[], { key, bars = [] }: Pick<TableView, 'key' | 'bars'>): TableColumn<unknown[]>[] {
  const columns: TableColumn<unknown[]>[] = []
  response.columns.forEach(({ name, kind }, at) => {
    if (response.rows.length > 0 && response.rows.every((row) => row[at] === null || row[at] === '')) return
    const table = tables.find((one) => one.columns.some((column) => column.name === name))
    const schema = table?.columns.find((one) => one.name === name)
    columns.push({
      key: name, title: fieldName(name), kind: kind === 'number' ? columnKind(name, schema?.unit ?? '') : 'text', hasBar: bars.includes(name),
      value: (row) => (typeof row[at] === 'object' && row[at] !== null ? JSON.stringify(row[at]) : (row[at] as string | number | boolean | null)),
      meaning: [name, schema?.meaning].filter(Boolean).join(': '), figure: kind === 'number' ? `${table ? `table.${table.name}` : `page.${key}`}.${name}` : undefined,
    })
  })
  return columns
}

/** A field of a record with its value and what it means. */
export interface RecordRow {
  name: string
  value: string | number | boolean | null
  kind: CellKind
  meaning: string
  formula: string
}

export function recordRows(response: SqlResponse, table: TableInfo | undefined): RecordRow[] {
  const row = response.rows[0] ?? []
  return response.columns.map(({ name, kind }, column) => {
    const schema = table?.columns.find((one) => one.name === name)
    const value = row[column]
    return {
      name, value: typeof value === 'object' ? (value && JSON.stringify(value)) : (value as RecordRow['value']),
      meaning: schema?.meaning ?? '', formula: schema?.formula ?? '', kind: kind === 'number' ? columnKind(name, schema?.unit ?? '') : 'text',
    }
  })
}

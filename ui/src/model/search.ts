// Search syntax: examples, completion of fields and of their values; what was found, by kind.
import type { KindTotal, SearchResponse, TableInfo } from './api'
import { formatCount } from './numbers'
import { sqlName, sqlText } from './sql'

export const EXAMPLES: { query: string; description: string }[] = [
  { query: 'fusion', description: 'name contains “fusion”' },
  { query: 'name:fusion*', description: 'name matches a pattern with the wildcards * and ?' },
  { query: 'duration>10us', description: 'longer than 10 µs; also <, <=, >= with ps, ns, us, ms, s' },
  { query: 'layer~attn', description: 'framework operation contains “attn”' },
  { query: 'size>=1MiB', description: 'sizes in B, KB, MB, GB, KiB, MiB, GiB' },
  { query: 'core:0', description: 'number equals 0' },
  { query: 'name:"two words"', description: 'value with spaces' },
  { query: 'opcode:MATMUL duration>10us layer~attn', description: 'all conditions must match' },
]

/** Aliases for columns of several tables. */
export const FIELD_ALIASES = [
  'name', 'duration', 'start', 'end', 'core', 'device', 'stream', 'layer', 'size', 'thread', 'process', 'host', 'source', 'step',
  'worker', 'module', 'file', 'line', 'function', 'attributes', 'queue', 'tensor', 'hlo', 'flops',
]

/** Tables whose columns are search fields. */
export const SEARCHED_TABLES = [
  'SystemProfileEvents', 'HloRun', 'GpuKernel', 'GpuCopy', 'Collective', 'MemoryAllocation', 'CounterSample', 'HloOperation', 'HloModule',
  'Step', 'PythonFrame', 'Instruction', 'DmaPacketAggregated', 'CcOp',
]

const MAX_COMPLETIONS = 8

/** The word before the cursor. */
export function wordAt(text: string, cursor: number): { from: number; word: string } {
  const from = Math.max(text.lastIndexOf(' ', cursor - 1), text.lastIndexOf('"', cursor - 1)) + 1
  return { from, word: text.slice(from, cursor) }
}

/** Fields that start with the word, then fields that contain it; none once the word has an operator. */
export function completions(fields: string[], word: string): string[] {
  if (!word || /[:~<>="]/.test(word)) return []
  const lower = word.toLowerCase()
  const begins = fields.filter((field) => field.startsWith(lower) && field !== lower)
  const contains = fields.filter((field) => !field.startsWith(lower) && field.includes(lower))
  return [...begins, ...contains].slice(0, MAX_COMPLETIONS)
}

/** A condition that is being typed: `layer~att`, `name:"two wo`. */
export interface TypedValue {
  from: number // where the condition starts
  field: string
  relation: string
  value: string
}

export function typedValue(text: string, cursor: number): TypedValue | null {
  const match = /(?:^|\s)(\w+)([:~])(?:"([^"]*)|([^\s"]*))$/.exec(text.slice(0, cursor))
  if (!match) return null
  const [whole, field, relation, quoted, plain] = match
  return { from: match.index + (/^\s/.test(whole) ? 1 : 0), field: field!.toLowerCase(), relation: relation!, value: quoted ?? plain ?? '' }
}

/** Where the values of fields are listed without reading all events; other fields are columns of the searched tables. */
const VALUE_COLUMNS: Record<string, [table: string, column: string][]> = {
  name: [['EventType', 'name'], ['HloRun', 'name']],
  layer: [['HloOperation', 'op_name'], ['FrameworkNode', 'node_name']],
  module: [['HloModule', 'name']],
  host: [['Track', 'instance_id']],
  source: [['SystemProfileEvents', 'trace_event_source']],
  stream: [['SystemProfileEvents', 'framework_stream_id']],
  file: [['HloOperation', 'source_file'], ['GpuKernel', 'source_file'], ['PythonFrame', 'file_path']],
  function: [['PythonFrame', 'function_name']],
  queue: [['DmaQueuesInfo', 'name']],
  tensor: [['TensorInfo', 'variable_name']],
  hlo: [['HloInstruction', 'hlo_name']],
  opcode: [['OpcodeSummary', 'opcode']],
}

const MAX_VALUES = 8

/** Values of a field that contain the text, those that begin with it first; null for fields without texts. */
export function valuesSql({ field, value }: TypedValue, tables: readonly TableInfo[]): string | null {
  const column = (table: TableInfo, name: string) => table.columns.find((one) => one.name === name)
  const listed = VALUE_COLUMNS[field]?.filter(([table, name]) => tables.some((one) => one.name === table && one.rows > 0 && column(one, name)))
  const own = tables
    .filter((table) => table.rows > 0 && SEARCHED_TABLES.includes(table.name) && column(table, field)?.type === 'string')
    .map((table): [string, string] => [table.name, field])
  const places = listed ?? own
  if (places.length === 0) return null
  const sets = places.map(([table, name]) => `SELECT ${sqlName(name)}::VARCHAR AS v FROM ${sqlName(table)}`)
  const text = sqlText(value.replace(/[*?]+$/, '').toLowerCase())
  return (
    `SELECT v FROM (${sets.join(' UNION ALL ')}) WHERE v <> '' AND length(v) < 200 AND contains(lower(v), ${text}) ` +
    `GROUP BY v ORDER BY starts_with(lower(v), ${text}) DESC, length(v), v LIMIT ${MAX_VALUES}`
  )
}

/** The condition with a suggested value. */
export function withValue({ field, relation }: TypedValue, value: string): string {
  const isPlain = /^[^\s"*?\\]+$/.test(value)
  return `${field}${relation}${isPlain ? value : `"${value.replaceAll(/[\\"]/g, '\\$&')}"`}`
}

/** A search condition for an exact value. The wildcards * and ? are not escaped: they match themselves, too. */
export function exactMatch(field: string, value: string | number): string {
  return typeof value === 'number' ? `${field}:${value}` : `${field}:"${value.replaceAll(/[\\"]/g, '\\$&')}"`
}

/** A condition that matches exactly this name. */
export function queryForName(name: string): string {
  return exactMatch('name', name)
}

const KIND_TITLES: Record<string, string> = {
  host: 'Host', stream: 'Streams', ops: 'Operations', modules: 'Modules', steps: 'Steps', async: 'Asynchronous operations', counter: 'Counters',
  plain: 'Device rows', aside: 'Other rows',
}

/** What was found on tracks of one kind. */
export interface FoundKind extends Pick<KindTotal, 'kind' | 'count' | 'total_ns'> {
  title: string
  names: SearchResponse['names']
}

/** Kinds of tracks with what was found on them. A kernel, its operation and its module are the same work on tracks of different kinds,
 * so that shares are of the time of one kind. */
export function foundKinds(response: SearchResponse): FoundKind[] {
  const kinds = new Map<string | null, FoundKind>()
  for (const { kind, count, total_ns } of response.kinds) {
    const found = kinds.get(kind)
    if (found) {
      found.count += count
      found.total_ns += total_ns
    } else {
      const title = KIND_TITLES[kind ?? ''] ?? kind ?? 'Other rows'
      kinds.set(kind, { kind, title, count, total_ns, names: response.names.filter((name) => name.kind === kind) })
    }
  }
  return [...kinds.values()]
}

/** Queries over the server's, by the group of their figures. */
export function searchQueries({ query }: SearchResponse): [group: string, sql: string][] {
  const time = 'sum(duration_ps)::DOUBLE / 1000'
  return [
    ['page.search', `SELECT count(*) AS count FROM (${query})`],
    ['page.search.kinds', `SELECT kind, count(*) AS count, ${time} AS total_ns FROM (${query}) GROUP BY kind`],
    ['page.search.names',
      `SELECT kind, name, count(*) AS count, ${time} AS total_ns, ${time} / nullif(sum(${time}) OVER (PARTITION BY kind), 0) AS share\n` +
      `FROM (${query}) GROUP BY kind, name ORDER BY total_ns DESC, name`],
  ]
}

/** "240 events found: Streams 120, Operations 120". */
export function describeFound(response: SearchResponse): string {
  const all = `${formatCount(response.count)} events found`
  const kinds = foundKinds(response)
  return kinds.length < 2 ? all : `${all}: ${kinds.map(({ title, count }) => `${title} ${formatCount(count)}`).join(', ')}`
}

// Operations of a profile: the queries for each kind of profile, and grouping into trees.
import type { EventTable } from './api'
import type { HasTable } from './sql'

export interface Operation {
  name: string
  event_name: string // name of its events on the timeline
  kind: string | null
  layer: string | null
  module: string | null
  file: string | null
  line: number | null
  count: number
  total_ns: number
  self_ns: number | null // null in profiles of earlier versions
  min_ns: number
  max_ns: number
  first_id: number
}

export interface OperationSource {
  key: string
  title: string
  table: EventTable
  kindTitle: string
  hasLayers: boolean
  isSearchable: boolean // opcodes, layers, modules and source lines are search fields
  sql: string
}

const SUMS = 'count(*) AS count, sum(ps)::DOUBLE / 1000 AS total_ns, sum(self)::DOUBLE AS self_ns, min(ps)::DOUBLE / 1000 AS min_ns, max(ps)::DOUBLE / 1000 AS max_ns'

const PICOSECONDS = 'v.duration_ns::HUGEINT * 1000 + v.duration_fraction_ps'
// A TPU's operations also have the time on its own clock, which the conversion to the host's clock did not stretch.
const PICOSECONDS_ON_DEVICE = `coalesce(try_cast(v.extra_attributes_json->>'$.device_duration_ps' AS HUGEINT), ${PICOSECONDS})`

/** The time of a run is that of its kernels; profiles of earlier versions have only its length, pauses included. */
function runsSql(has: HasTable, hasKernelTime: boolean): string {
  const time = hasKernelTime ? 'kernel_ns' : 'duration_ns'
  const operations = has('HloOperation')
  const modules = has('HloModule')
  return (
    `SELECT r.name, r.name AS event_name, ${operations ? 'o.opcode AS kind, o.op_name AS layer' : 'NULL AS kind, NULL AS layer'}, ` +
    `${modules ? 'm.name' : 'NULL'} AS module, ${operations ? 'o.source_file AS file, o.source_line AS line' : 'NULL AS file, NULL AS line'}, ` +
    `r.* EXCLUDE (name, module_id, operation_id) FROM (SELECT name, module_id, operation_id, ${SUMS}, arg_min(id, start_ts) AS first_id ` +
    `FROM (SELECT *, ${time}::HUGEINT * 1000 AS ps, ${time} AS self FROM HloRun WHERE kind = 'operation') GROUP BY ALL) r` +
    (operations ? ' LEFT JOIN HloOperation o ON o.id = r.operation_id' : '') +
    (modules ? ' LEFT JOIN HloModule m ON m.id = r.module_id' : '') +
    ' ORDER BY total_ns DESC, name'
  )
}

/** Events by name; event types that differ only in their core are one operation. */
function eventsSql(has: HasTable, hasSelf: boolean, where: string, ps = PICOSECONDS): string {
  const modules = has('HloModule')
  return (
    `SELECT coalesce(nullif(t.display_name, ''), e.name) AS name, e.name AS event_name, ` +
    `coalesce(t.attributes_json->>'$.hlo_category', t.attributes_json->>'$.cat', e.source) AS kind, ` +
    `rtrim(t.attributes_json->>'$.tf_op', ':') AS layer, ${modules ? 'm.name' : 'NULL'} AS module, ` +
    `nullif(regexp_extract(t.attributes_json->>'$.source', '^(.*):([0-9]+)$', 1), '') AS file, ` +
    `try_cast(nullif(regexp_extract(t.attributes_json->>'$.source', '^(.*):([0-9]+)$', 2), '') AS BIGINT) AS line, ` +
    `sum(e.count)::BIGINT AS count, sum(e.total_ns) AS total_ns, sum(e.self_ns) AS self_ns, min(e.min_ns) AS min_ns, max(e.max_ns) AS max_ns, ` +
    `arg_min(e.first_id, e.first_ts) AS first_id FROM ` +
    `(SELECT name, event_type_id, trace_event_source AS source, ${SUMS}, min(start_ts) AS first_ts, arg_min(id, start_ts) AS first_id FROM ` +
    `(SELECT v.name, v.event_type_id, v.trace_event_source, v.id, v.start_ts, ${ps} AS ps, ` +
    `${hasSelf ? 'v.self_ns' : 'NULL::BIGINT'} AS self ` +
    `FROM SystemProfileEvents v JOIN Track k ON k.id = v.track_id JOIN EventType y ON y.id = v.event_type_id ` +
    `WHERE v.occurrence_count IS NULL AND ${where}) GROUP BY ALL) e JOIN EventType t ON t.id = e.event_type_id` +
    (modules ? ` LEFT JOIN HloModule m ON m.label = m.name || '(' || (t.attributes_json->>'$.program_id') || ')'` : '') +
    ' GROUP BY ALL ORDER BY total_ns DESC, name'
  )
}

/** The available sources, most specific first. */
export function operationSources(
  has: HasTable, hasColumn: (table: string, column: string) => boolean, hasLane: (role: string) => boolean, isKineto: boolean,
): OperationSource[] {
  const hasSelf = hasColumn('SystemProfileEvents', 'self_ns')
  const sources: OperationSource[] = []
  const events = (key: string, title: string, kindTitle: string, where: string, hasLayers = false, ps = PICOSECONDS) =>
    sources.push({
      key, title, kindTitle, hasLayers, table: 'SystemProfileEvents', isSearchable: false, sql: eventsSql(has, hasSelf, where, ps),
    })
  if (has('HloRun'))
    sources.push({
      key: 'hlo', title: 'HLO operations', kindTitle: 'Opcode', hasLayers: true, table: 'HloRun', isSearchable: true,
      sql: runsSql(has, hasColumn('HloRun', 'kernel_ns')),
    })
  if (hasLane('ops')) events('ops', 'XLA operations', 'Category', "k.role = 'ops'", true, PICOSECONDS_ON_DEVICE)
  if (hasLane('async')) events('async', 'Asynchronous operations', 'Category', "k.role = 'async'", true)
  if (isKineto) events('framework', 'PyTorch operators', 'Category', "(y.attributes_json->>'$.cat') = 'cpu_op'")
  events('host', 'Host events', 'Kind', "v.nc_idx IS NULL AND k.role IS DISTINCT FROM 'counter'")
  events('all', 'All events', 'Kind', "k.role IS DISTINCT FROM 'counter'")
  return sources
}

export const GROUPS = ['operation', 'layer', 'kind', 'module', 'file'] as const
export type Group = (typeof GROUPS)[number]

export interface OperationNode {
  key: string
  name: string
  operation: Operation | null // leaves only
  count: number
  total_ns: number
  self_ns: number | null
  min_ns: number
  max_ns: number
  first_id: number
  path: string // the common value of the group
  children: OperationNode[]
}

function leaf(operation: Operation, key: string): OperationNode {
  const { name, count, total_ns, self_ns, min_ns, max_ns, first_id } = operation
  return { key, name, operation, count, total_ns, self_ns, min_ns, max_ns, first_id, path: '', children: [] }
}

function branch(key: string, name: string, path: string): OperationNode {
  return { key, name, operation: null, count: 0, total_ns: 0, self_ns: null, min_ns: Infinity, max_ns: 0, first_id: -1, path, children: [] }
}

function accumulate(node: OperationNode, operation: Operation): void {
  // Rows are sorted by time: the first event of a group belongs to its largest operation.
  if (node.first_id < 0) node.first_id = operation.first_id
  node.count += operation.count
  node.total_ns += operation.total_ns
  if (operation.self_ns !== null) node.self_ns = (node.self_ns ?? 0) + operation.self_ns
  node.min_ns = Math.min(node.min_ns, operation.min_ns)
  node.max_ns = Math.max(node.max_ns, operation.max_ns)
}

/** "jit(f)/a(b/c)/d" → jit(f), a(b/c), d: slashes in brackets do not separate. */
export function splitLayer(layer: string): string[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < layer.length; at++) {
    const letter = layer[at]
    if (letter === '(' || letter === '[') depth++
    else if (letter === ')' || letter === ']') depth = Math.max(0, depth - 1)
    else if (letter === '/' && depth === 0) {
      parts.push(layer.slice(from, at))
      from = at + 1
    }
  }
  parts.push(layer.slice(from))
  return parts.filter(Boolean)
}

function groupPath(operation: Operation, group: Group): { steps: string[]; paths: string[] } {
  if (group === 'layer') {
    const steps = operation.layer ? splitLayer(operation.layer) : ['(no layer)']
    return { steps, paths: steps.map((_, at) => (operation.layer ? steps.slice(0, at + 1).join('/') : '')) }
  }
  if (group === 'file') {
    if (!operation.file) return { steps: ['(no source)'], paths: [''] }
    return { steps: [operation.file, `line ${operation.line}`], paths: [operation.file, String(operation.line)] }
  }
  const value = operation[group as 'kind' | 'module']
  return { steps: [value ?? `(no ${group})`], paths: [value ?? ''] }
}

export function groupOperations(operations: readonly Operation[], group: Group): OperationNode[] {
  if (group === 'operation') return operations.map((operation, at) => leaf(operation, String(at)))
  const top: OperationNode[] = []
  const known = new Map<string, OperationNode>()
  operations.forEach((operation, at) => {
    const { steps, paths } = groupPath(operation, group)
    let level = top
    let key = ''
    steps.forEach((step, depth) => {
      key += `\0${step}`
      let node = known.get(key)
      if (!node) {
        node = branch(key, step, paths[depth]!)
        known.set(key, node)
        level.push(node)
      }
      accumulate(node, operation)
      level = node.children
    })
    level.push(leaf(operation, String(at)))
  })
  return top
}

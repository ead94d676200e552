// Operations of a profile: the queries for each kind of profile, and grouping into trees.
import type { EventTable } from './api'
import type { HasTable } from './sql'

export interface Operation {
  id: number // the lowest of its events'
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
  share: number | null
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

const SUMS = 'min(id) AS id, count(*) AS count, sum(ps)::DOUBLE / 1000 AS total_ns, sum(self)::DOUBLE AS self_ns, min(ps)::DOUBLE / 1000 AS min_ns, max(ps)::DOUBLE / 1000 AS max_ns'

const PICOSECONDS = 'v.duration_ns::HUGEINT * 1000 + v.duration_fraction_ps'
// A TPU's operations also have the time on its own clock, which the conversion to the host's clock did not stretch.
const PICOSECONDS_ON_DEVICE = `coalesce(try_cast(v.extra_attributes_json->>'$.device_duration_ps' AS HUGEINT), ${PICOSECONDS})`

/** With the share of each row: of the self time of all, or of the total time in profiles of earlier versions. */
function withShares(sql: string): string {
  const share = (time: string) => `${time} / nullif(sum(${time}) OVER (), 0)`
  return (
    `SELECT *, total_ns / count AS mean_ns, CASE WHEN count(self_ns) OVER () > 0 THEN ${share('self_ns')} ELSE ${share('total_ns')} END AS share ` +
    `FROM (${sql}) ORDER BY total_ns DESC, name`
  )
}

/** The time of a run is that of its kernels; profiles of earlier versions have only its length, pauses included. */
function runsSql(has: HasTable, hasKernelTime: boolean): string {
  const time = hasKernelTime ? 'kernel_ns' : 'duration_ns'
  const operations = has('HloOperation')
  const modules = has('HloModule')
  return withShares(
    `SELECT r.name, r.name AS event_name, ${operations ? 'o.opcode AS kind, o.op_name AS layer' : 'NULL AS kind, NULL AS layer'}, ` +
    `${modules ? 'm.name' : 'NULL'} AS module, ${operations ? 'o.source_file AS file, o.source_line AS line' : 'NULL AS file, NULL AS line'}, ` +
    `r.* EXCLUDE (name, module_id, operation_id) FROM (SELECT name, module_id, operation_id, ${SUMS}, arg_min(id, start_ts) AS first_id ` +
    `FROM (SELECT *, ${time}::HUGEINT * 1000 AS ps, ${time} AS self FROM HloRun WHERE kind = 'operation') GROUP BY ALL) r` +
    (operations ? ' LEFT JOIN HloOperation o ON o.id = r.operation_id' : '') +
    (modules ? ' LEFT JOIN HloModule m ON m.id = r.module_id' : ''),
  )
}

/** Events by name; event types that differ only in their core are one operation. */
function eventsSql(has: HasTable, hasSelf: boolean, where: string, ps = PICOSECONDS): string {
  const modules = has('HloModule')
  return withShares(
    `SELECT coalesce(nullif(t.display_name, ''), e.name) AS name, e.name AS event_name, ` +
    `coalesce(t.attributes_json->>'$.hlo_category', t.attributes_json->>'$.cat', e.source) AS kind, ` +
    `rtrim(t.attributes_json->>'$.tf_op', ':') AS layer, ${modules ? 'm.name' : 'NULL'} AS module, ` +
    `nullif(regexp_extract(t.attributes_json->>'$.source', '^(.*):([0-9]+)$', 1), '') AS file, ` +
    `try_cast(nullif(regexp_extract(t.attributes_json->>'$.source', '^(.*):([0-9]+)$', 2), '') AS BIGINT) AS line, ` +
    `min(e.id) AS id, sum(e.count)::BIGINT AS count, sum(e.total_ns) AS total_ns, sum(e.self_ns) AS self_ns, min(e.min_ns) AS min_ns, max(e.max_ns) AS max_ns, ` +
    `arg_min(e.first_id, e.first_ts) AS first_id FROM ` +
    `(SELECT name, event_type_id, trace_event_source AS source, ${SUMS}, min(start_ts) AS first_ts, arg_min(id, start_ts) AS first_id FROM ` +
    `(SELECT v.name, v.event_type_id, v.trace_event_source, v.id, v.start_ts, ${ps} AS ps, ` +
    `${hasSelf ? 'v.self_ns' : 'NULL::BIGINT'} AS self ` +
    `FROM SystemProfileEvents v JOIN Track k ON k.id = v.track_id JOIN EventType y ON y.id = v.event_type_id ` +
    `WHERE v.occurrence_count IS NULL AND ${where}) GROUP BY ALL) e JOIN EventType t ON t.id = e.event_type_id` +
    (modules ? ` LEFT JOIN HloModule m ON m.label = m.name || '(' || (t.attributes_json->>'$.program_id') || ')'` : '') +
    ' GROUP BY ALL',
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
  share: number | null
  min_ns: number
  max_ns: number
  first_id: number
  path: string // the common value of the group, of a line with its file
  children: OperationNode[]
}

function leaf(operation: Operation, key: string): OperationNode {
  const { name, count, total_ns, self_ns, share, min_ns, max_ns, first_id } = operation
  return { key, name, operation, count, total_ns, self_ns, share, min_ns, max_ns, first_id, path: '', children: [] }
}

function branch(key: string, name: string, path: string): OperationNode {
  return { key, name, operation: null, count: 0, total_ns: 0, self_ns: null, share: null, min_ns: Infinity, max_ns: 0, first_id: -1, path, children: [] }
}

function accumulate(node: OperationNode, operation: Operation): void {
  // Rows are sorted by time: the first event of a group belongs to its largest operation.
  if (node.first_id < 0) node.first_id = operation.first_id
  node.count += operation.count
  node.total_ns += operation.total_ns
  if (operation.self_ns !== null) node.self_ns = (node.self_ns ?? 0) + operation.self_ns
  if (operation.share !== null) node.share = (node.share ?? 0) + operation.share
  node.min_ns = Math.min(node.min_ns, operation.min_ns)
  node.max_ns = Math.max(node.max_ns, operation.max_ns)
}

/** "jit(f)/a(b/c)/d" → jit(f), jit(f)/a(b/c), and all: slashes in brackets do not separate. */
export function layerPaths(layer: string): string[] {
  const paths: string[] = []
  let depth = 0
  for (let at = 1; at < layer.length; at++) {
    if ('(['.includes(layer[at]!)) depth++
    else if (')]'.includes(layer[at]!)) depth--
    else if (layer[at] === '/' && depth === 0) paths.push(layer.slice(0, at))
  }
  return [...paths, layer]
}

/** The groups that an operation is in, from the outermost: the name and the path of each. */
function groupPaths({ layer, file, line, kind, module }: Operation, group: Group): { name: string; path: string }[] {
  if (group === 'layer' && layer) return layerPaths(layer).map((path, at, all) => ({ name: path.slice(at > 0 ? all[at - 1]!.length + 1 : 0), path }))
  if (group === 'file' && file) return [{ name: file, path: file }, ...(line === null ? [] : [{ name: `line ${line}`, path: `${file}:${line}` }])]
  const value = group === 'kind' ? kind : group === 'module' ? module : null
  return [value ? { name: value, path: value } : { name: group === 'file' ? '(no source)' : `(no ${group})`, path: '' }]
}

export function groupOperations(operations: readonly Operation[], group: Group): OperationNode[] {
  if (group === 'operation') return operations.map((operation, at) => leaf(operation, String(at)))
  const top: OperationNode[] = []
  const known = new Map<string, OperationNode>()
  operations.forEach((operation, at) => {
    let level = top
    for (const { name, path } of groupPaths(operation, group)) {
      let node = known.get(path)
      if (!node) {
        node = branch(`\0${path}`, name, path)
        known.set(path, node)
        level.push(node)
      }
      accumulate(node, operation)
      level = node.children
    }
    level.push(leaf(operation, String(at)))
  })
  return top
}

// The paths of the groups that an operation is in, as groupPaths has them. A slash separates layers where as many brackets were closed as opened.
const letters = (of: string) => `length(regexp_replace(layer[2:place], '[^${of}]', '', 'g'))`
const separators = `[place for place in [place for place in range(2, length(layer) + 1) if layer[place] = '/'] if ${letters('(\\[')} = ${letters(')\\]')}]`
const PATHS: Record<Exclude<Group, 'operation'>, string> = {
  layer: `CASE WHEN layer <> '' THEN list_append([left(layer, place - 1) for place in ${separators}], layer) ELSE [''] END`,
  kind: "[coalesce(kind, '')]",
  module: "[coalesce(module, '')]",
  file: "CASE WHEN file <> '' THEN [path for path in [file, file || ':' || line] if path IS NOT NULL] ELSE [''] END",
}

/** The query of what the tab shows: operations by id, and groups by path. */
export function operationFiguresSql(operations: string, group: Group): string {
  const leaves = `WITH operation AS (${operations})
SELECT NULL AS path, id, count, self_ns, share, total_ns, mean_ns, min_ns, max_ns FROM operation`
  if (group === 'operation') return leaves
  return `${leaves}
UNION ALL
SELECT path, NULL, sum(count), sum(self_ns), sum(share), sum(total_ns), sum(total_ns) / sum(count), min(min_ns), max(max_ns)
FROM (SELECT *, unnest(${PATHS[group]}) AS path FROM operation) GROUP BY path`
}

// SQL over tracks in a time range: the Selection tab's totals and groups, and the flame graph's names and frames. Events are cut at the
// ends of the range.
import type { EdgeEvent } from './api'
import type { HasTable } from './sql'

export const BREAKDOWNS = ['name', 'opcode', 'layer', 'size', 'track'] as const
export type Breakdown = (typeof BREAKDOWNS)[number]

export interface TimeRange {
  from: string // picoseconds, as digits
  to: string
  tracks: readonly number[]
}

/** What the profile has. */
export interface Tables {
  has: HasTable
  hasSelf: boolean // profiles of earlier versions have no self times
}

interface Key {
  key: string
  joins: string
}

/** The grouping key of events: the first value present in their own or a related table. */
function eventKey(by: Breakdown, has: HasTable): Key {
  const hasKernels = has('GpuKernel')
  const hasOperations = hasKernels && has('HloOperation')
  const kernels = hasKernels ? ' LEFT JOIN GpuKernel k ON k.id = e.id' : ''
  const operations = hasOperations ? ' LEFT JOIN HloOperation o ON o.id = k.operation_id' : ''
  const types = ' LEFT JOIN EventType t ON t.id = e.event_type_id'
  const first = (...keys: (string | false)[]) => `coalesce(${keys.filter(Boolean).join(', ')})`
  const ofType = (name: string) => `t.attributes_json->>'$.${name}'`
  const ofEvent = (name: string) => `e.extra_attributes_json->>'$.${name}'`
  if (by === 'opcode')
    return {
      key: first(hasOperations && 'o.opcode', ofType('hlo_category'), ofType('cat'), ofEvent('opcode')),
      joins: `${kernels}${operations}${types}`,
    }
  if (by === 'layer')
    return {
      key: first(
        hasOperations && 'o.op_name', hasKernels && 'k.framework_op', `rtrim(${ofType('tf_op')}, ':')`, ofEvent('layer'),
      ),
      joins: `${kernels}${operations}${types}`,
    }
  if (by === 'size') {
    const copies = has('GpuCopy') ? ' LEFT JOIN GpuCopy c ON c.id = e.id' : ''
    const allocations = has('MemoryAllocation') ? ' LEFT JOIN MemoryAllocation a ON a.id = e.id' : ''
    return {
      key: first(copies && 'c.size_bytes', allocations && 'a.requested_bytes', `try_cast(${ofEvent('size')} AS BIGINT)`),
      joins: `${copies}${allocations}`,
    }
  }
  return { key: by === 'track' ? 'e.track_id' : 'e.name', joins: '' }
}

function runKey(by: Breakdown, has: HasTable): Key {
  const operations = has('HloOperation') ? ' LEFT JOIN HloOperation o ON o.id = e.operation_id' : ''
  if (by === 'opcode') return { key: operations ? 'o.opcode' : 'NULL', joins: operations }
  if (by === 'layer') return { key: operations ? 'o.op_name' : 'NULL', joins: operations }
  if (by === 'size') return { key: 'NULL', joins: '' }
  return { key: by === 'track' ? 'e.track_id' : 'e.name', joins: '' }
}

const START = 'e.start_ts::HUGEINT * 1000 + e.start_fraction_ps'
const LENGTH = 'e.duration_ns::HUGEINT * 1000 + e.duration_fraction_ps'

/** Whether an event overlaps the range. The condition on whole nanoseconds comes first because it lets DuckDB skip most row groups. */
function overlaps({ from, to, tracks }: TimeRange, start: string, length: string): string {
  const ns = (digits: string) => (BigInt(digits) / 1000n).toString()
  return (
    `e.start_ts <= ${ns(to)} + 1 AND e.end_ts >= ${ns(from)} - 1 AND ${start} < ${to} ` +
    `AND (${start} + ${length} > ${from} OR ${start} >= ${from}) AND e.track_id IN (${tracks.join(', ')})`
  )
}

/** An event `a` that begins after `b`, or inside it where both begin together. */
const isLater = (a: string, b: string) =>
  `(${a}.s > ${b}.s OR (${a}.s = ${b}.s AND (${a}.t < ${b}.t OR (${a}.t = ${b}.t AND ${a}.id > ${b}.id))))`

/** Events that reach over the ends of the range, with their self time inside: without what later events of the track cover. Those of
 *  streams do not nest. The server finds the same by its timeline. */
function edgesSql(range: TimeRange): string {
  const { from, to } = range
  return `WITH inside AS (
  SELECT e.id, e.track_id, ${START} AS s, ${START} + ${LENGTH} AS t
  FROM SystemProfileEvents e JOIN Track k ON k.id = e.track_id AND k.role <> 'stream'
  WHERE ${overlaps(range, START, LENGTH)} AND e.occurrence_count IS NULL
), cut AS (FROM inside WHERE s < ${from} OR t > ${to}
), covered AS (
  SELECT cut.id, greatest(i.s, ${from}) AS a, least(i.t, cut.t, ${to}) AS b
  FROM cut JOIN inside i ON i.track_id = cut.track_id AND i.s < cut.t AND ${isLater('i', 'cut')}
), new AS (
  SELECT id, greatest(0, b - greatest(a, coalesce(max(b) OVER (PARTITION BY id ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), a))) AS ps
  FROM covered
)
SELECT id, least(any_value(t), ${to}) - greatest(any_value(s), ${from}) - coalesce(sum(ps), 0) FROM cut LEFT JOIN new USING (id) GROUP BY id`
}

/** Events of a table that overlap the range, and their time in it, by the same rule as the server's /selection. Without `edges` the
 *  query finds them itself, which takes longer. */
function overlappingSql(
  table: 'SystemProfileEvents' | 'HloRun', range: TimeRange, { key, joins }: Key, hasSelf: boolean, edges: readonly EdgeEvent[] | null, more = '',
): string {
  const isRun = table === 'HloRun'
  const start = isRun ? 'e.start_ts::HUGEINT * 1000' : START
  const length = isRun ? 'e.duration_ns::HUGEINT * 1000' : LENGTH
  const inside = `least(${start} + ${length}, ${range.to}) - greatest(${start}, ${range.from})`
  const isWhole = `${start} >= ${range.from} AND ${start} + ${length} <= ${range.to}`
  const ofEvent = `CASE WHEN ${isWhole} THEN e.self_ns::HUGEINT * 1000 + if(e.self_ns = e.duration_ns, e.duration_fraction_ps, 0) ELSE coalesce(edge.self, ${inside}) END`
  const self = isRun ? inside : hasSelf ? ofEvent : 'NULL::HUGEINT'
  const values = edges ? `VALUES ${['(-1, 0::HUGEINT)', ...edges.map((edge) => `(${edge.id}, ${edge.self})`)].join(', ')}` : edgesSql(range)
  const edge = isRun ? '' : `\nLEFT JOIN (${values}) edge(id, self) ON edge.id = e.id`
  return (
    `SELECT ${key} AS key, ${inside} AS ps, ${self} AS self${more}\nFROM ${table} e${joins}${edge}\n` +
    `WHERE ${overlaps(range, start, length)}${isRun ? '' : ' AND e.occurrence_count IS NULL'}`
  )
}

function selectedSql(by: Breakdown, range: TimeRange, tables: Tables, edges: readonly EdgeEvent[] | null): string {
  const has = (table: string) => tables.has(table)
  const sets = [overlappingSql('SystemProfileEvents', range, eventKey(by, has), tables.hasSelf, edges)]
  if (has('HloRun')) sets.push(overlappingSql('HloRun', range, runKey(by, has), tables.hasSelf, edges))
  return sets.join('\nUNION ALL\n')
}

const inNs = (ps: string) => `round((${ps})::DOUBLE / 1000, 3)`

export function breakdownSql(by: Breakdown, range: TimeRange, tables: Tables, edges: readonly EdgeEvent[] | null): string {
  const weight = tables.hasSelf ? 'self' : 'ps'
  return (
    `SELECT key, count(*) AS count, ${inNs('sum(ps)')} AS total_ns, ${inNs('sum(self)')} AS self_ns, ${inNs('avg(ps)')} AS mean_ns, ` +
    `${inNs('max(ps)')} AS max_ns, sum(${weight})::DOUBLE / nullif(sum(sum(${weight})) OVER (), 0)::DOUBLE AS share\n` +
    `FROM (${selectedSql(by, range, tables, edges)})\nGROUP BY key\nORDER BY sum(ps) DESC, key`
  )
}

/** Totals of the range. */
export function totalsSql(range: TimeRange, tables: Tables): string {
  return (
    `SELECT (${range.to} - ${range.from}) / 1000 AS span_ns, count(*) AS event_count, ${inNs('coalesce(sum(ps), 0)')} AS total_ns, ` +
    `${inNs('sum(self)')} AS self_ns, count(DISTINCT key) AS track_count, ${range.tracks.length} AS selected_count\n` +
    `FROM (${selectedSql('track', range, tables, null)})`
  )
}

/** The flame graph's events, by part: names, when they ran, time and self time within the range, and whether they nest. Ends of flows are
 *  arrows. */
function flameEvents(parts: readonly TimeRange[], { hasSelf }: Tables): string {
  const key: Key = {
    key: 'coalesce(y.display_name, e.name)',
    joins: ' JOIN Track k ON k.id = e.track_id LEFT JOIN EventType y ON y.id = e.event_type_id',
  }
  const sets = parts.map((part, at) => {
    const more = `, ${at} AS part, e.id, e.track_id, ${START} AS s, ${START} + ${LENGTH} AS t, k.role <> 'stream' AS nests`
    return `${overlappingSql('SystemProfileEvents', part, key, hasSelf, null, more)} AND NOT (y.role IS NOT DISTINCT FROM 'flow' AND e.duration_ns = 0)`
  })
  return sets.join('\nUNION ALL\n')
}

export function flameTotalsSql(parts: readonly TimeRange[], tables: Tables): string {
  return `SELECT count(*) AS event_count FROM (${flameEvents(parts, tables)})`
}

export function flameNamesSql(parts: readonly TimeRange[], tables: Tables): string {
  return (
    `SELECT key AS name, count(*) AS count, ${inNs('sum(self)')} AS self_ns, sum(self)::DOUBLE / nullif(sum(sum(self)) OVER (), 0)::DOUBLE AS share\n` +
    `FROM (${flameEvents(parts, tables)})\nGROUP BY key\nORDER BY self_ns DESC, name`
  )
}

/** Frames of each part by the names from the outermost event on; without names it is the part, and without a part the whole. */
export function flameFramesSql(parts: readonly TimeRange[], tables: Tables): string {
  return `WITH RECURSIVE events AS MATERIALIZED (
${flameEvents(parts, tables)}
), around AS (
  SELECT i.part, i.id, arg_max(o.id, (o.s, -o.t, o.id)) AS parent
  FROM events i JOIN events o ON o.part = i.part AND o.track_id = i.track_id AND o.t >= i.t AND o.t > i.s AND o.s <= i.s AND i.nests AND ${isLater('i', 'o')}
  GROUP BY ALL
), nested AS MATERIALIZED (
  SELECT e.*, parent FROM events e LEFT JOIN around USING (part, id)
), paths AS (
  SELECT part, id, [key] AS path FROM nested WHERE parent IS NULL
  UNION ALL
  SELECT n.part, n.id, list_append(path, n.key) FROM nested n JOIN paths p ON p.part = n.part AND p.id = n.parent
), frames AS (
  SELECT part, path, count(*) AS count, sum(ps) AS ps, sum(self) AS self FROM nested JOIN paths USING (part, id) GROUP BY ALL
  UNION ALL
  SELECT part, [], count(*), sum(ps) FILTER (WHERE parent IS NULL), 0 FROM nested GROUP BY part
  UNION ALL
  SELECT NULL, [], count(*), sum(ps) FILTER (WHERE parent IS NULL), 0 FROM nested
)
SELECT part, path, count, ${inNs('ps')} AS total_ns, ps::DOUBLE / nullif(whole, 0)::DOUBLE AS share, ${inNs('self')} AS self_ns,
  self::DOUBLE / nullif(whole, 0)::DOUBLE AS self_share
FROM frames, (SELECT sum(ps) AS whole FROM nested WHERE parent IS NULL)
ORDER BY total_ns DESC`
}

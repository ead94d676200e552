// Source locations of events: stacks, time per file and line, and highlighting of Python.
import type { EventDetails, EventTable } from './api'
import type { FigureKey } from './figures'
import { sqlText, type HasTable } from './sql'

export interface Frame {
  file: string
  line: number
  function: string
}

export interface FileTime {
  file: string
  kind: 'device' | 'python' | 'stack'
  count: number
  total_ns: number
}

export interface LineTime {
  line: number
  kind: 'device' | 'python'
  count: number
  total_ns: number
  first_id: number
  table: EventTable
}

/** Its row of linesSql. */
export function lineKey({ line, kind }: LineTime): FigureKey {
  return { line, kind }
}

export function fieldOf(details: EventDetails, name: string): unknown {
  for (const group of details.groups) for (const field of group.fields) if (field.name === name) return field.value
  return undefined
}

/** Stacks as text, one frame per line: "file:line:column" of XLA, "file(line): function" of PyTorch. */
export function parseStack(text: string): Frame[] {
  const frames: Frame[] = []
  for (const line of text.split(/\n|;(?=\S)/)) {
    const torch = /^\s*(.+)\((\d+)\):\s*(.*)$/.exec(line)
    const xla = /^\s*(.+?):(\d+)(?::\d+)?\s*$/.exec(line)
    if (torch) frames.push({ file: torch[1]!, line: Number(torch[2]), function: torch[3]! })
    else if (xla) frames.push({ file: xla[1]!, line: Number(xla[2]), function: '' })
  }
  return frames
}

/** Frames from the event's own fields, innermost first; the StackFrame tables have more, where present. */
export function ownFrames(details: EventDetails): Frame[] {
  const stack = fieldOf(details, 'source_stack')
  if (typeof stack === 'string') return parseStack(stack).reverse()
  const calls = fieldOf(details, 'Call stack')
  if (typeof calls === 'string') return parseStack(calls)
  const place = sourceLocation(details)
  return place ? [{ ...place, function: String(fieldOf(details, 'function_name') ?? '') }] : []
}

/** The event's source line. */
export function sourceLocation(details: EventDetails): { file: string; line: number } | null {
  for (const group of details.groups) {
    const value = (name: string) => group.fields.find((field) => field.name === name)?.value
    const file = value('source_file') ?? value('file_path')
    const line = value('source_line') ?? value('line_number')
    if (typeof file === 'string' && line !== undefined) return { file, line: Number(line) }
  }
  const source = fieldOf(details, 'source')
  const match = typeof source === 'string' ? /^(.+):(\d+)$/.exec(source) : null
  return match ? { file: match[1]!, line: Number(match[2]) } : null
}

export function stackSql(frame: string): string {
  return (
    `WITH RECURSIVE up AS (SELECT *, 0 AS depth FROM StackFrame WHERE id = ${sqlText(frame)} ` +
    `UNION ALL SELECT f.*, up.depth + 1 FROM up JOIN StackFrame f ON f.id = up.parent_frame_id WHERE up.depth < 500) ` +
    `SELECT coalesce(n.name, '') AS file, l.line_number AS line, coalesce(c.name, '') AS function FROM up ` +
    `JOIN StackFrameFileLocation l ON l.id = up.file_location_id::VARCHAR ` +
    `LEFT JOIN StackFrameFileName n ON n.id = l.file_name_id::VARCHAR ` +
    `LEFT JOIN StackFrameFunctionName c ON c.id = l.function_name_id::VARCHAR ORDER BY up.depth`
  )
}

const TYPE_FILE = `regexp_extract(t.attributes_json->>'$.source', '^(.+):([0-9]+)$', 1)`
const TYPE_LINE = `try_cast(regexp_extract(t.attributes_json->>'$.source', '^(.+):([0-9]+)$', 2) AS BIGINT)`
const EVENT_PS = 'e.duration_ns::HUGEINT * 1000 + e.duration_fraction_ps'

/** Events with a source line, as rows of file, line, kind, table, id, start and duration. */
function locatedEventsSql(has: HasTable, hasKernelLines: boolean): string {
  const sets: string[] = []
  if (has('HloRun') && has('HloOperation'))
    sets.push(
      `SELECT o.source_file AS file, o.source_line AS line, 'device' AS kind, 'HloRun' AS tbl, r.id, r.start_ts, r.duration_ns::HUGEINT * 1000 AS ps ` +
        `FROM HloRun r JOIN HloOperation o ON o.id = r.operation_id WHERE r.kind = 'operation' AND o.source_file IS NOT NULL`,
    )
  else if (hasKernelLines)
    sets.push(
      `SELECT source_file AS file, source_line AS line, 'device' AS kind, 'SystemProfileEvents' AS tbl, id, start_ts, duration_ns::HUGEINT * 1000 AS ps ` +
        `FROM GpuKernel WHERE source_file IS NOT NULL`,
    )
  else if (has('EventType'))
    sets.push(
      `SELECT ${TYPE_FILE} AS file, ${TYPE_LINE} AS line, 'device' AS kind, 'SystemProfileEvents' AS tbl, e.id, e.start_ts, ${EVENT_PS} AS ps ` +
        `FROM SystemProfileEvents e JOIN EventType t ON t.id = e.event_type_id WHERE ${TYPE_FILE} <> '' AND e.occurrence_count IS NULL`,
    )
  if (has('PythonFrame'))
    sets.push(
      `SELECT p.file_path AS file, p.line_number AS line, 'python' AS kind, 'SystemProfileEvents' AS tbl, e.id, e.start_ts, ${EVENT_PS} AS ps ` +
        `FROM SystemProfileEvents e JOIN PythonFrame p ON p.event_type_id = e.event_type_id WHERE p.file_path IS NOT NULL AND e.occurrence_count IS NULL`,
    )
  return sets.join(' UNION ALL ')
}

const SUMS = 'count(*) AS count, sum(ps)::DOUBLE / 1000 AS total_ns'

export function filesSql(has: HasTable, hasKernelLines: boolean): string | null {
  const events = locatedEventsSql(has, hasKernelLines)
  const parts = events ? [`SELECT file, kind, ${SUMS} FROM (${events}) GROUP BY file, kind`] : []
  if (has('StackFrameFileName')) parts.push(`SELECT name AS file, 'stack' AS kind, 0 AS count, 0.0 AS total_ns FROM StackFrameFileName`)
  // Files that occur only in stacks are listed once.
  return parts.length === 0
    ? null
    : `SELECT * FROM (${parts.join(' UNION ALL ')}) QUALIFY kind <> 'stack' OR count(*) OVER (PARTITION BY file) = 1 ORDER BY kind, total_ns DESC, file`
}

export function linesSql(has: HasTable, hasKernelLines: boolean, file: string): string | null {
  const events = locatedEventsSql(has, hasKernelLines)
  return events
    ? `SELECT line, kind, tbl AS "table", ${SUMS}, arg_min(id, start_ts) AS first_id FROM (${events}) WHERE file = ${sqlText(file)} GROUP BY ALL ORDER BY line`
    : null
}

/** Token classes for syntax highlighting. */
export type TokenKind = 'plain' | 'keyword' | 'string' | 'comment' | 'number'

export interface Token {
  kind: TokenKind
  text: string
}

const KEYWORDS =
  'and as assert async await break class continue def del elif else except finally for from global if import in is lambda ' +
  'nonlocal not or pass raise return try while with yield True False None match case'
const PYTHON = new RegExp(
  [
    `(?<comment>#[^\\n]*)`,
    `(?<string>[rbfuRBFU]{0,2}(?:"""[\\s\\S]*?(?:"""|$)|'''[\\s\\S]*?(?:'''|$)|"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'?))`,
    `(?<number>\\b\\d[\\w.]*)`,
    `(?<keyword>\\b(?:${KEYWORDS.replaceAll(' ', '|')})\\b)`,
    `(?<plain>\\w+|[^\\w#"'\\n]+|\\n)`,
  ].join('|'),
  'g',
)

/** Tokens by line; a string over several lines is one token on each. */
export function tokenizePython(source: string): Token[][] {
  const lines: Token[][] = [[]]
  for (const match of source.matchAll(PYTHON)) {
    const kind = (Object.entries(match.groups!).find(([, text]) => text !== undefined)?.[0] ?? 'plain') as TokenKind
    match[0].split('\n').forEach((text, at) => {
      if (at > 0) lines.push([])
      const line = lines[lines.length - 1]!
      const last = line[line.length - 1]
      if (last?.kind === kind) last.text += text
      else if (text) line.push({ kind, text })
    })
  }
  return lines
}

export function plainLines(source: string): Token[][] {
  return source.split('\n').map((text) => (text ? [{ kind: 'plain', text }] : []))
}

// SQL for the tabs, and examples for the SQL console.

import type { Column, EventTable, SqlResponse } from './api'
import { isIdentifier, type Cell, type TableColumn } from './tables'

export type HasTable = (table: string) => boolean

export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export interface Example {
  title: string
  query: string
}

const lines = (...all: string[]) => all.join('\n')

/** Example queries for the tables that the profile has. */
export function exampleQueries(has: HasTable): Example[] {
  const all: (Example & { needs: string[] })[] = [
    {
      title: 'Names by total time', needs: ['SystemProfileEvents'],
      query: lines(
        'SELECT name, trace_event_source, count(*) AS count, sum(duration_ns) / 1e6 AS ms',
        'FROM SystemProfileEvents',
        'GROUP BY ALL',
        'ORDER BY ms DESC',
        'LIMIT 20',
      ),
    },
    {
      title: 'Longest events', needs: ['SystemProfileEvents'],
      query: lines(
        'SELECT id, name, start_ts, duration_ns, track_id',
        'FROM SystemProfileEvents',
        'ORDER BY duration_ns DESC',
        'LIMIT 20',
      ),
    },
    {
      title: 'Track utilization', needs: ['Track'],
      query: lines(
        "SELECT name, role, event_count, busy_ns / 1e6 AS busy_ms, 100 * busy_ns / (last_ts - first_ts) AS busy_percent",
        "FROM Track",
        "WHERE event_count > 0 AND last_ts > first_ts",
        "ORDER BY busy_ns DESC",
      ),
    },
    {
      title: 'Kernels by time', needs: ['GpuKernel'],
      query: lines(
        'SELECT name, count(*) AS count, sum(duration_ns) / 1e6 AS ms, avg(occupancy_percent) AS occupancy',
        'FROM GpuKernel',
        'GROUP BY name',
        'ORDER BY ms DESC',
        'LIMIT 20',
      ),
    },
    {
      title: 'Kernel launch delay', needs: ['GpuKernel', 'SystemProfileEvents'],
      query: lines(
        'SELECT k.id, k.name, (k.start_ts - e.end_ts) / 1e3 AS gap_us',
        'FROM GpuKernel k JOIN SystemProfileEvents e ON e.id = k.launch_event_id',
        'ORDER BY gap_us DESC',
        'LIMIT 50',
      ),
    },
    {
      title: 'Time by opcode', needs: ['HloRun', 'HloOperation'],
      query: lines(
        "SELECT o.opcode, count(*) AS count, sum(r.duration_ns) / 1e6 AS ms",
        "FROM HloRun r JOIN HloOperation o ON o.id = r.operation_id",
        "GROUP BY o.opcode",
        "ORDER BY ms DESC",
      ),
    },
    {
      title: 'Time by source line', needs: ['HloRun', 'HloOperation'],
      query: lines(
        'SELECT o.source_file, o.source_line, sum(r.duration_ns) / 1e6 AS ms',
        'FROM HloRun r JOIN HloOperation o ON o.id = r.operation_id',
        'GROUP BY ALL',
        'ORDER BY ms DESC',
        'LIMIT 20',
      ),
    },
    { title: 'Steps', needs: ['Step'], query: 'FROM Step ORDER BY start_ts' },
    {
      title: 'Memory copies by kind', needs: ['GpuCopy'],
      query: lines(
        'SELECT name, count(*) AS count, sum(size_bytes) / 1e6 AS MB, sum(size_bytes) / sum(duration_ns) AS GB_per_s',
        'FROM GpuCopy',
        'GROUP BY name',
        'ORDER BY MB DESC',
      ),
    },
    {
      title: 'Counters', needs: ['CounterSample'],
      query: lines(
        'SELECT name, count(*) AS samples, min(value), avg(value), max(value)',
        'FROM CounterSample',
        'GROUP BY name',
      ),
    },
  ]
  return all.filter((example) => example.needs.every(has)).map(({ title, query }) => ({ title, query }))
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? JSON.stringify(value) : (value as Cell)
}

/** Table columns of a query result, with units and descriptions where the table is known; its numbers may be figures of a group. */
export function resultColumns(response: SqlResponse, known: readonly Column[] = [], group?: string): TableColumn<unknown[]>[] {
  return response.columns.map((column, at) => {
    const schema = known.find((one) => one.name === column.name)
    const kind = column.kind !== 'number' ? 'text' : isIdentifier(column.name) ? 'id' : 'number'
    return {
      key: `${at}:${column.name}`, title: column.name, kind, showsNull: true, value: (row) => cellOf(row[at]),
      figure: group && column.kind === 'number' ? `${group}.${column.name}` : undefined,
      meaning: schema ? `${column.name}: ${schema.meaning}${schema.unit ? ` In ${schema.unit}.` : ''}` : undefined,
    }
  })
}

/** Symbols of C++ with the names they are shown under; tables of events have the symbols. */
export const READABLE_SYMBOLS =
  "(SELECT name AS symbol, any_value(display_name) AS readable FROM EventType WHERE starts_with(name, '_Z') GROUP BY name)"

const EVENT_TABLES = /\b(SystemProfileEvents|GpuKernel|GpuCopy|Collective|MemoryAllocation|CounterSample|Instruction|DmaPacketAggregated|DmaPacket|CcOp)\b/i

/** The column of a query result that holds event ids, and their table. */
export function eventColumn(query: string, names: readonly string[]): { table: EventTable; at: number } | null {
  const eventId = names.indexOf('event_id')
  if (eventId >= 0) return { table: 'SystemProfileEvents', at: eventId }
  const id = names.indexOf('id')
  if (id < 0) return null
  if (EVENT_TABLES.test(query)) return { table: 'SystemProfileEvents', at: id }
  return /\bHloRun\b/i.test(query) ? { table: 'HloRun', at: id } : null
}

export interface Page {
  filter: string
  sort: string // a column, or empty
  isDescending: boolean
  from: number
  size: number
}

function filterSql(columns: readonly Column[], filter: string): string {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return ''
  const row = `lower(concat_ws(' ', ${columns.map((column) => `${sqlName(column.name)}::VARCHAR`).join(', ')}))`
  return ` WHERE ${words.map((word) => `contains(${row}, ${sqlText(word)})`).join(' AND ')}`
}

export function pageSql(table: string, columns: readonly Column[], page: Page): string {
  const order = page.sort ? ` ORDER BY ${sqlName(page.sort)} ${page.isDescending ? 'DESC' : 'ASC'} NULLS LAST` : ''
  return `SELECT * FROM ${sqlName(table)}${filterSql(columns, page.filter)}${order} LIMIT ${page.size} OFFSET ${page.from}`
}

export function countSql(table: string, columns: readonly Column[], filter: string): string {
  return `SELECT count(*) AS rows FROM ${sqlName(table)}${filterSql(columns, filter)}`
}

/** How many rows each table has. */
export function tableRowsSql(tables: readonly { name: string }[]): string {
  return tables.map(({ name }) => `SELECT ${sqlText(name)} AS name, count(*) AS rows FROM ${sqlName(name)}`).join('\nUNION ALL ')
}

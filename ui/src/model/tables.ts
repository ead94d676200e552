// Tables as the UI shows them: what a column is, how a cell is written, sorting, filtering, trees, CSV.
import { formatBytes, formatCount, formatNumber, formatShare } from './numbers'
import { formatDuration, formatNs } from './time'

export type Cell = string | number | boolean | null

/** `id`: a number that counts nothing; `ns`, `ps`: lengths of time; `time`: a point in it, in ps; `share`: 0 to 1;
 *  `rate`: bytes a second. */
export type CellKind = 'text' | 'id' | 'number' | 'count' | 'ns' | 'ps' | 'time' | 'bytes' | 'share' | 'percent' | 'rate'

export interface TableColumn<Row> {
  key: string
  title: string
  kind: CellKind
  value: (row: Row) => Cell
  meaning?: string
  hasBar?: boolean // draws how much it is of the column's largest value
  showsNull?: boolean // where there is no value, it says so
}

export interface Sorting {
  key: string
  isDescending: boolean
}

const exact = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6 })

export function isNumeric(kind: CellKind): boolean {
  return kind !== 'text'
}

/** Whether a column's numbers name things rather than count them: they have no thousands. */
export function isIdentifier(name: string): boolean {
  return /(^|[_\s])(id|idx|gid|line|number|address|pid|tid)$/i.test(name)
}

export function formatCell(value: Cell, kind: CellKind): string {
  if (value === null || value === '') return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return value
  switch (kind) {
    case 'id':
      return String(value)
    case 'ns':
      return formatNs(value)
    case 'ps':
      return formatDuration(value)
    case 'time':
      return formatDuration(value, 8)
    case 'bytes':
      return formatBytes(value)
    case 'share':
      return formatShare(value)
    case 'percent':
      return formatShare(value / 100)
    case 'rate':
      return `${formatBytes(value)}/s`
    case 'count':
      return formatCount(value)
    default:
      return formatNumber(value)
  }
}

const UNITS: Partial<Record<CellKind, string>> = { ns: 'ns', ps: 'ps', time: 'ps', bytes: 'B', rate: 'B/s', percent: '%' }

/** The value with all its digits, for tooltips and for what is copied. */
export function exactCell(value: Cell, kind: CellKind): string {
  if (typeof value !== 'number') return value === null ? '' : String(value)
  if (kind === 'id') return String(value)
  const unit = UNITS[kind]
  return exact.format(value) + (unit ? ` ${unit}` : '')
}

/** The unit a kind of column has in a CSV file, as a part of its name. */
function csvTitle<Row>(column: TableColumn<Row>): string {
  const unit = UNITS[column.kind]
  return unit ? `${column.title} (${unit})` : column.title
}

/** Order of two cells: empty ones last whichever way, numbers before texts. */
export function compareCells(a: Cell, b: Cell, isDescending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  let order: number
  if (typeof a === 'number' && typeof b === 'number') order = a - b
  else if (typeof a === typeof b) order = String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0
  else order = typeof a === 'number' ? -1 : 1
  return isDescending ? -order : order
}

export function sortRows<Row>(rows: readonly Row[], column: TableColumn<Row> | undefined, isDescending: boolean): Row[] {
  if (!column) return [...rows]
  const keyed = rows.map((row) => ({ row, cell: column.value(row) }))
  keyed.sort((a, b) => compareCells(a.cell, b.cell, isDescending))
  return keyed.map((item) => item.row)
}

/** Whether all words of the filter are in the row's cells, whatever the case. */
export function rowMatcher<Row>(columns: readonly TableColumn<Row>[], filter: string): (row: Row) => boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return () => true
  return (row) => {
    let text = ''
    for (const column of columns) {
      const value = column.value(row)
      if (value !== null) text += `${value}\n`
    }
    text = text.toLowerCase()
    return words.every((word) => text.includes(word))
  }
}

export interface TreeRow<Row> {
  row: Row
  depth: number
  isExpandable: boolean
  isExpanded: boolean
}

export interface TreeOptions<Row> {
  children?: (row: Row) => readonly Row[]
  isExpanded: (row: Row) => boolean
  matches: (row: Row) => boolean
  column: TableColumn<Row> | undefined
  isDescending: boolean
}

/** Keeps a row that matches or has one inside it that does. */
function keep<Row>(row: Row, options: TreeOptions<Row>): boolean {
  if (options.matches(row)) return true
  return options.children?.(row).some((child) => keep(child, options)) ?? false
}

/** The rows to show, one below the other: every level is sorted by itself. */
export function flattenRows<Row>(rows: readonly Row[], options: TreeOptions<Row>): TreeRow<Row>[] {
  const shown: TreeRow<Row>[] = []
  const add = (level: readonly Row[], depth: number) => {
    const kept = level.filter((row) => keep(row, options))
    for (const row of sortRows(kept, options.column, options.isDescending)) {
      const children = options.children?.(row) ?? []
      const isExpanded = children.length > 0 && options.isExpanded(row)
      shown.push({ row, depth, isExpandable: children.length > 0, isExpanded })
      if (isExpanded) add(children, depth + 1)
    }
  }
  add(rows, 0)
  return shown
}

function csvCell(value: Cell): string {
  const text = value === null ? '' : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export function toCsv<Row>(columns: readonly TableColumn<Row>[], rows: readonly Row[]): string {
  const lines = [columns.map((column) => csvCell(csvTitle(column))).join(',')]
  for (const row of rows) lines.push(columns.map((column) => csvCell(column.value(row))).join(','))
  return lines.join('\r\n') + '\r\n'
}

const MIN_WIDTH = 5
const MAX_WIDTH = 44
const SAMPLE_SIZE = 200

/** Rows to judge widths by: the first ones, of all levels of a tree. */
export function sampleRows<Row>(rows: readonly Row[], children?: (row: Row) => readonly Row[]): Row[] {
  const sample: Row[] = []
  const add = (level: readonly Row[]) => {
    for (const row of level) {
      if (sample.length >= SAMPLE_SIZE) return
      sample.push(row)
      if (children) add(children(row))
    }
  }
  add(rows)
  return sample
}

/** How wide a column should be, in characters: by its title and some of its cells. */
export function columnWidth<Row>(column: TableColumn<Row>, sample: readonly Row[]): number {
  let width = column.title.length + 2
  for (const row of sample) width = Math.max(width, formatCell(column.value(row), column.kind).length)
  return Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, width))
}

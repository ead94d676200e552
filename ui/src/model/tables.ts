// Data tables: columns, cell formatting, sorting, filtering, trees and CSV.
import { formatBytes, formatCount, formatFlops, formatNumber, formatProbability, formatShare } from './numbers'
import { formatDuration, formatNs } from './time'

export type Cell = string | number | boolean | null

/** `id`: an identifier; `s`, `ns`, `ps`: durations; `time`: a timestamp in ps; `share`: 0 to 1; `rate`: bytes per second;
    `flopRate`: operations per second; `probability`: small ones matter. Cells are shown rounded; CSV and the clipboard have all digits. */
export type CellKind = 'text' | 'id' | 'number' | 'count' | 's' | 'ns' | 'ps' | 'time' | 'bytes' | 'share' | 'percent' | 'rate' | 'flops' | 'flopRate' | 'GHz' | 'probability'

export interface TableColumn<Row> {
  key: string
  title: string
  kind: CellKind
  value: (row: Row) => Cell
  meaning?: string
  figure?: string | ((row: Row) => string | undefined) // its id in the catalog of figures
  exact?: (row: Row) => string // for the tooltip; default: all digits of the value
  isWide?: boolean // takes the space that is left, in place of the first column
  hasBar?: boolean // draws a bar relative to the column's maximum
  showsNull?: boolean // shows NULL for missing values
}

export interface Sorting {
  key: string
  isDescending: boolean
}

const exact = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6 })

export function isNumeric(kind: CellKind): boolean {
  return kind !== 'text'
}

/** Whether a column holds identifiers, which are shown without thousands separators. */
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
    case 's':
      return formatNs(value * 1e9)
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
    case 'flops':
      return formatFlops(value)
    case 'flopRate':
      return `${formatFlops(value)}/s`
    case 'count':
      return formatCount(value)
    case 'probability':
      return formatProbability(value)
    case 'GHz':
      return `${formatNumber(value)} GHz`
    default:
      return formatNumber(value)
  }
}

/** The figure that a cell is. */
export function cellFigure<Row>({ figure }: TableColumn<Row>, row: Row): string | undefined {
  return typeof figure === 'function' ? figure(row) : figure
}

/** The cells of a row, one below the other. */
export function cellFields<Row>(columns: readonly TableColumn<Row>[], row: Row) {
  return columns.map((column) => ({
    title: column.title, meaning: column.meaning, text: formatCell(column.value(row), column.kind), figure: cellFigure(column, row),
  }))
}

const UNITS: Partial<Record<CellKind, string>> = { s: 's', ns: 'ns', ps: 'ps', time: 'ps', bytes: 'B', rate: 'B/s', percent: '%', flopRate: 'FLOP/s', GHz: 'GHz' }

/** The value with all digits, for tooltips. */
export function exactCell(value: Cell, kind: CellKind): string {
  if (typeof value !== 'number') return value === null ? '' : String(value)
  if (kind === 'id') return String(value)
  if (kind === 'probability') return value.toPrecision(3)
  const unit = UNITS[kind]
  return exact.format(value) + (unit ? ` ${unit}` : '')
}

/** CSV column titles include the unit. */
function csvTitle<Row>(column: TableColumn<Row>): string {
  const unit = UNITS[column.kind]
  return unit ? `${column.title} (${unit})` : column.title
}

/** Compares cells: nulls last in either direction, numbers before text. */
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

/** Matches rows that contain all words of the filter, ignoring case. */
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

/** Keeps rows that match or have a matching descendant. */
function keep<Row>(row: Row, options: TreeOptions<Row>): boolean {
  if (options.matches(row)) return true
  return options.children?.(row).some((child) => keep(child, options)) ?? false
}

/** The visible rows in display order; each level is sorted separately. */
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

/** The first rows, of all levels of a tree, to estimate column widths. */
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

/** Width in digits: capitals are wider. */
function widthOf(text: string): number {
  return Math.ceil(text.length + 0.25 * (text.match(/[A-Z]/g)?.length ?? 0))
}

/** Column width in characters, from its title and the sample. */
export function columnWidth<Row>(column: TableColumn<Row>, sample: readonly Row[]): number {
  let width = column.title.length + 2
  for (const row of sample) width = Math.max(width, widthOf(formatCell(column.value(row), column.kind)))
  return Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, width))
}

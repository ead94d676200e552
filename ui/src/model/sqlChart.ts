// A chart of a query's result: one column along the axis, others as bars or lines. Rows are taken in the order of the result.
import type { SqlResponse } from './api'

export const CHARTS = ['none', 'bars', 'lines'] as const
export type ChartKind = (typeof CHARTS)[number]

/** What the view keeps of a chart; columns by name. */
export interface ChartChoice {
  kind: ChartKind
  x: string // empty: the first column that is not drawn
  y: string[] // none: the first column of numbers
}

export interface ResultChart {
  x: string
  labels: string[]
  positions: number[] // 0 to 1 along the axis
  series: { name: string; values: (number | null)[] }[]
  left: number // rows that are not drawn
}

export const MAX_POINTS = { bars: 200, lines: 5_000 }

export function readChoice(choices: Record<string, string> | undefined): ChartChoice {
  const kind = CHARTS.find((one) => one === choices?.chart) ?? 'none'
  let y: unknown = []
  try {
    y = JSON.parse(choices?.y || '[]')
  } catch {
    // Of an address that was cut.
  }
  return { kind, x: choices?.x ?? '', y: Array.isArray(y) ? y.filter((name): name is string => typeof name === 'string') : [] }
}

/** Names of the columns that can be drawn: those with numbers. */
export function numberColumns({ columns }: SqlResponse): string[] {
  return columns.filter((column) => column.kind === 'number').map((column) => column.name)
}

export function chosenColumns(response: SqlResponse, choice: ChartChoice): { x: string; y: string[] } {
  const names = response.columns.map((column) => column.name)
  const numbers = numberColumns(response)
  const y = choice.y.filter((name) => numbers.includes(name))
  const along = names.includes(choice.x) ? choice.x : names.find((name) => !(y.length > 0 ? y : numbers).includes(name))
  const drawn = y.length > 0 ? y : numbers.filter((name) => name !== (along ?? (numbers.length > 1 ? numbers[0] : ''))).slice(0, 1)
  return { x: along ?? names.find((name) => !drawn.includes(name)) ?? names[0] ?? '', y: drawn }
}

/** Null where nothing can be drawn. Bars stand side by side; lines at their values, where these are numbers. */
export function makeChart(response: SqlResponse, choice: ChartChoice): ResultChart | null {
  const { x, y } = chosenColumns(response, choice)
  if (choice.kind === 'none' || y.length === 0 || response.rows.length === 0) return null
  const at = (name: string) => response.columns.findIndex((column) => column.name === name)
  const rows = response.rows.slice(0, MAX_POINTS[choice.kind])
  const along = rows.map((row) => row[at(x)])
  const isScaled = choice.kind === 'lines' && along.every((value) => typeof value === 'number')
  const [low, high] = isScaled ? [Math.min(...(along as number[])), Math.max(...(along as number[]))] : [0, 0]
  const even = (index: number) => (choice.kind === 'bars' ? (index + 0.5) / rows.length : index / Math.max(1, rows.length - 1))
  return {
    x,
    labels: along.map((value) => (value === null || value === undefined ? '' : String(value))),
    positions: along.map((value, index) => (isScaled && high > low ? ((value as number) - low) / (high - low) : even(index))),
    series: y.map((name) => ({ name, values: rows.map((row) => (typeof row[at(name)] === 'number' ? (row[at(name)] as number) : null)) })),
    left: response.rows.length - rows.length,
  }
}

/** Round values that enclose all of these, and zero. */
export function axisMarks(values: readonly (number | null)[], count: number): number[] {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value))
  const low = Math.min(0, ...known)
  const high = Math.max(0, ...known)
  const rough = (high - low || 1) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999)!
  const first = Math.floor(low / step)
  const last = Math.ceil(high / step)
  return Array.from({ length: Math.max(1, last - first) + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

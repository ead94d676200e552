// Two profiles or runs compared: the server's answer, and what the page shows of it.
import { formatBytes } from './numbers'
import type { TableColumn } from './tables'
import { formatNs, type Ps, type Span } from './time'

export const DIFF_KINDS = ['steps', 'ranks', 'machines', 'operators', 'families', 'kernels', 'collectives', 'copies', 'host', 'memory'] as const
export type DiffKind = (typeof DIFF_KINDS)[number]

export const KIND_TITLES: Record<DiffKind, string> = {
  steps: 'Steps', ranks: 'Ranks', machines: 'Machines', operators: 'Operators', families: 'Kernel families', kernels: 'Kernels', collectives: 'Collectives', copies: 'Copies', host: 'Host', memory: 'Memory',
}

export interface DiffStep {
  number: number
  start_ns: number
  duration_ns: number
  left_out: boolean
}

export interface DiffSide {
  name: string
  ranks?: number // of runs
  devices: number
  device_name: string
  steps: DiffStep[]
}

export interface DiffRow {
  kind: DiffKind
  change: 'slower' | 'faster' | 'more' | 'less' | 'new' | 'gone' | 'same'
  significance: string
  name: string
  layer: string
  shape: string
  matched: string
  unit: 'ns' | 'B'
  a: number
  b: number
  difference: number
  ratio: number | null
  count_a: number
  count_b: number
  p_adjusted: number | null
  bus_bandwidth_a: number | null // of collectives of runs
  bus_bandwidth_b: number | null
  skew_a: number | null
  skew_b: number | null
  names_a?: string[]
  names_b?: string[]
}

export interface Contribution {
  name: string
  a_ns: number
  b_ns: number
  difference_ns: number
  kind?: DiffKind
  rows?: { name: string; layer: string; shape: string; difference_ns: number }[]
  others_ns?: number
  rest_ns?: number
  rest?: string
}

export interface Diff {
  warnings: string[] // why A and B are not comparable
  a: DiffSide
  b: DiffSide
  of: 'profiles' | 'runs'
  basis: 'step' | 'capture'
  test: string
  note: string
  step_time: { a_ns: number; b_ns: number; median_a_ns: number; median_b_ns: number; difference_ns: number; ratio: number; p_value: number | null; significance: string } | null
  contributions: Contribution[]
  rows: DiffRow[]
  counts: Record<DiffKind, Record<'more' | 'less' | 'new' | 'gone' | 'same', number>>
}

/** "+12.5 µs" */
export function formatChange(amount: number, unit: 'ns' | 'B' = 'ns'): string {
  const text = unit === 'B' ? formatBytes(Math.abs(amount)) : formatNs(Math.abs(amount), 3)
  return amount === 0 ? '0' : `${amount > 0 ? '+' : '−'}${text}`
}

export function formatRatio(ratio: number | null): string {
  if (ratio === null) return ''
  if (ratio >= 10) return `×${ratio.toFixed(1)}`
  const percent = (100 * (ratio - 1)).toFixed(1).replace('-', '−')
  return `${ratio > 1 ? '+' : ''}${percent} %`
}

export interface WaterfallBar {
  name: string
  kind: 'total' | 'more' | 'less'
  depth: number
  from: number // on the axis, which begins at no time at all: 0 to 1
  to: number
  text: string
}

const MIN_SHOWN = 0.005 // of the largest difference; smaller ones are part of no picture

/** Bars from the step time of A to that of B; each begins where the one before it ended. */
export function waterfall(diff: Diff): WaterfallBar[] {
  const step = diff.step_time
  if (!step || diff.contributions.length === 0) return []
  const largest = Math.max(...diff.contributions.map((part) => Math.abs(part.difference_ns)))
  const isShown = (difference: number) => Math.abs(difference) > MIN_SHOWN * largest
  const parts = diff.contributions.filter((part) => isShown(part.difference_ns))
  const levels = [step.a_ns]
  for (const part of parts) levels.push(levels.at(-1)! + part.difference_ns)
  const high = Math.max(step.b_ns, ...levels) || 1
  const place = (ns: number) => ns / high
  const total = (name: string, ns: number): WaterfallBar => ({ name, kind: 'total', depth: 0, from: 0, to: place(ns), text: formatNs(ns) })
  const changed = (name: string, depth: number, at: number, by: number): WaterfallBar => ({
    name, kind: by > 0 ? 'more' : 'less', depth, from: place(Math.min(at, at + by)), to: place(Math.max(at, at + by)), text: formatChange(by),
  })
  const bars = [total('Step time of A', step.a_ns)]
  for (const [index, part] of parts.entries()) {
    bars.push(changed(part.name, 0, levels[index]!, part.difference_ns))
    let at = levels[index]!
    const inside = [...(part.rows ?? []), { name: `other ${part.kind}`, difference_ns: part.others_ns ?? 0 }, { name: part.rest ?? '', difference_ns: part.rest_ns ?? 0 }]
    for (const row of inside) {
      if (isShown(row.difference_ns)) bars.push(changed(row.name, 1, at, row.difference_ns))
      at += row.difference_ns
    }
  }
  bars.push(total('Step time of B', step.b_ns))
  const within = (share: number) => Math.max(0, Math.min(1, share)) // rows inside a part may go beyond it
  return bars.map((bar) => ({ ...bar, from: within(bar.from), to: within(bar.to) }))
}

/** How a run of many ranks is called where two are compared. */
export const nameOfRun = ({ dataset, run }: { dataset: string; run: string }) => `${dataset}/${run}`

/** Step times of both runs as lines, by position, between the shortest and the longest that count. */
export interface StepLines {
  low: number // ns
  high: number
  count: number // steps of the longer one
  lines: Record<'a' | 'b', { at: number; ns: number }[]>
}

export function stepLines(diff: Diff): StepLines {
  const counted = [...diff.a.steps, ...diff.b.steps].filter((step) => !step.left_out).map((step) => step.duration_ns)
  const [least, most] = counted.reduce(([low, high], ns) => [Math.min(low, ns), Math.max(high, ns)], [Infinity, 0])
  const margin = Math.max(most - least, 0.01 * most) / 10
  const line = (side: DiffSide) => side.steps.map((step, at) => ({ at, ns: step.duration_ns }))
  return {
    low: Math.max(0, least - margin), high: most + margin, count: Math.max(diff.a.steps.length, diff.b.steps.length),
    lines: { a: line(diff.a), b: line(diff.b) },
  }
}

/** The rows that are shown first: kernels; of runs, the first kind in which something is slower. */
export function firstKind(diff: Diff, kinds: readonly DiffKind[]): DiffKind {
  const slower = diff.of === 'runs' ? kinds.find((kind) => kind !== 'steps' && diff.counts[kind].more > 0) : undefined
  return slower ?? (kinds.includes('kernels') ? 'kernels' : (kinds[0] ?? 'steps'))
}

/** Steps that both profiles have, by position. */
export function stepCount(diff: Diff): number {
  return Math.min(diff.a.steps.length, diff.b.steps.length)
}

/** The first that neither profile leaves out. */
export function firstStep(diff: Diff): number {
  const at = diff.a.steps.findIndex((step, index) => !step.left_out && diff.b.steps[index]?.left_out === false)
  return Math.max(0, at)
}

const MARGIN = 0.03

/** What of a step is shown at first, from its start. */
export function stepSpan(diff: Diff, step: number): Span | null {
  const durations = [diff.a.steps[step]?.duration_ns, diff.b.steps[step]?.duration_ns].filter((ns) => ns !== undefined)
  if (durations.length === 0) return null
  const length = Math.max(1, ...durations) * 1000
  return { from: -MARGIN * length, to: (1 + MARGIN) * length }
}

export function startOf(side: DiffSide, step: number): Ps | null {
  const found = side.steps[step]
  return found ? found.start_ns * 1000 : null
}

const ORDER = ['slower', 'more', 'faster', 'less', 'new', 'gone', 'same']

const isThere = (row: DiffRow, side: 'a' | 'b') => row.change !== (side === 'a' ? 'new' : 'gone')

export const DIFF_COLUMNS: TableColumn<DiffRow>[] = [
  {
    key: 'change', title: 'Change', kind: 'text', value: (row) => row.change,
    meaning: 'Slower or faster only if the change is significant over the steps, where there are enough of them.',
  },
  { key: 'name', title: 'Name', kind: 'text', value: (row) => row.name, isWide: true },
  { key: 'a', title: 'A', kind: 'ns', value: (row) => (isThere(row, 'a') ? row.a : null), meaning: 'Per step and device, or of the whole capture.' },
  { key: 'b', title: 'B', kind: 'ns', value: (row) => (isThere(row, 'b') ? row.b : null), meaning: 'Per step and device, or of the whole capture.' },
  { key: 'difference', title: 'Difference', kind: 'ns', value: (row) => row.difference },
  { key: 'ratio', title: 'B / A', kind: 'number', value: (row) => row.ratio },
  { key: 'count_a', title: 'Count A', kind: 'number', value: (row) => row.count_a },
  { key: 'count_b', title: 'Count B', kind: 'number', value: (row) => row.count_b },
  { key: 'bandwidth_a', title: 'GB/s A', kind: 'number', value: (row) => row.bus_bandwidth_a, meaning: 'Bus bandwidth, as nccl-tests define it.' },
  { key: 'bandwidth_b', title: 'GB/s B', kind: 'number', value: (row) => row.bus_bandwidth_b, meaning: 'Bus bandwidth, as nccl-tests define it.' },
  { key: 'skew_a', title: 'Skew A', kind: 'ns', value: (row) => row.skew_a, meaning: 'From the first arrival to the last.' },
  { key: 'skew_b', title: 'Skew B', kind: 'ns', value: (row) => row.skew_b, meaning: 'From the first arrival to the last.' },
  {
    key: 'p', title: 'p', kind: 'probability', value: (row) => row.p_adjusted,
    meaning: 'Probability that chance alone makes such a difference, corrected for the number of rows.',
  },
  {
    key: 'significance', title: 'Significance', kind: 'text', value: (row) => row.significance,
    meaning: 'Outside steps: none of it is in a step, so the figures cover the whole captures. Negligible: no more than equal runs differ.',
  },
  { key: 'layer', title: 'Layer', kind: 'text', value: (row) => row.layer },
  { key: 'shape', title: 'Shape', kind: 'text', value: (row) => row.shape },
  {
    key: 'matched', title: 'Matched', kind: 'text', value: (row) => row.matched,
    exact: (row) => (row.names_a && row.names_b ? `${row.names_a.join('\n')}\n→\n${row.names_b.join('\n')}` : row.matched),
    meaning: 'How the rows of A and B were matched.',
  },
]

/** How columns of ranks and machines differ from the others. */
const EXCESS = 'How much longer its own work takes in a step than the median rank’s.'
const RANK_COLUMNS: Record<string, Partial<TableColumn<DiffRow>>> = {
  a: { meaning: EXCESS }, b: { meaning: EXCESS }, layer: { title: 'Machine' },
  ratio: {
    title: 'Of median', kind: 'share', value: (row) => (row.ratio === null ? null : row.ratio - 1),
    meaning: 'The difference as a share of the median rank’s own time in A: what is over the median can be 0.',
  },
}

/** The columns for rows of a kind: memory has bytes, and what no row has is left out. */
export function columnsFor(rows: readonly DiffRow[]): TableColumn<DiffRow>[] {
  const isMemory = rows.some((row) => row.unit === 'B')
  const hasBandwidth = rows.some((row) => row.bus_bandwidth_a || row.bus_bandwidth_b)
  const hasNoCounts = rows.every((row) => row.kind === 'ranks' || row.kind === 'machines')
  const isEmpty: Record<string, boolean> = {
    layer: rows.every((row) => !row.layer), shape: rows.every((row) => !row.shape), p: rows.every((row) => row.p_adjusted === null),
    significance: rows.every((row) => row.significance === 'not tested'),
    matched: rows.every((row) => row.matched === 'exact' || row.matched === 'none'),
    bandwidth_a: !hasBandwidth, bandwidth_b: !hasBandwidth, skew_a: !hasBandwidth, skew_b: !hasBandwidth,
    count_a: hasNoCounts, count_b: hasNoCounts,
  }
  const shown = DIFF_COLUMNS.filter((column) => !isEmpty[column.key])
  if (isMemory) return shown.map((column) => (column.kind === 'ns' ? { ...column, kind: 'bytes' as const } : column))
  return hasNoCounts ? shown.map((column) => ({ ...column, ...RANK_COLUMNS[column.key] })) : shown
}

export function byImportance(a: DiffRow, b: DiffRow): number {
  const outside = (row: DiffRow) => Number(row.significance === 'outside steps')
  return ORDER.indexOf(a.change) - ORDER.indexOf(b.change) || outside(a) - outside(b) || Math.abs(b.difference) - Math.abs(a.difference)
}

/** A sentence about a kind: "3 slower, 1 faster, 0 new, 0 gone, 72 others". */
export function tally(diff: Diff, kind: DiffKind): string {
  const { more, less, same, ...rest } = diff.counts[kind]
  const [up, down] = kind === 'memory' ? ['more', 'less'] : ['slower', 'faster']
  return `${more} ${up}, ${less} ${down}, ${rest.new} new, ${rest.gone} gone, ${same} ${diff.test ? 'without significant change' : 'the same'}`
}


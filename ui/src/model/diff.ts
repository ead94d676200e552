// Two profiles or runs compared: the server's answer, and what the page shows of it.
import { figure, joinWords, type Figure, type FigureKey, type Words } from './figures'
import { countOf, formatBytes, formatProbability } from './numbers'
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
  a: number | null // a side that does not have the row has no figures of it
  b: number | null
  difference: number | null
  ratio: number | null
  count_a: number | null
  count_b: number | null
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
  rows?: { name: string; layer: string; shape: string; matched: string; difference_ns: number }[]
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

/** "Mean step time 4.06 ms → 4.30 ms", "+243 µs (+6.0 %)". */
export function stepTimeWords({ a_ns, b_ns, difference_ns, ratio }: NonNullable<Diff['step_time']>): { times: Words; change: Words } {
  return {
    times: ['Mean step time ', figure('diff.a_ns', formatNs(a_ns)), ' → ', figure('diff.b_ns', formatNs(b_ns))],
    change: [figure('diff.difference_ns', formatChange(difference_ns)), ' (', figure(ratio >= 10 ? 'diff.ratio' : 'diff.change', formatRatio(ratio)), ')'],
  }
}

/** How sure that is: "significant, p = 0.0022, Mann-Whitney U test; medians 3.98 ms → 4.22 ms". */
export function verdictWords({ step_time, test }: Diff): Words {
  const { significance, p_value, median_a_ns, median_b_ns } = step_time!
  const p: Words = p_value === null ? '' : [', p ', p_value < 0.0001 ? '' : '= ', figure('computed.diff.p_value', formatProbability(p_value)), `, ${test}`]
  return [significance, ...p, '; medians ', figure('diff.median_a_ns', formatNs(median_a_ns)), ' → ', figure('diff.median_b_ns', formatNs(median_b_ns))]
}

/** "20 steps; 1 device NVIDIA H200; left out as warming up: 0, 1, 2" */
export function sideWords(side: DiffSide, letter: 'a' | 'b'): Words {
  const count = (column: string, number: number, noun: string): [Figure, string] => {
    const [text, ...rest] = countOf(number, noun).split(' ')
    return [figure(`diff.sides.${column}`, text!, { side: letter }), ` ${rest.join(' ')}`]
  }
  const out = side.steps.filter((one) => one.left_out).map((one) => one.number)
  return joinWords([
    count('steps', side.steps.length, 'steps'), side.ranks ? countOf(side.ranks, 'ranks') : '',
    side.devices > 0 && [...count('devices', side.devices, 'devices'), side.device_name && ` ${side.device_name}`],
    out.length > 0 && `left out as warming up: ${out.join(', ')}`,
  ], '; ')
}

export interface WaterfallBar {
  name: string
  kind: 'total' | 'more' | 'less'
  depth: number
  from: number // on the axis, which begins at no time at all: 0 to 1
  to: number
  value: Figure
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
  const total = (name: string, id: string, ns: number): WaterfallBar => ({ name, kind: 'total', depth: 0, from: 0, to: place(ns), value: figure(id, formatNs(ns)) })
  const changed = (name: string, depth: number, at: number, by: number, id: string, key: FigureKey): WaterfallBar => ({
    name, kind: by > 0 ? 'more' : 'less', depth, from: place(Math.min(at, at + by)), to: place(Math.max(at, at + by)), value: figure(id, formatChange(by), key),
  })
  const bars = [total('Step time of A', 'diff.a_ns', step.a_ns)]
  for (const [index, part] of parts.entries()) {
    const key = { part: part.name }
    bars.push(changed(part.name, 0, levels[index]!, part.difference_ns, 'diff.parts.difference_ns', key))
    let at = levels[index]!
    const inside = [
      ...(part.rows ?? []).map(({ name, layer, shape, matched, difference_ns }) => ({ name, by: difference_ns, id: `diff.${part.kind}.difference`, key: { name, layer, shape, matched } })),
      { name: `other ${part.kind}`, by: part.others_ns ?? 0, id: 'diff.parts.others_ns', key },
      { name: part.rest ?? '', by: part.rest_ns ?? 0, id: 'diff.parts.rest_ns', key },
    ]
    for (const row of inside) {
      if (isShown(row.by)) bars.push(changed(row.name, 1, at, row.by, row.id, row.key))
      at += row.by
    }
  }
  bars.push(total('Step time of B', 'diff.b_ns', step.b_ns))
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

export const DIFF_COLUMNS: TableColumn<DiffRow>[] = [
  {
    key: 'change', title: 'Change', kind: 'text', value: (row) => row.change,
    meaning: 'Slower or faster only if the change is significant over the steps, where there are enough of them.',
  },
  { key: 'name', title: 'Name', kind: 'text', value: (row) => row.name, isWide: true },
  { key: 'a', title: 'A', kind: 'ns', value: (row) => row.a, meaning: 'Per step and device, or of the whole capture.' },
  { key: 'b', title: 'B', kind: 'ns', value: (row) => row.b, meaning: 'Per step and device, or of the whole capture.' },
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

/** What distinguishes rows of a kind. */
export const rowKey = ({ name, layer, shape, matched }: DiffRow): FigureKey => ({ name, layer, shape, matched })

/** The columns for rows of a kind: memory has bytes, and what no row has is left out. */
export function columnsFor(rows: readonly DiffRow[]): TableColumn<DiffRow>[] {
  const kind = rows[0]?.kind
  const ids = (column: TableColumn<DiffRow>) => (column.key === 'p' ? 'computed.diff.p_adjusted' : column.kind === 'text' ? undefined : `diff.${kind}.${column.key}`)
  return shownColumns(rows).map((column) => ({ ...column, figure: ids(column) }))
}

function shownColumns(rows: readonly DiffRow[]): TableColumn<DiffRow>[] {
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
  return ORDER.indexOf(a.change) - ORDER.indexOf(b.change) || outside(a) - outside(b) || Math.abs(b.difference ?? 0) - Math.abs(a.difference ?? 0)
}

/** A sentence about a kind: "3 slower, 1 faster, 0 new, 0 gone, 72 others". */
export function tally(diff: Diff, kind: DiffKind): Words {
  const [up, down] = kind === 'memory' ? ['more', 'less'] : ['slower', 'faster']
  const words = { more: up, less: down, new: 'new', gone: 'gone', same: diff.test ? 'without significant change' : 'the same' }
  return joinWords((['more', 'less', 'new', 'gone', 'same'] as const).map((change) => [figure(`computed.diff.${change}`, String(diff.counts[kind][change])), ` ${words[change]}`]), ', ')
}

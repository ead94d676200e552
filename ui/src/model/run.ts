// A run of many ranks: what the server tells about it, its address, and the picture of a measure over lanes and steps.
import { oklch, type Rgb } from './palette'
import { readLanes, TIMELINE_PLACES, type TimelinePlace } from './rankLanes'
import { formatNs, readSpan, writeSpan, type Span } from './time'

export const MEASURES = ['excess', 'own', 'duration', 'compute', 'communication', 'copy', 'idle', 'idle_host'] as const
export type Measure = (typeof MEASURES)[number]
export const MEASURE_TITLES: Record<Measure, string> = {
  excess: 'Later than the median rank', own: 'Own time', duration: 'Step time', compute: 'Compute', communication: 'Exposed communication', copy: 'Copies',
  idle: 'Idle', idle_host: 'Waits for the host',
}

export const ORDERS = ['rank', 'machine', 'slowest', 'cluster'] as const
export type Order = (typeof ORDERS)[number]
export const ORDER_TITLES: Record<Order, string> = { rank: 'rank', machine: 'machine', slowest: 'slowest first', cluster: 'groups that behave alike' }

/** Positions of lanes or steps, first and last. */
export interface Range {
  first: number
  last: number
}

export interface RunRoute {
  page: 'run'
  dataset: string // empty: the list of runs
  run: string
  measure: Measure
  order: Order
  scale: number | null // ns from where colors begin (zero, if they go to both sides of it) to where they end; null: as the analysis found it for the measure
  rows: Range | null // null: all
  steps: Range | null
  step: number | null // the chosen one, by its number
  lane: string // the chosen one, "19" or "19.1" with its device
  group: string // communicator whose collectives are listed; empty: all
  collective: number // the chosen one of the step
  timelines: TimelinePlace
  ranks: string[] // lanes whose timelines are shown, besides the chosen one; empty: the slowest and the median
  span: Span | null // what the timelines show, since the start of the step; null: all of it
}

export interface RunName {
  dataset: string
  run: string
}

/** A run as the server lists it. */
export interface ListedRun extends RunName {
  created: string
}

export interface Lane {
  rank: number
  device: number
  machine: string
  median_excess_ns: number
  late_steps: number
  cluster: number
}

export interface RunShape {
  has_timelines: boolean
  lanes: Lane[]
  steps: { step: number; median_ns: number; is_outlier: boolean }[]
  clusters: { cluster: number; lanes: number; excess_ns: number }[] // lanes that behave alike, the slowest first
}

/** How far the analysis of a run is. */
export interface RunProgress {
  status: 'analyzing'
  seconds: number
  percent: number
  stage: string // "6 of 27: LaneStep"; empty before the first
}

export interface RunFinding {
  id: number
  rule: string
  title: string
  statement: string
  advice: string
  cost_ns: number | null // null: it costs nothing that is known
  cost_share: number | null
  rank?: number
  device?: number
  communicator?: string
  evidence: Record<string, unknown>
}

export interface RunReport {
  ranks: number
  world_size: number | null
  machines: number
  device_name: string | null
  steps: number
  step_ns: number | null
  findings: RunFinding[]
  what_if: { change: string; before_ns: number; after_ns: number; saved_ns: number; saved_share: number | null }[]
}

export interface Collective {
  step: number
  communicator: string
  operation: string
  sender: number
  receiver: number
  sequence: number
  occurrence: number
  ranks: number
  group_size: number
  is_complete: boolean
  ends_together: boolean // false: its ends are further apart than the clocks allow, so skew and waits mean nothing
  end_spread_ns: number
  skew_ns: number
  last_rank: number
  last_device: number
  waited_ns: number
  transfer_ns: number
  bytes: number | null
  bus_bandwidth: number | null
}

export interface Arrival {
  rank: number
  device: number
  machine: string
  arrival_ns: number
  duration_ns: number
  waited_ns: number
  start_ns: number // time of the run, by the machine's aligned clock
  end_ns: number
}

export interface PathPart {
  position: number
  rank: number
  device: number
  kind: string
  communicator: string
  operation: string
  start_ns: number
  end_ns: number
  share: number | null // of the whole path
}

export interface StepAnswer {
  step: {
    step: number; ranks: number; median_ns: number; min_ns: number; max_ns: number; slowest_rank: number; slowest_device: number
    slowest_excess_ns: number; late_lanes: number; is_outlier: boolean; is_matched: boolean
  }[]
  path: PathPart[]
  path_steps: { step: number }[]
  collectives: Collective[]
  arrivals: Arrival[]
}

/** Where colors begin and end, in ns. */
export interface Scale {
  low: number
  high: number
}

/** The largest and the mean value of each cell, row by row; NaN where nothing is. The scale is that of the measure over the whole run. */
export interface HeatMap {
  rows: number
  columns: number
  max: Float32Array
  mean: Float32Array
  scale: Scale
}

export function readHeatMap(bytes: ArrayBuffer): HeatMap {
  const [rows, columns] = new Uint32Array(bytes, 0, 2) as unknown as [number, number]
  const count = rows * columns
  const [max, mean, [low, high]] = [new Float32Array(bytes, 8, count), new Float32Array(bytes, 8 + 4 * count, count), new Float32Array(bytes, 8 + 8 * count, 2)]
  return { rows, columns, max, mean, scale: { low: low!, high: high! } }
}

function readRange(text: string | null): Range | null {
  const match = /^(\d+)-(\d+)$/.exec(text ?? '')
  return match && Number(match[1]) <= Number(match[2]) ? { first: Number(match[1]), last: Number(match[2]) } : null
}

export const writeRange = (range: Range) => `${range.first}-${range.last}`

function readNumber(text: string | null): number | null {
  return /^\d+$/.test(text ?? '') ? Number(text) : null
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function emptyRun(dataset: string, run: string): RunRoute {
  return {
    page: 'run', dataset, run, measure: 'excess', order: 'rank', scale: null, rows: null, steps: null, step: null, lane: '', group: '', collective: 0,
    timelines: 'below', ranks: [], span: null,
  }
}

export function readRun(query: URLSearchParams): RunRoute {
  const [dataset = '', run = ''] = (query.get('run') ?? '').split('/').map(decode)
  const measure = query.get('measure') as Measure
  const order = query.get('order') as Order
  return {
    ...emptyRun(dataset, run),
    measure: MEASURES.includes(measure) ? measure : 'excess',
    order: ORDERS.includes(order) ? order : 'rank',
    scale: readNumber(query.get('scale')) || null,
    rows: readRange(query.get('rows')),
    steps: readRange(query.get('steps')),
    step: readNumber(query.get('step')),
    lane: /^\d+(\.\d+)?$/.test(query.get('lane') ?? '') ? query.get('lane')! : '',
    group: query.get('group') ?? '',
    collective: readNumber(query.get('collective')) ?? 0,
    timelines: TIMELINE_PLACES.find((one) => one === query.get('timelines')) ?? 'below',
    ranks: readLanes(query.get('ranks')),
    span: readSpan(query.get('span')),
  }
}

export function runPath(route: RunRoute): string {
  const query = new URLSearchParams({ run: route.dataset ? `${encodeURIComponent(route.dataset)}/${encodeURIComponent(route.run)}` : '' })
  if (route.measure !== 'excess') query.set('measure', route.measure)
  if (route.order !== 'rank') query.set('order', route.order)
  if (route.scale !== null) query.set('scale', String(route.scale))
  if (route.rows) query.set('rows', writeRange(route.rows))
  if (route.steps) query.set('steps', writeRange(route.steps))
  if (route.step !== null) query.set('step', String(route.step))
  if (route.lane) query.set('lane', route.lane)
  if (route.group) query.set('group', route.group)
  if (route.collective) query.set('collective', String(route.collective))
  if (route.timelines !== 'below') query.set('timelines', route.timelines)
  if (route.ranks.length) query.set('ranks', route.ranks.join(','))
  if (route.span) query.set('span', writeSpan(route.span))
  return `./?${query}`
}

export const laneName = (lane: { rank: number; device: number }) => (lane.device ? `${lane.rank}.${lane.device}` : String(lane.rank))

/** Only this one deviates from zero, to both sides. The others are times, which are never near zero where they matter: their colors begin at
    the smallest that is usual. */
export const isSigned = (measure: Measure) => measure === 'excess'

/** How far colors reach from where they begin, or from zero where they go to both sides. */
export const reachOf = ({ low, high }: Scale, isBothSides: boolean) => (isBothSides ? high : high - low)

/** A scale with another reach, as chosen on the page. */
export const withReach = (scale: Scale, reach: number, isBothSides: boolean): Scale =>
  isBothSides ? { low: -reach, high: reach } : { low: scale.low, high: scale.low + reach }

const HALF = 127
export const SHADES = 2 * HALF + 1

/** Colors from the lower end of a scale to the upper one, of both themes: blue, gray at zero, orange; or from gray to orange. People who cannot
    tell red from green can tell these; the further from gray, the more they differ from it in lightness too. */
export function shades(theme: 'dark' | 'light', isBothSides = true): Rgb[] {
  return Array.from({ length: SHADES }, (_, at) => {
    const share = isBothSides ? (at - HALF) / HALF : at / (2 * HALF)
    const [far, hue] = [Math.abs(share), share < 0 ? 255 : 55]
    return theme === 'dark' ? oklch(0.36 + 0.44 * far, 0.15 * far, hue) : oklch(0.93 - 0.38 * far, 0.15 * far, hue)
  })
}

/** The shade of a value; in the middle where all values are the same. */
export function shadeOf(value: number, { low, high }: Scale): number {
  return high > low ? Math.round(Math.max(0, Math.min(1, (value - low) / (high - low))) * 2 * HALF) : HALF
}

/** RGBA of all cells; what is not known is transparent. */
export function paint(map: HeatMap, scale: Scale, colors: Rgb[]): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * map.rows * map.columns)
  for (let i = 0; i < map.max.length; i++) {
    const value = map.max[i]!
    if (Number.isNaN(value)) continue
    const [red, green, blue] = colors[shadeOf(value, scale)]!
    pixels[4 * i] = red
    pixels[4 * i + 1] = green
    pixels[4 * i + 2] = blue
    pixels[4 * i + 3] = 255
  }
  return pixels
}

export const sizeOf = (range: Range) => range.last - range.first + 1

/** The positions that a cell stands for. */
export function cellRange(shown: Range, cells: number, cell: number): Range {
  const size = sizeOf(shown)
  return { first: shown.first + Math.ceil((cell * size) / cells), last: shown.first + Math.ceil(((cell + 1) * size) / cells) - 1 }
}

/** Lanes next to each other that behave alike. */
export interface LaneGroup extends Range {
  cluster: number
}

export function groupsOf(lanes: readonly { cluster: number }[]): LaneGroup[] {
  const groups: LaneGroup[] = []
  lanes.forEach(({ cluster }, at) => {
    const before = groups.at(-1)
    if (before?.cluster === cluster) before.last = at
    else groups.push({ cluster, first: at, last: at })
  })
  return groups
}

/** Moves ascending places apart so that labels there do not overlap, as little as that takes and within a length. */
export function spreadLabels(places: readonly number[], apart: number, length: number): number[] {
  const spread: number[] = []
  for (const place of places) spread.push(Math.max(place, (spread.at(-1) ?? -Infinity) + apart, apart / 2))
  let limit = length - apart / 2
  for (let i = spread.length - 1; i >= 0 && spread[i]! > limit; i--, limit -= apart) spread[i] = limit
  return spread
}

/** Zooms by a factor around a place, a share of what is shown. */
export function zoomRange(shown: Range, factor: number, at: number, count: number, least = 4): Range {
  const size = Math.min(count, Math.max(Math.min(least, count), Math.round(sizeOf(shown) * factor)))
  const first = Math.max(0, Math.min(count - size, Math.round(shown.first + at * (sizeOf(shown) - size))))
  return { first, last: first + size - 1 }
}

export function moveRange(shown: Range, by: number, count: number): Range {
  const size = sizeOf(shown)
  const first = Math.max(0, Math.min(count - size, Math.round(shown.first + by)))
  return { first, last: first + size - 1 }
}

/** Positions around one, as many as asked for. */
export function around(position: number, size: number, count: number): Range {
  return moveRange({ first: 0, last: Math.min(size, count) - 1 }, position - size / 2, count)
}

export function signedNs(ns: number): string {
  return ns < 0 ? `−${formatNs(-ns)}` : formatNs(ns)
}

/** The step that a finding is about, if it is about one. */
export function findingStep(finding: RunFinding): number | null {
  for (const name of ['worst_step', 'step', 'first_step']) {
    const value = finding.evidence[name]
    if (typeof value === 'number') return value
  }
  return null
}

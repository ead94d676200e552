// Timelines of several ranks at a step of their run: which ranks, and how the times of each become times of the run.
import { figure, type Words } from './figures'
import { MAX_TIMELINES } from './rankLanes'
import { emptyRun, laneName, type Arrival, type RunRoute } from './run'
import { formatNs, type Ps, type Span } from './time'

/** A lane in a step. `_ts` are times of its capture; others are times of the run: aligned = base_ns + rate · ts. */
export interface StepLane {
  rank: number
  device: number
  machine: string
  role: 'slowest' | 'median' | null
  duration_ns: number
  own_ns: number
  excess_ns: number
  is_late: boolean
  start_ts: number
  end_ts: number
  start_ns: number
  end_ns: number
  base_ns: number
  rate: number
  offset_ns: number | null
  drift_ppm: number | null
  error_ns: number | null
  component: number | null
  profile: string
  has_timeline: boolean
}

export interface StepLanes {
  step: { start_ns: number; end_ns: number }[]
  lanes: StepLane[]
}

/** The chosen lane, then those that were asked for; without any, the slowest and the median. */
export function shownLanes(chosen: string, asked: string[], answer: StepLanes | null): string[] {
  const named = (role: string) => (answer?.lanes ?? []).filter((lane) => lane.role === role).map(laneName)
  const others = asked.length ? asked : [...named('slowest'), ...named('median')]
  const all = !chosen || asked.includes(chosen) ? others : [chosen, ...others]
  return [...new Set(all)].slice(0, MAX_TIMELINES)
}

/** A lane one place up or down. */
export function moveLane(lanes: string[], lane: string, by: 1 | -1): string[] {
  const from = lanes.indexOf(lane)
  const to = from + by
  if (from < 0 || to < 0 || to >= lanes.length) return lanes
  const moved = [...lanes]
  ;[moved[from], moved[to]] = [moved[to]!, moved[from]!]
  return moved
}

/** The time of a lane's capture when the step began in the run. */
export function ownStart(lane: StepLane, step: { start_ns: number }): Ps {
  return ((step.start_ns - lane.base_ns) / lane.rate) * 1000
}

/** Times since the start of the step, of the run and by a lane's clock. */
export const toOwn = (lane: StepLane, span: Span): Span => ({ from: span.from / lane.rate, to: span.to / lane.rate })
export const toRun = (lane: StepLane, span: Span): Span => ({ from: span.from * lane.rate, to: span.to * lane.rate })

export const wholeStep = (step: { start_ns: number; end_ns: number }): Span => ({ from: 0, to: Math.max(1, step.end_ns - step.start_ns) * 1000 })

/** A collective in a lane's timeline: from the first arrival of all lanes to the last end, and what it took of this lane. */
export interface TimelineMark extends Span {
  own: Span | null
}

export function collectiveMark(arrivals: Arrival[], lane: StepLane, step: { start_ns: number }): TimelineMark | null {
  if (!arrivals.length) return null
  const at = (ns: number) => ((ns - step.start_ns) * 1000) / lane.rate
  const own = arrivals.find((one) => one.rank === lane.rank && one.device === lane.device)
  return {
    from: at(Math.min(...arrivals.map((one) => one.start_ns))),
    to: at(Math.max(...arrivals.map((one) => one.end_ns))),
    own: own ? { from: at(own.start_ns), to: at(own.end_ns) } : null,
  }
}

/** How well the times of lanes can be compared. */
export function clockNote(lanes: StepLane[], step: number): { words: Words; isBad: boolean } {
  const machines = new Set(lanes.map((lane) => lane.machine))
  if (machines.size < 2) return { words: 'One machine, one clock.', isBad: false }
  if (new Set(lanes.map((lane) => lane.component)).size > 1)
    return { words: 'No collective connects all of these machines: their clocks are not aligned, and times of different ranks cannot be compared.', isBad: true }
  if (lanes.some((lane) => lane.error_ns === null)) return { words: 'Clocks of some machines could not be aligned: times of different ranks cannot be compared.', isBad: true }
  const worst = lanes.reduce((found, lane) => (lane.error_ns! > found.error_ns! ? lane : found))
  const longest = Math.max(...lanes.map((lane) => lane.duration_ns))
  return {
    words: [
      'Clocks of machines are aligned to about ±', figure('run.lane_steps.error_ns', formatNs(worst.error_ns!, 2), { rank: worst.rank, device: worst.device, step }),
      ': smaller differences between ranks are not meaningful.',
    ],
    isBad: worst.error_ns! > 0.01 * longest,
  }
}

/** The rank that a profile's name is of, null for other profiles. */
export function rankOfProfile(name: string): { dataset: string; run: string; rank: number } | null {
  const match = /^(.+)\/run=([^/]+)\/rank=(\d+)$/.exec(name)
  if (!match) return null
  const run = match[2]!.replaceAll(/%([0-9A-F]{2})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
  return { dataset: match[1]!, run, rank: Number(match[3]) }
}

/** The page of the run that a rank is of. */
export function runOfRank({ dataset, run, rank }: { dataset: string; run: string; rank: number }): RunRoute {
  return { ...emptyRun(dataset, run), lane: String(rank) }
}

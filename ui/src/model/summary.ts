// Data of the Summary tab: the server's summary document, the queries behind the charts, and their axes. What a capture lacks is
// null or an empty list.

import { readCounter } from './counters'
import { figure, joinWords, type FigureKey, type Words } from './figures'
import { formatShare } from './numbers'
import { formatNs, withMicroSign } from './time'
import type { TimelineData } from './timelineData'

export interface Distribution {
  count: number
  mean: number
  p50: number
  p99: number
  min: number
  max: number
}

export interface DeviceSummary {
  name: string
  host: string
  model: string
  event_count: number
  busy_ns: number // at least one stream works
  sum_ns?: number // added up over the streams
  busy_share: number
  launch_delay_ns: Distribution | null
}

export interface Ranked {
  name: string
  program?: string // of operations
  module_id?: number | null // the same
  count: number
  total_ns: number
  self_ns: number
  share: number
}

/** What costs time and what to do about it. */
export interface Finding {
  rule: string
  title: string
  statement: string
  advice: string
  cost_ns: number
  share: number
  share_of: string
  query: string
  evidence: { label: string; event_id: number | null; from_ps: number; to_ps: number }[]
}

export interface Summary {
  format: string
  start_epoch_ns: number | null
  event_count: number
  dropped_warning: string // the sentence about events that the capture dropped, or empty
  span_ns: number
  profiler_ns: number
  hosts: { name: string; file: string; size_bytes: number }[]
  findings: Finding[] | null // null: made by a version without findings
  steps: { count: number; step_ns: Distribution | null; host_ns: Distribution | null; device_ns: Distribution | null; period_ns: Distribution | null }
  devices: DeviceSummary[]
  operations: Ranked[]
  kernel_families: { family: string; count: number; total_ns: number; share: number }[]
  kernels: Ranked[]
  copies: Ranked[]
  host_events: Ranked[]
  threads: { name: string; host: string; track_id: number; event_count: number; busy_ns: number; busy_share: number }[]
  messages: { host: string; level: string; text: string }[]
}

/** Summaries written by older versions may lack fields. */
function readFinding(finding: Finding): Finding {
  return {
    ...finding, statement: withMicroSign(finding.statement), advice: withMicroSign(finding.advice),
    evidence: finding.evidence.map((one) => ({ ...one, label: withMicroSign(one.label) })),
  }
}

export function readSummary(response: Record<string, unknown>): Summary {
  const list = <T>(key: string) => (Array.isArray(response[key]) ? (response[key] as T[]) : [])
  const steps = (response.steps ?? {}) as Partial<Summary['steps']>
  return {
    format: String(response.format ?? ''),
    start_epoch_ns: typeof response.start_epoch_ns === 'number' ? response.start_epoch_ns : null,
    event_count: Number(response.event_count ?? 0),
    dropped_warning: String(response.dropped_warning ?? ''),
    span_ns: Number(response.span_ns ?? 0),
    profiler_ns: Number(response.profiler_ns ?? 0),
    hosts: list('hosts'),
    findings: Array.isArray(response.findings) ? list<Finding>('findings').map(readFinding) : null,
    steps: {
      count: steps.count ?? 0, step_ns: steps.step_ns ?? null, host_ns: steps.host_ns ?? null, device_ns: steps.device_ns ?? null, period_ns: steps.period_ns ?? null,
    },
    devices: list('devices'),
    operations: list('operations'),
    kernel_families: list('kernel_families'),
    kernels: list('kernels'),
    copies: list('copies'),
    host_events: list('host_events'),
    threads: list('threads'),
    messages: list('messages'),
  }
}

/** Texts of other programs may begin with their level already. */
export function messageText({ level, text }: Summary['messages'][number]): string {
  const word = level === 'error' ? 'Error: ' : 'Warning: '
  return text.startsWith(word) ? text : word + text
}

/** "NVIDIA H200", "4 × TPU v6 Lite". */
export function deviceModels(devices: DeviceSummary[]): string {
  const counts = new Map<string, number>()
  for (const device of devices) if (device.model) counts.set(device.model, (counts.get(device.model) ?? 0) + 1)
  return [...counts].map(([model, count]) => (count === 1 ? model : `${count} × ${model}`)).join(', ')
}

/** The hosts that events were recorded on; where none is named, the capture files. */
export function hostNames(summary: Summary): string {
  const names = new Set([...summary.devices, ...summary.threads].map((one) => one.host).filter(Boolean))
  const all = names.size > 0 ? [...names] : summary.hosts.map((host) => host.name)
  return all.length > 3 ? `${all.length} hosts: ${all.join(', ')}` : all.join(', ')
}

/** A share that would round to 0.0 % is shown as less than 0.1 %. */
export function formatBusyShare(share: number): string {
  return share > 0 && share < 0.0005 ? '< 0.1 %' : formatShare(share)
}

/** Short device names; with the host where there are several. */
export function deviceLabels(devices: DeviceSummary[]): string[] {
  const isOneHost = new Set(devices.map((device) => device.host)).size <= 1
  return devices.map((device) => {
    const name = device.name.replace(/^\/device:/, '').replace(/^(\w+):(\d+)$/, '$1 $2')
    return isOneHost ? name : `${name} · ${device.host}`
  })
}

/** Statistics of step times, and what they are made of. Profiles of earlier versions have no step times. */
export function stepStats(steps: Summary['steps']): Words {
  const of = (time: 'step_ns' | 'host_ns' | 'device_ns', column: 'mean' | 'p50' | 'p99') =>
    figure(`summary.steps.${column}`, formatNs(steps[time]![column]), { time })
  return joinWords([
    steps.step_ns && ['median ', figure('summary.step_ns', formatNs(steps.step_ns.p50)), ', mean ', of('step_ns', 'mean'), ', p99 ', of('step_ns', 'p99')],
    steps.host_ns && ['host time, mean ', of('host_ns', 'mean')],
    steps.device_ns && ['device time, mean ', of('device_ns', 'mean')],
  ], '; ')
}

/** A bar of the step chart: one step, or the longest of several adjacent ones. */
export interface StepBar {
  id: number // of the step, or of the longest
  label: string
  steps: number
  from_ns: number // of all of them, as the next
  to_ns: number
  step_ns: number | null // null: not in profiles of earlier versions
  device_ns: number | null
}

export const MAX_BARS = 240

/** Over the catalog's query of summary.step_times. */
export function stepsQuery(count: number, times: string): string {
  const each = Math.max(1, Math.ceil(count / MAX_BARS))
  return `SELECT arg_max(number, coalesce(step_ns, 0)), arg_max(id, coalesce(step_ns, 0)), count(*), min(from_ts), max(to_ts), max(step_ns),
    arg_max(device_ns, coalesce(step_ns, 0))
    FROM (${times}) GROUP BY id // ${each} ORDER BY min(id)`
}

/** Steps are labeled with the program's numbers where these are unique, else with their ids. */
export function readSteps(rows: unknown[][]): StepBar[] {
  const isNumbered = new Set(rows.map(([number]) => number)).size === rows.length
  const time = (ns: unknown) => (ns === null ? null : Number(ns))
  return rows.map(([number, id, steps, from, to, step, device]) => ({
    id: Number(id), label: String(isNumbered && number !== null ? number : id), steps: Number(steps), from_ns: Number(from), to_ns: Number(to),
    step_ns: time(step), device_ns: time(device),
  }))
}

export interface Series {
  name: string
  peak: { id: string; key: FigureKey } // the figure of its highest value
  points: { at: number; value: number | null }[] // at: ns since the start of the profile; null: not known until the next
}

export const BUCKETS = 240
const MAX_SERIES = 6

/** Device memory in use, from allocator events: the maximum per time bucket, for the allocators with the highest values. */
export function allocatedQuery(from: number, to: number): string {
  const width = Math.max(1, (to - from) / BUCKETS)
  return `WITH samples AS (
      SELECT coalesce(allocator_name, 'device ' || device_idx, 'unnamed allocator') AS series, timestamp AS moment, bytes_allocated AS value
      FROM MemoryAllocation WHERE bytes_allocated IS NOT NULL),
    highest AS (SELECT series FROM samples GROUP BY series ORDER BY max(value) DESC, series LIMIT ${MAX_SERIES})
    SELECT series, least(${BUCKETS - 1}, greatest(0, floor((moment - ${from}) / ${width}))) AS bucket, max(value)
    FROM samples WHERE series IN (FROM highest) GROUP BY ALL ORDER BY ALL`
}

/** Names and tracks of the counters of device memory, those with the highest values. */
export const DEVICE_MEMORY_TRACKS = `SELECT concat_ws(' · ', any_value(c.name), any_value(t.instance_id)), t.id
  FROM CounterSample c JOIN Track t ON t.id = c.track_id
  WHERE regexp_matches(lower(c.name), 'bytes|memory|\\bmem\\b') AND c.value IS NOT NULL
  GROUP BY t.id ORDER BY max(c.value) DESC, 1 LIMIT ${MAX_SERIES}`

/** The same of the memory of hosts; several processes of a host may have recorded it. */
export const HOST_MEMORY_TRACKS = `SELECT coalesce(t.instance_id, 'host'), min(t.id)
  FROM Track t JOIN Track s ON s.id = t.parent_id AND starts_with(s.name, 'mem_usage')
  WHERE t.name = 'usage' GROUP BY 1 ORDER BY 1 LIMIT ${MAX_SERIES}`

/** Counters as the timeline has them, with its gaps: the largest value of each item. */
export function counterSeries(names: ReadonlyMap<number, string>, data: TimelineData): Series[] {
  const all = [...names].map(([track, name]) => ({
    name, peak: { id: 'summary.counters.max', key: { track_id: track } }, points: readCounter(data, track).map(({ at, value }) => ({ at: at / 1000, value })),
  }))
  return all.filter(({ points }) => points.some(({ value }) => value !== null)).sort((a, b) => highest([b]) - highest([a]))
}

export function readSeries(rows: unknown[][], from: number, to: number): Series[] {
  const all = new Map<string, Series>()
  for (const [name, bucket, value] of rows) {
    const series = all.get(String(name)) ?? { name: String(name), peak: { id: 'summary.memory.peak_bytes', key: { allocator: String(name) } }, points: [] }
    series.points.push({ at: from + ((Number(bucket) + 0.5) * (to - from)) / BUCKETS, value: Number(value) })
    all.set(series.name, series)
  }
  return [...all.values()].sort((a, b) => highest([b]) - highest([a]))
}

export function highest(series: Series[]): number {
  return Math.max(0, ...series.map((one) => one.points.reduce((max, point) => Math.max(max, point.value ?? 0), 0)))
}

/** Round values from 0 up to the first that is at least `max`. */
export function ticks(max: number, count: number): number[] {
  if (!(max > 0)) return [0]
  const rough = max / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const lead = rough / power
  const step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10)
  const all: number[] = []
  for (let at = 0; at < Math.ceil(max / step - 1e-9) + 1; at++) all.push(at * step)
  return all
}

// Display names of tracks, unified across profile formats.
import type { Track } from './api'
import { formatBytes, formatNumber } from './numbers'

const SOURCES: Record<string, string> = {
  '/host:CPU': 'Host',
  cpu_util: 'CPU utilization',
  mem_usage: 'Host memory',
  device_mem_usage: 'Device memory',
  counters: 'Counters',
}

/** What an export to XPlane adds to names that are there already: "cpu_util [7]", "cpu_util (Kymo)". */
const ADDED = / (\[-?\d+\]|\(Kymo\))$/

const plainSource = (name: string): string => name.replace(ADDED, '')

/** "/device:GPU:0" is "GPU 0", "/device:NEURON:3" "neuron_hw NC:3", "/neuron_rt:0" "neuron_rt NC:0". */
export function sourceName(name: string): string {
  const known = SOURCES[plainSource(name)]
  if (known) return known + (ADDED.exec(name)?.[0] ?? '')
  const device = /^\/device:([A-Za-z_]+):(\d+)$/.exec(name)
  if (device) return device[1] === 'NEURON' ? `neuron_hw NC:${device[2]}` : `${device[1]} ${device[2]}`
  const runtime = /^\/neuron_rt:(\d+)$/.exec(name)
  if (runtime) return `neuron_rt NC:${runtime[1]}`
  return name.replace(/^\/host:/, '') || 'Events'
}

/** The core or device a source belongs to: "GPU 0", "NC:3"; null for a host's. */
export function coreName(source: string): string | null {
  const device = /^\/device:([A-Za-z_]+):(\d+)$/.exec(source)
  if (device) return device[1] === 'NEURON' ? `NC:${device[2]}` : `${device[1]} ${device[2]}`
  const runtime = /^\/neuron_rt:(\d+)$/.exec(source)
  return runtime ? `NC:${runtime[1]}` : null
}

export function processName(track: Track, pid: number | undefined): string {
  if (track.name && pid) return `${track.name} · PID ${pid}`
  if (pid) return `PID ${pid}`
  return track.name || 'System'
}

/** Of a group with only one group inside. The rank comes first, as ends are cut off: "ND0 / NC1, rank 5" is "Rank 5 · ND0 / NC1". */
export function joinLabels(outer: string, inner: string): string {
  const core = /^(.*), rank (\d+)$/.exec(inner)
  return core ? `Rank ${core[2]} · ${outer} / ${core[1]}` : `${outer} / ${inner}`
}

/** A counter value, with the unit derived from its name. */
export function counterValue(lane: { track: Track; source: string }, value: number): string {
  const { track, source } = lane
  if (/percent|\(%\)$/.test(track.name) || plainSource(source) === 'cpu_util') return `${formatNumber(value)} %`
  if (track.name.endsWith('(B/s)')) return `${formatBytes(value)}/s`
  return /bytes|^usage$/.test(track.name) ? formatBytes(value) : formatNumber(value)
}

const COUNTERS: Record<string, string> = { usage: 'used', percent_usage: 'used, %', average: 'average' }

/** "Stream #14(Compute,Memset)" is "Stream 14 · Compute, Memset"; a numeric lane of "cpu_util" is a CPU. */
export function laneName(track: Track, source: string): string {
  if (plainSource(source) === 'cpu_util' && /^\d+$/.test(track.name)) return `CPU ${track.name}`
  if (track.is_counter && COUNTERS[track.name]) return COUNTERS[track.name]!
  if (track.is_counter) return track.name.replace(/ \((%|B\/s)\)$/, '') || 'counter' // values have the unit
  const stream = /^Stream #(\d+)(?:\((.*)\))?(.*)$/.exec(track.name)
  if (stream) {
    const kinds = stream[2] ? ` · ${stream[2].split(',').join(', ')}` : ''
    return `Stream ${stream[1]}${stream[3]}${kinds}`
  }
  const thread = /^thread (-?\d+) \((.*)\)$/.exec(track.name)
  if (thread) return `${thread[2]} · ${thread[1]}`
  const framework = /^framework-(\d+)$/.exec(track.name)
  if (framework) return `framework TID:${framework[1]}`
  return track.name || 'events'
}

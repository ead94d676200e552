// The profile list: format names, sorting, relative times, recently opened profiles.
import type { Profile } from './api'
import { figure, plainText, type Words } from './figures'
import type { ListedRun } from './run'
import { compareCells } from './tables'

const FORMATS: Record<string, [name: string, short: string]> = {
  xplane: ['JAX / XLA (XPlane)', 'XPlane'],
  kineto: ['PyTorch (Kineto)', 'Kineto'],
  chrome: ['Chrome trace', 'Chrome trace'],
  parquet: ['Tables (Parquet)', 'Parquet'],
  ntff: ['Neuron device profile (NTFF)', 'NTFF'],
  'neuron-explorer': ['Neuron Explorer', 'Neuron'],
  'neuron-system-trace': ['Neuron system trace', 'Neuron'],
  'kymo-session': ['Kymo recording', 'Kymo'],
}

/** The formats of a profile: several where it was merged of them. */
export function formatsOf(format: string | null): string[] {
  return format === null ? [] : format.split('+')
}

export function formatName(format: string | null): string {
  return formatsOf(format).map((one) => FORMATS[one]?.[0] ?? one).join(' + ')
}

export function shortFormatName(format: string | null): string {
  return formatsOf(format).map((one) => FORMATS[one]?.[1] ?? one).join(' + ')
}

/** "8 × NVIDIA H200"; empty where the model is not recorded. */
export function deviceName({ device_model: model, device_count: count }: Pick<Profile, 'device_model' | 'device_count'>): Words {
  return model === null ? '' : count !== null && count > 1 ? [figure('summary.device_count', String(count)), ` × ${model}`] : model
}

export const SORT_KEYS = ['favorite', 'name', 'status', 'format', 'device', 'step', 'finding', 'events', 'duration', 'size', 'created'] as const
export type SortKey = (typeof SORT_KEYS)[number]

/** A row of the list: a profile, or a run of many ranks. */
export type Listed = Profile | ListedRun

export function isRun(one: Listed): one is ListedRun {
  return 'run' in one
}

const STATUS_ORDER = { processing: 0, uploaded: 1, failed: 2, ready: 3 }

export const RUN_FORMAT = 'Run of many ranks'

const sortValues: Record<SortKey, (profile: Profile) => string | number | null> = {
  favorite: (profile) => (profile.favorite ? 0 : 1),
  name: (profile) => profile.name.toLowerCase(),
  status: (profile) => STATUS_ORDER[profile.status],
  format: (profile) => formatName(profile.format),
  device: (profile) => plainText(deviceName(profile)) || null,
  step: (profile) => profile.step_ns,
  finding: (profile) => profile.finding?.title ?? null,
  events: (profile) => profile.events,
  duration: (profile) => profile.duration_ns,
  size: (profile) => profile.bytes,
  created: (profile) => profile.created,
}

function sortValue(one: Listed, key: SortKey): string | number | null {
  if (!isRun(one)) return sortValues[key](one)
  const known: Partial<Record<SortKey, string | number>> = {
    favorite: 1, name: one.run.toLowerCase(), status: STATUS_ORDER.ready, format: RUN_FORMAT, created: one.created,
  }
  return known[key] ?? null
}

/** Stable: equal rows keep their order. What is unknown comes last, either way. */
export function sortListed<T extends Listed>(list: readonly T[], key: SortKey, isDescending: boolean): T[] {
  return [...list].sort((a, b) => compareCells(sortValue(a, key), sortValue(b, key), isDescending))
}

const RELATIVE: [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [3600, 'minute'],
  [86_400, 'hour'],
  [30 * 86_400, 'day'],
  [365 * 86_400, 'month'],
  [Infinity, 'year'],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** "3 minutes ago"; never in the future when clocks differ. */
export function timeAgo(created: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(created)) / 1000)
  if (!Number.isFinite(seconds)) return '–'
  if (seconds < 45) return 'just now'
  let size = 1
  for (const [limit, unit] of RELATIVE) {
    if (seconds < limit) return relative.format(-Math.max(1, Math.floor(seconds / size)), unit)
    size = limit
  }
  return '–'
}

export function absoluteTime(created: string | number): string {
  const time = new Date(created)
  return Number.isNaN(time.getTime()) ? String(created) : time.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}

const MAX_RECENT = 8

/** Recently opened names, newest first. */
export function addRecent(names: string[], name: string): string[] {
  return [name, ...names.filter((other) => other !== name)].slice(0, MAX_RECENT)
}

export function readNames(text: string | null): string[] {
  try {
    const names: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string').slice(0, MAX_RECENT) : []
  } catch {
    return []
  }
}

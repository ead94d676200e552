// The view state of a page and its encoding in the URL. Everything that a shared link restores is here; defaults are omitted
// from the URL.
import type { EventTable } from './api'
import type { Ps, Span } from './time'

export type Route = { page: 'profiles' } | { page: 'profile'; name: string }

export const TABS = [
  'summary', 'selection', 'search', 'operators', 'kernels', 'steps', 'markers', 'source', 'sql', 'tables',
] as const
export type Tab = (typeof TABS)[number]

export const COLOURS = ['name', 'layer', 'opcode', 'engine', 'module', 'duration'] as const
export type Colour = (typeof COLOURS)[number]

export const GROUPINGS = ['default', 'device', 'core', 'thread', 'process', 'instance'] as const
export type Grouping = (typeof GROUPINGS)[number]

export interface EventRef {
  table: EventTable
  id: number
}

/** A box selection: the events of these tracks that overlap the span. */
export interface Box extends Span {
  tracks: number[]
}

export interface MarkerState {
  time: Ps
  name: string
}

export interface View {
  span: Span | null // null: where things happen, which is mostly the whole profile
  event: EventRef | null
  box: Box | null
  tab: Tab
  colour: Colour
  grouping: Grouping
  minimal: boolean
  rowHeight: number
  collapsed: number[]
  hidden: number[]
  pinned: number[]
  order: number[] // manually moved tracks, in order; the others follow in profile order
  filter: string // words that the names of lanes or their groups contain
  search: string
  hit: number // index of the current search result; -1: none
  markers: MarkerState[]
  sql: string
  table: string
  file: string
  line: number
}

export const ROW_HEIGHTS = { min: 10, default: 18, max: 40 }

export function defaultView(): View {
  return {
    span: null, event: null, box: null, tab: 'summary', colour: 'name', grouping: 'default', minimal: false,
    rowHeight: ROW_HEIGHTS.default, collapsed: [], hidden: [], pinned: [], order: [], filter: '', search: '', hit: -1, markers: [],
    sql: '', table: '', file: '', line: 0,
  }
}

export function readRoute(path: string): Route {
  const match = /^\/profile\/([^/]+)\/?$/.exec(path)
  if (!match) return { page: 'profiles' }
  try {
    return { page: 'profile', name: decodeURIComponent(match[1]!) }
  } catch {
    return { page: 'profiles' }
  }
}

export function profilePath(name: string): string {
  return `/profile/${encodeURIComponent(name)}`
}

function readSpan(text: string | null): Span | null {
  const match = /^(-?\d+)-(-?\d+)$/.exec(text ?? '')
  if (!match) return null
  const span = { from: Number(match[1]), to: Number(match[2]) }
  return span.to > span.from ? span : null
}

function writeSpan(span: Span): string {
  return `${Math.round(span.from)}-${Math.round(span.to)}`
}

function readIds(text: string | null): number[] {
  return (text ?? '').split('.').filter((word) => /^\d+$/.test(word)).map(Number)
}

function readOne<T extends string>(text: string | null, all: readonly T[], fallback: T): T {
  return all.includes(text as T) ? (text as T) : fallback
}

function readMarkers(text: string | null): MarkerState[] {
  const markers: MarkerState[] = []
  for (const word of (text ?? '').split('~')) {
    const match = /^(-?\d+)(?:!(.*))?$/s.exec(word)
    if (match) markers.push({ time: Number(match[1]), name: (match[2] ?? '').replaceAll('%7E', '~').replaceAll('%25', '%') })
  }
  return markers
}

function writeMarkers(markers: MarkerState[]): string {
  return markers
    .map((m) => `${Math.round(m.time)}!${m.name.replaceAll('%', '%25').replaceAll('~', '%7E')}`)
    .join('~')
}

export function readView(query: URLSearchParams): View {
  const defaults = defaultView()
  const event = /^(s|h)(\d+)$/.exec(query.get('event') ?? '')
  const box = /^([^_]+)_([\d.]+)$/.exec(query.get('box') ?? '')
  const boxSpan = readSpan(box?.[1] ?? null)
  const height = Number(query.get('height') ?? defaults.rowHeight)
  return {
    span: readSpan(query.get('span')),
    event: event ? { table: event[1] === 'h' ? 'HloRun' : 'SystemProfileEvents', id: Number(event[2]) } : null,
    box: boxSpan ? { ...boxSpan, tracks: readIds(box![2]!) } : null,
    tab: readOne(query.get('tab'), TABS, defaults.tab),
    colour: readOne(query.get('colour'), COLOURS, defaults.colour),
    grouping: readOne(query.get('group'), GROUPINGS, defaults.grouping),
    minimal: query.get('minimal') === '1',
    rowHeight: height >= ROW_HEIGHTS.min && height <= ROW_HEIGHTS.max ? height : defaults.rowHeight,
    collapsed: readIds(query.get('collapsed')),
    hidden: readIds(query.get('hidden')),
    pinned: readIds(query.get('pinned')),
    order: readIds(query.get('order')),
    filter: query.get('tracks') ?? '',
    search: query.get('q') ?? '',
    hit: /^\d+$/.test(query.get('hit') ?? '') ? Number(query.get('hit')) : -1,
    markers: readMarkers(query.get('markers')),
    sql: query.get('sql') ?? '',
    table: query.get('table') ?? '',
    file: query.get('file') ?? '',
    line: Number(query.get('line') ?? 0) || 0,
  }
}

export function writeView(view: View): URLSearchParams {
  const defaults = defaultView()
  const query = new URLSearchParams()
  const put = (name: string, value: string, isDefault: boolean) => {
    if (!isDefault) query.set(name, value)
  }
  const putIds = (name: string, ids: number[]) => put(name, ids.join('.'), ids.length === 0)
  if (view.span) query.set('span', writeSpan(view.span))
  if (view.event) query.set('event', (view.event.table === 'HloRun' ? 'h' : 's') + view.event.id)
  if (view.box) query.set('box', `${writeSpan(view.box)}_${view.box.tracks.join('.')}`)
  put('tab', view.tab, view.tab === defaults.tab)
  put('colour', view.colour, view.colour === defaults.colour)
  put('group', view.grouping, view.grouping === defaults.grouping)
  put('minimal', '1', !view.minimal)
  put('height', String(view.rowHeight), view.rowHeight === defaults.rowHeight)
  putIds('collapsed', view.collapsed)
  putIds('hidden', view.hidden)
  putIds('pinned', view.pinned)
  putIds('order', view.order)
  put('tracks', view.filter, view.filter === '')
  put('q', view.search, view.search === '')
  put('hit', String(view.hit), view.hit < 0)
  put('markers', writeMarkers(view.markers), view.markers.length === 0)
  put('sql', view.sql, view.sql === '')
  put('table', view.table, view.table === '')
  put('file', view.file, view.file === '')
  put('line', String(view.line), view.line <= 0)
  return query
}

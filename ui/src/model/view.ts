// The view state of a page and its encoding in the URL. Everything that a shared link restores is here; defaults are omitted
// from the URL.
import { TOOLS, type Tool } from './analysis'
import type { EventTable } from './api'
import { readRun, type RunRoute } from './run'
import { readSpan, writeSpan, type Ps, type Span } from './time'

/** Two profiles that are compared; their timelines are shown at a step, by its position. */
export interface DiffRoute {
  page: 'diff'
  a: string
  b: string
  step: number | null // null: the first after warming up
}

/** The id finds the profile under another name, too. */
export interface ProfileRoute {
  page: 'profile'
  name: string
  id: string
  isCollective?: boolean // the address that profiles of several ranks are printed with
}

/** What words and figures mean; `at` is an anchor. */
export interface GlossaryRoute {
  page: 'glossary'
  at: string
}

export type Route = { page: 'profiles' } | GlossaryRoute | ProfileRoute | DiffRoute | RunRoute

export const TABS = [
  'summary', 'ranks', 'selection', 'flame', 'search', 'operators', 'kernels', 'steps', 'layers', 'tensors', 'queues', 'memory', 'map',
  'neff', 'terms', 'markers', 'source', 'sql', 'tables',
] as const
export type Tab = (typeof TABS)[number]

export const COLORS = ['name', 'layer', 'hlo', 'opcode', 'engine', 'module', 'family', 'duration'] as const
export type Color = (typeof COLORS)[number]

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

/** The lower panel: at the splitter's height, only its tabs, or all of the page below the toolbar. */
export const PANELS = ['split', 'collapsed', 'maximized'] as const
export type PanelSize = (typeof PANELS)[number]

/** What of a table a link restores: its filter, sorting ("-total_ns": descending), first visible row and choices. */
export interface GridState {
  filter?: string
  sort?: string
  top?: number
  choices?: Record<string, string>
}

/** A track made from a query. */
export interface SqlTrack {
  name: string
  sql: string
}

export interface View {
  tool: Tool | '' // the page of the analysis; empty: the timeline
  span: Span | null // null: where things happen, which is mostly the whole profile
  event: EventRef | null
  box: Box | null
  tab: Tab
  color: Color
  grouping: Grouping
  minimal: boolean | null // null: as the profile's kind wants it
  rank: number | null // of a device profile: whose core is shown; null: all
  isPathShown: boolean // events of the critical path are marked
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
  flame: string // what the flame graph shows; empty: the selection, else what is visible
  sqlTracks: SqlTrack[]
  grids: Record<string, GridState> // by the label of the table
  panel: PanelSize
  tabsHeight: number
  detailsWidth: number
  isDetailsOpen: boolean
}

export const PANEL_SIZES = { tabsHeight: 280, detailsWidth: 340 }

export const ROW_HEIGHTS = { min: 10, default: 18, max: 40 }

export function defaultView(): View {
  return {
    tool: '', span: null, event: null, box: null, tab: 'summary', color: 'name', grouping: 'default', minimal: null, rank: null,
    isPathShown: false, rowHeight: ROW_HEIGHTS.default, collapsed: [], hidden: [], pinned: [], order: [], filter: '', search: '', hit: -1, markers: [],
    sql: '', table: '', file: '', line: 0, flame: '', sqlTracks: [], grids: {}, panel: 'split', ...PANEL_SIZES, isDetailsOpen: true,
  }
}

function readDiff(query: URLSearchParams): DiffRoute {
  const step = query.get('step') ?? ''
  return { page: 'diff', a: query.get('a') ?? '', b: query.get('b') ?? '', step: /^\d+$/.test(step) ? Number(step) : null }
}

export function diffPath({ a, b, step }: Omit<DiffRoute, 'page'>, more = new URLSearchParams()): string {
  const query = new URLSearchParams({ view: 'diff', a, b })
  if (step !== null) query.set('step', String(step))
  for (const [name, value] of more) query.set(name, value)
  return `./?${query}`
}

export function glossaryPath(at: string): string {
  return `glossary${at && `#${encodeURIComponent(at)}`}`
}

function decodeAnchor(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** The page of a path, which is relative to the UI's. */
export function readRoute(path: string, query: URLSearchParams, hash = ''): Route {
  if (/^glossary\/?$/.test(path)) return { page: 'glossary', at: decodeAnchor(hash.slice(1)) }
  if (path === '' && query.get('view') === 'diff') return readDiff(query)
  if (path === '' && query.has('run')) return readRun(query)
  const match = /^profile(_cc)?\/([^/]+)\/?$/.exec(path)
  if (!match) return { page: 'profiles' }
  try {
    const found: Route = { page: 'profile', name: decodeURIComponent(match[2]!), id: query.get('id') ?? '' }
    return match[1] ? { ...found, isCollective: true } : found
  } catch {
    return { page: 'profiles' }
  }
}

export function profilePath(name: string, isCollective = false): string {
  return `profile${isCollective ? '_cc' : ''}/${encodeURIComponent(name)}`
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

function readSize(text: string | null, fallback: number): number {
  const size = Number(text ?? fallback)
  return Number.isInteger(size) && size >= 40 && size <= 10_000 ? size : fallback
}

/** JSON of the expected shape, else the fallback. */
function readJson<T>(text: string | null, fallback: T, isValid: (value: unknown) => boolean): T {
  try {
    const value: unknown = JSON.parse(text ?? 'null')
    return value !== null && isValid(value) ? (value as T) : fallback
  } catch {
    return fallback
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function isGrid(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { filter = '', sort = '', top = 0, choices = {} } = value
  return typeof filter === 'string' && typeof sort === 'string' && typeof top === 'number' && isRecord(choices)
}

const isSqlTrack = (value: unknown) => isRecord(value) && typeof value.name === 'string' && typeof value.sql === 'string'

/** Tables that differ from their defaults. */
function changedGrids(grids: View['grids']): View['grids'] {
  const isSet = (value: unknown) => (isRecord(value) ? Object.values(value).some(isSet) : Boolean(value))
  const pick = (grid: GridState) => Object.fromEntries(Object.entries(grid).filter(([, value]) => isSet(value)))
  return Object.fromEntries(Object.entries(grids).map(([label, grid]) => [label, pick(grid)] as const).filter(([, grid]) => isSet(grid)))
}

/** Also of older links, which say colour and maximised. */
export function readView(query: URLSearchParams): View {
  const defaults = defaultView()
  const event = /^(s|h)(\d+)$/.exec(query.get('event') ?? '')
  const box = /^([^_]+)_([\d.]+)$/.exec(query.get('box') ?? '')
  const boxSpan = readSpan(box?.[1] ?? null)
  const height = Number(query.get('height') ?? defaults.rowHeight)
  return {
    tool: readOne(query.get('tool'), ['', ...TOOLS], defaults.tool),
    span: readSpan(query.get('span')),
    event: event ? { table: event[1] === 'h' ? 'HloRun' : 'SystemProfileEvents', id: Number(event[2]) } : null,
    box: boxSpan ? { ...boxSpan, tracks: readIds(box![2]!) } : null,
    tab: readOne(query.get('tab'), TABS, defaults.tab),
    color: readOne(query.get('color') ?? query.get('colour'), COLORS, defaults.color),
    grouping: readOne(query.get('group'), GROUPINGS, defaults.grouping),
    minimal: query.get('minimal') === '1' ? true : query.get('minimal') === '0' ? false : null,
    rank: /^\d+$/.test(query.get('rank') ?? '') ? Number(query.get('rank')) : null,
    isPathShown: query.get('path') === '1',
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
    flame: query.get('flame') ?? '',
    sqlTracks: readJson(query.get('sqltracks'), [], (value) => Array.isArray(value) && value.every(isSqlTrack)),
    grids: readJson(query.get('grids')?.replaceAll('"colour":"', '"color":"') ?? null, {}, (value) => isRecord(value) && Object.values(value).every(isGrid)),
    panel: readOne(query.get('panel')?.replace('maximised', 'maximized') ?? null, PANELS, defaults.panel),
    tabsHeight: readSize(query.get('lower'), defaults.tabsHeight),
    detailsWidth: readSize(query.get('side'), defaults.detailsWidth),
    isDetailsOpen: query.get('details') !== '0',
  }
}

export function writeView(view: View): URLSearchParams {
  const defaults = defaultView()
  const query = new URLSearchParams()
  const put = (name: string, value: string, isDefault: boolean) => {
    if (!isDefault) query.set(name, value)
  }
  const putIds = (name: string, ids: number[]) => put(name, ids.join('.'), ids.length === 0)
  put('tool', view.tool, view.tool === '')
  if (view.span) query.set('span', writeSpan(view.span))
  if (view.event) query.set('event', (view.event.table === 'HloRun' ? 'h' : 's') + view.event.id)
  if (view.box) query.set('box', `${writeSpan(view.box)}_${view.box.tracks.join('.')}`)
  put('tab', view.tab, view.tab === defaults.tab)
  put('color', view.color, view.color === defaults.color)
  put('group', view.grouping, view.grouping === defaults.grouping)
  put('minimal', view.minimal ? '1' : '0', view.minimal === null)
  put('rank', String(view.rank), view.rank === null)
  put('path', '1', !view.isPathShown)
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
  put('flame', view.flame, view.flame === '')
  put('sqltracks', JSON.stringify(view.sqlTracks), view.sqlTracks.length === 0)
  const grids = changedGrids(view.grids)
  put('grids', JSON.stringify(grids), Object.keys(grids).length === 0)
  put('panel', view.panel, view.panel === defaults.panel)
  put('lower', String(view.tabsHeight), view.tabsHeight === defaults.tabsHeight)
  put('side', String(view.detailsWidth), view.detailsWidth === defaults.detailsWidth)
  put('details', '0', view.isDetailsOpen)
  return query
}

// Types of the server's responses, as documented in docs/api.md. Times are strings of picoseconds.

export type ProfileStatus = 'uploaded' | 'processing' | 'ready' | 'failed'

export interface Profile {
  name: string
  status: ProfileStatus
  percent: number
  reason: string | null
  created: string
  bytes: number
  events: number
  duration_ns: number
  format: string | null
  favourite: boolean
}

export type TrackLevel = 'instance' | 'process' | 'source' | 'lane'
export type EventTable = 'SystemProfileEvents' | 'HloRun'

export interface Track {
  id: number
  parent: number | null
  level: TrackLevel
  role: string
  name: string
  table: EventTable
  is_counter: boolean
  rows: number
  event_count: number
  sort_key: number
}

export interface TracksResponse {
  from: string
  to: string
  focus_from: string // where things happen
  focus_to: string
  start_epoch_ns: string | null
  tracks: Track[]
}

export interface Field {
  name: string
  value: unknown
  unit: string
  meaning: string
}

export interface Dependency {
  id: number
  table: EventTable
  name: string
  track: number
  row: number | null
  start: string
  duration: string
  type: string
  gap_ns: number | null
}

export interface EventDetails {
  id: number
  table: EventTable
  name: string
  track: number
  row: number | null
  start: string
  end: string
  groups: { title: string; fields: Field[] }[]
  predecessors: Dependency[]
  successors: Dependency[]
}

export interface NameTotal {
  name: string
  count: number
  total_ns: number
  mean_ns: number
  max_ns: number
}

export interface Hit {
  table: EventTable
  id: number
  track: number
  name: string
  start: string
  duration: string
}

export interface SearchResponse {
  count: number
  total_ns: number
  tables: { table: EventTable; count: number; total_ns: number }[]
  names: NameTotal[]
  ranges: { from: string; to: string }[] // from the first start to the last in each thousandth of the profile
  hits: Hit[]
}

export interface SelectionResponse {
  count: number
  total_ns: number
  names: NameTotal[]
  tracks: { track: number; count: number; total_ns: number }[]
}

export interface Column {
  name: string
  type: string
  unit: string
  meaning: string
}

export interface TableInfo {
  name: string
  meaning: string
  rows: number
  columns: Column[]
}

export type ColumnKind = 'text' | 'number' | 'boolean' | 'json'

export interface SqlResponse {
  columns: { name: string; kind: ColumnKind }[]
  rows: unknown[][]
  truncated: boolean
}

export interface Upload {
  id: string
  name: string
  status: string
  percent: number
  reason: string | null
}

export interface Marker {
  time: string
  name: string
}

// Types of the server's responses, as documented in docs/api.md. Times are strings of picoseconds.
import type { FigureKey } from './figures'

export type ProfileStatus = 'uploaded' | 'processing' | 'ready' | 'failed'

export interface Profile {
  name: string
  id: string | null // stays the same when it is renamed; null until it is processed
  status: ProfileStatus
  percent: number
  reason: string | null
  created: string
  bytes: number
  events: number | null // null, as all that follow: not recorded
  duration_ns: number | null
  format: string | null
  device_model: string | null
  device_count: number | null
  step_ns: number | null // step time
  finding: ListedFinding | null // the costliest
  is_capture: boolean // processing it again captures again
  dropped_warning?: string | null // the sentence about events that the capture dropped
  favorite: boolean
}

export interface ListedFinding {
  rule: string
  title: string
  cost_ns: number
  share: number
  share_of: string
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
  figure?: { id: string; key: FigureKey } // of numbers
}

/** Columns of a row of a table, or attributes of one. */
export interface FieldGroup {
  title: string
  table?: string
  attributes_of?: string
  key?: Record<string, number> // of the row
  fields: Field[]
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

/** An event in relation to another one. */
export interface RelatedEvent {
  id: number
  table: EventTable
  name: string
  track: number
  start: string
  duration: string
}

export interface EventDetails {
  id: number
  table: EventTable
  name: string
  track: number
  row: number | null
  start: string
  end: string
  groups: FieldGroup[]
  predecessors: Dependency[] // the first, as all lists here
  predecessors_count?: number
  successors: Dependency[]
  successors_count?: number
  launch_count?: number // of all successors
  previous?: RelatedEvent | null // in its row
  next?: RelatedEvent | null
  self?: string | null // in ps
  parent?: RelatedEvent | null
  child_count?: number
  children?: RelatedEvent[]
  parts?: RelatedEvent[] // kernels of an operation, operations of a module
  parts_count?: number
  part_of?: RelatedEvent[] // operation and module of a kernel
  part_of_count?: number
}

export interface FlameResponse {
  total_ns: number
  count: number
  left_out: number
  nodes: { name: string; parent: number; count: number; total_ns: number; self_ns: number }[]
}

export interface NameTotal {
  name: string
  count: number
  total_ns: number
  self_ns: number | null // null in profiles of earlier versions
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
  self: string | null
}

/** Events of one kind of track: "host", or the role of a device's track. Kinds show the same device work again, so they are not added. */
export interface KindTotal {
  kind: string | null
  table: EventTable
  count: number
  total_ns: number
  self_ns: number | null
}

export interface SearchResponse {
  query: string // SQL of all that match, with their kinds
  count: number
  kinds: KindTotal[]
  names: (NameTotal & { kind: string | null })[]
  ranges: { from: string; to: string }[] // from the first start to the last in each thousandth of the profile
  hits: Hit[]
}

export interface SelectionResponse {
  count: number
  total_ns: number
  self_ns: number | null
  names: NameTotal[]
  tracks: { track: number; count: number; total_ns: number; self_ns: number | null }[]
  edges: EdgeEvent[]
}

/** An event that reaches over the borders of a range, and its self time inside, in ps. */
export interface EdgeEvent {
  id: number
  self: string
}

export interface Column {
  name: string
  type: string
  unit: string
  meaning: string
  formula?: string // of metrics
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

// Color modes: each maps a slice to a palette slot by name, duration or track, and provides its legend.
import type { Track } from './api'
import { READABLE_SYMBOLS } from './sql'
import { durationSlot, keySlot, nameSlot, NEUTRAL } from './palette'
import type { Color } from './view'

export interface LegendEntry {
  label: string
  slot: number
}

export interface Coloring {
  mode: Color
  /** Null when the color does not depend on the name. */
  ofName: ((name: string) => number) | null
  ofDuration: ((duration: number) => number) | null
  ofTrack: ((track: number) => number) | null
  ofEvent?: (id: number) => number // where names do not tell: instructions of one opcode are in many layers
  legend: LegendEntry[]
}

const MAX_LEGEND_ENTRIES = 12
const OTHERS = 'other'

export const BY_NAME: Coloring = { mode: 'name', ofName: nameSlot, ofDuration: null, ofTrack: null, legend: [] }

export const BY_DURATION: Coloring = {
  mode: 'duration',
  ofName: null,
  ofDuration: durationSlot,
  ofTrack: null,
  legend: ['100 ns', '1 µs', '10 µs', '100 µs', '1 ms', '10 ms', '100 ms'].map((label, power) => ({
    label, slot: durationSlot(1e5 * 10 ** power),
  })),
}

/** Rows of [name, key], most important first: keys get colors in that order. */
export function byKey(mode: Color, rows: [string, string][]): Coloring {
  const slots = new Map<string, number>()
  const names = new Map<string, number>()
  for (const [name, key] of rows) {
    if (!slots.has(key)) slots.set(key, keySlot(slots.size))
    names.set(name, slots.get(key)!)
  }
  const legend = [...slots].slice(0, MAX_LEGEND_ENTRIES).map(([label, slot]) => ({ label, slot }))
  legend.push({ label: slots.size === 0 ? `no ${mode} information` : OTHERS, slot: NEUTRAL })
  return { mode, ofName: (name) => names.get(name) ?? NEUTRAL, ofDuration: null, ofTrack: null, legend }
}

/** Events with consecutive ids that have the same key. */
export interface KeyRun {
  first: number
  last: number
  key: string
  total_ns: number // of all events with the key
}

const MAX_COLORS = 36 // that can be told apart

/** "/gpt/block0/attention/q" at depth 2 is "/gpt/block0". */
function cutPath(path: string, depth: number): string {
  const parts = path.split('/')
  return parts.slice(0, depth + (parts[0] === '' ? 1 : 0)).join('/')
}

/** The longest prefixes of paths that still have a color each. */
export function layersToColor(layers: readonly string[]): (layer: string) => string {
  const deepest = Math.max(1, ...layers.map((layer) => layer.split('/').filter(Boolean).length))
  for (let depth = deepest; depth > 1; depth--)
    if (new Set(layers.map((layer) => cutPath(layer, depth))).size <= MAX_COLORS) return (layer) => cutPath(layer, depth)
  return (layer) => cutPath(layer, 1)
}

/** Runs in order of ids; keys get colors in order of their time. */
export function byEvent(mode: Color, runs: readonly KeyRun[], keyOf: (key: string) => string = (key) => key): Coloring {
  const known = new Map(runs.map((run) => [run.key, run.total_ns]))
  const totals = new Map<string, number>()
  for (const [key, total] of known) totals.set(keyOf(key), (totals.get(keyOf(key)) ?? 0) + total)
  const ordered = [...totals].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([key]) => key)
  const slots = new Map(ordered.map((key, at) => [key, keySlot(at)]))
  const ofRun = runs.map((run) => slots.get(keyOf(run.key))!)
  const ofEvent = (id: number) => {
    let [low, high] = [0, runs.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (runs[middle]!.last < id) low = middle + 1
      else high = middle
    }
    return low < runs.length && runs[low]!.first <= id ? ofRun[low]! : NEUTRAL
  }
  const legend = ordered.slice(0, MAX_LEGEND_ENTRIES).map((label) => ({ label, slot: slots.get(label)! }))
  legend.push({ label: slots.size === 0 ? `no ${mode} information` : OTHERS, slot: NEUTRAL })
  return { mode, ofName: null, ofDuration: null, ofTrack: null, ofEvent, legend }
}

/** Kernels by family; those of none are neutral, as is all other work. */
export const FAMILIES_QUERY = `SELECT coalesce(s.readable, k.name) AS name, family FROM GpuKernel k LEFT JOIN ${READABLE_SYMBOLS} s ON s.symbol = k.name
  WHERE family <> 'other' GROUP BY 1, family ORDER BY sum(sum(duration_ns)) OVER (PARTITION BY family) DESC, family, 1`

/** Opcodes are the names of instructions. */
export const OPCODES_QUERY = `SELECT opcode, opcode FROM Instruction GROUP BY opcode ORDER BY sum(duration_ns) DESC, opcode`

/** Runs of a device's instructions, as rows of KeyRun. */
export function runsQuery(mode: 'layer' | 'hlo'): string {
  const key = mode === 'layer' ? 'layer' : 'hlo_name'
  return `WITH keyed AS (SELECT id, ${key} AS key, duration_ns, lag(${key}) OVER (ORDER BY id) AS before, lag(id) OVER (ORDER BY id) AS last
    FROM Instruction WHERE ${key} <> ''),
    numbered AS (SELECT *, sum((key IS DISTINCT FROM before OR last <> id - 1)::INT) OVER (ORDER BY id) AS run FROM keyed),
    totals AS (SELECT key, sum(duration_ns)::DOUBLE AS total_ns FROM keyed GROUP BY key)
    SELECT min(id) AS first, max(id) AS last, any_value(key) AS key, any_value(total_ns) AS total_ns
    FROM numbered JOIN totals USING (key) GROUP BY run ORDER BY first`
}

/** The engine of a lane: the kind of stream or module lane on devices, the thread name on hosts. */
export function engineOf(track: Track, parent: Track | undefined): string {
  const lane = track.name.replace(/\(.*\)$/, '').replace(/[/#\s:_-]*-?\d+$/, '').trim()
  return parent?.role === 'device' || !lane ? `${lane || track.role}` : `host: ${lane}`
}

export function byEngine(tracks: Track[]): Coloring {
  const byId = new Map(tracks.map((track) => [track.id, track]))
  const slots = new Map<string, number>()
  const ofTrack = new Map<number, number>()
  for (const track of tracks) {
    if (track.level !== 'lane' || track.is_counter || track.event_count === 0) continue
    const engine = engineOf(track, track.parent === null ? undefined : byId.get(track.parent))
    if (!slots.has(engine)) slots.set(engine, keySlot(slots.size))
    ofTrack.set(track.id, slots.get(engine)!)
  }
  const legend = [...slots].slice(0, MAX_LEGEND_ENTRIES).map(([label, slot]) => ({ label, slot }))
  return { mode: 'engine', ofName: null, ofDuration: null, ofTrack: (track) => ofTrack.get(track) ?? NEUTRAL, legend }
}

/**
 * Selects names with their keys, ordered by the key's total time; null when the profile lacks the tables. A name with
 * several keys gets the one with the most time.
 */
export function colorQuery(mode: 'layer' | 'opcode' | 'module', tables: ReadonlySet<string>): string | null {
  const key = { layer: layerOf('o.op_name'), opcode: 'o.opcode', module: 'm.name' }[mode]
  const parts: string[] = []
  const add = (from: string, value = key) => parts.push(`SELECT e.name, ${value} AS key, e.duration_ns AS ns FROM ${from}`)
  if (tables.has('HloOperation') && tables.has('HloModule')) {
    const operation = 'JOIN HloOperation o ON o.id = e.operation_id JOIN HloModule m ON m.id = o.module_id'
    if (tables.has('GpuKernel')) add(`GpuKernel e ${operation}`)
    if (tables.has('HloRun')) add(`HloRun e ${operation}`)
    // On TPUs the event type is the HLO text, "%fusion.1 = f32[8] fusion(…)", and for modules the label.
    if (tables.has('EventType')) {
      const types = '(SELECT coalesce(display_name, name) AS name, name AS text, 0 AS duration_ns FROM EventType) e'
      add(`${types} JOIN HloOperation o ON o.name = regexp_extract(e.text, '^%([^ ]+) =', 1)
        JOIN HloModule m ON m.id = o.module_id`)
      if (mode === 'module') add(`${types} JOIN HloModule m ON m.label = e.text`)
    }
    if (mode === 'module' && tables.has('HloRun')) add('HloRun e JOIN HloModule m ON m.id = e.module_id')
  }
  if (mode === 'layer' && tables.has('GpuKernel')) add('GpuKernel e WHERE e.operation_id IS NULL', layerOf('e.framework_op'))
  if (parts.length === 0) return null
  return `WITH known AS (SELECT name, key, sum(ns) AS ns FROM (${parts.join(' UNION ALL ')})
    WHERE key IS NOT NULL AND key <> '' GROUP BY name, key),
    keys AS (SELECT key, sum(ns) AS total FROM known GROUP BY key)
    SELECT name, arg_max(key, known.ns) AS key FROM known JOIN keys USING (key) GROUP BY name
    ORDER BY max(total) DESC, 2, 1`
}

/** "jit(f)/transpose(jvp(block_1))/attn/dot_general" belongs to layer "jit(f)/transpose(jvp(block_1))/attn". */
function layerOf(column: string): string {
  return `regexp_replace(${column}, '/[^/]*$', '')`
}

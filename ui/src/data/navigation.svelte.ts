// Timeline navigation for other panels: go to a track, an event or a time range. Leaves the analysis for it.
import type { EventTable } from '../model/api'
import { toPs, type Ps, type Span } from '../model/time'
import { decodeTimeline } from '../model/timelineData'
import * as api from './api'
import { profile } from './profile.svelte'
import { pushHistory, view } from './view.svelte'

/** Incremented by every request to show a track; the timeline expands its groups and scrolls to it. */
export const reveal: { track: number; count: number } = $state({ track: -1, count: 0 })

const ZOOM_OUT = 6 // an event that is brought into view takes a sixth of it

export function revealTrack(track: number): void {
  reveal.track = track
  reveal.count++
}

/** Of a profile that is closed. */
export function forgetRevealed(): void {
  Object.assign(reveal, { track: -1, count: 0 })
}

/** Shows a time range; the timeline clamps it to the profile. */
export function showSpan(from: Ps, to: Ps): void {
  pushHistory(() => {
    view.tool = ''
    view.span = { from, to: Math.max(to, from + 1) }
  })
}

const AROUND = 0.02 // of the profile

/** Shows a time with something around it. */
export function showTime(at: Ps): void {
  const half = ((profile.span.to - profile.span.from) * AROUND) / 2
  showSpan(at - half, at + half)
}

function visible(): Span {
  return view.span ?? profile.focus
}

interface Shown {
  table: EventTable
  id: number
  track: number
  start: string
  duration: string
}

/** Selects an event, and moves the viewport if it is off screen or too small to see. */
export function showEvent(event: Shown): void {
  pushHistory(() => select(event))
}

function select(event: Shown): void {
  const from = toPs(event.start)
  const length = Math.max(1, toPs(event.duration))
  const window = visible()
  const width = window.to - window.from
  view.tool = ''
  view.event = { table: event.table, id: event.id }
  const isTiny = toPs(event.duration) > 0 && length < width / 2000 // an instant has no length to zoom to
  if (from >= window.to || from + length <= window.from || isTiny) {
    const wide = Math.min(isTiny ? length * ZOOM_OUT : width, profile.span.to - profile.span.from)
    const middle = from + length / 2
    view.span = { from: middle - wide / 2, to: middle + wide / 2 }
  }
  revealTrack(event.track)
}

/** Selects an event near the selected one. The view keeps its width, and follows where the event is outside. */
export function walkTo(event: Shown): void {
  const from = toPs(event.start)
  const length = Math.max(1, toPs(event.duration))
  const window = visible()
  const width = window.to - window.from
  pushHistory(() => {
    view.event = { table: event.table, id: event.id }
    if (from < window.to && from + length > window.from) return
    const left = Math.round(from - Math.max(0, width - length) / 2)
    view.span = { from: left, to: left + Math.round(width) }
  })
  revealTrack(event.track)
}

/** Highlights the matches of the first query that has some, and selects the first of them. False when none has. */
export async function findOnTimeline(queries: readonly string[]): Promise<boolean> {
  for (const query of queries) {
    // A field that no table of the profile has finds nothing.
    const [hit] = (await api.search(profile.name, query, 1).catch(() => ({ hits: [] }))).hits
    if (!hit) continue
    pushHistory(() => {
      Object.assign(view, { search: query, hit: 0, tab: 'search' })
      select(hit)
    })
    return true
  }
  return false
}

/** The time of a step on the host and on devices, given the event that marks it; null for other events. */
export async function stepSpan(name: string, event: number): Promise<Span | null> {
  const { rows } = await api.runSql(name, `SELECT least(start_ts, device_start_ts) * 1000, greatest(end_ts, device_end_ts) * 1000
    FROM Step WHERE event_id = ${event}`)
  const row = rows[0] as [number, number] | undefined
  return row ? { from: row[0], to: row[1] } : null
}

/** Same, given the number that the program or the analysis gave it. */
export async function stepSpanByNumber(name: string, number: string): Promise<Span | null> {
  if (!/^\d+$/.test(number)) return null
  const { rows } = await api.runSql(name, `SELECT least(start_ts, device_start_ts) * 1000, greatest(end_ts, device_end_ts) * 1000
    FROM Step WHERE number = ${number} OR (number IS NULL AND id = ${number}) LIMIT 1`)
  const row = rows[0] as [number, number] | undefined
  return row ? { from: row[0], to: row[1] } : null
}

/** The time from the first event of some tracks to the last; null without any. */
export async function tracksSpan(name: string, tracks: number[]): Promise<Span | null> {
  const data = decodeTimeline(await api.getTimeline(name, tracks, profile.span, 1))
  let span: Span | null = null
  for (const { start, end } of [data.slices, data.counters]) {
    for (let i = 0; i < start.length; i++) {
      const [from, to] = [data.from + start[i]!, data.from + end[i]!]
      span = span ? { from: Math.min(span.from, from), to: Math.max(span.to, to) } : { from, to }
    }
  }
  return span
}

/** Same, for an event known only by its id. */
export async function showEventById(table: EventTable, id: number): Promise<void> {
  const event = await api.getEvent(profile.name, table, id)
  showEvent({ ...event, duration: String(BigInt(event.end) - BigInt(event.start)) })
}

/** Selects an event without moving the viewport in time. */
export async function revealTrackOf(table: EventTable, id: number): Promise<void> {
  const event = await api.getEvent(profile.name, table, id)
  pushHistory(() => {
    view.tool = ''
    view.event = { table, id }
  })
  revealTrack(event.track)
}

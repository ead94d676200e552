// What other parts of the page ask of the timeline: to show a track, an event, a stretch of time.
import type { EventTable } from '../model/api'
import { toPs, type Ps, type Span } from '../model/time'
import * as api from './api'
import { profile } from './profile.svelte'
import { pushHistory, view } from './view.svelte'

/** Grows with every wish to see a track; the timeline scrolls to it, opening what it is folded into. */
export const reveal: { track: number; count: number } = $state({ track: -1, count: 0 })

const AROUND = 6 // an event that is brought into view takes a sixth of it

export function revealTrack(track: number): void {
  reveal.track = track
  reveal.count++
}

/** The span if it lies in the profile, else the part of it that does. */
export function showSpan(from: Ps, to: Ps): void {
  pushHistory(() => {
    view.span = { from, to: Math.max(to, from + 1) }
  })
}

function visible(): Span {
  return view.span ?? profile.span
}

/** Chooses an event, and moves the picture if it is not to be seen there, or too small to be. */
export function showEvent(event: {
  table: EventTable; id: number; track: number; start: string; duration: string
}): void {
  const from = toPs(event.start)
  const length = Math.max(1, toPs(event.duration))
  const window = visible()
  const width = window.to - window.from
  pushHistory(() => {
    view.event = { table: event.table, id: event.id }
    if (from >= window.to || from + length <= window.from || length < width / 2000) {
      const wide = Math.min(length < width / 2000 ? length * AROUND : width, profile.span.to - profile.span.from)
      const middle = from + length / 2
      view.span = { from: middle - wide / 2, to: middle + wide / 2 }
    }
  })
  revealTrack(event.track)
}

/** The same of an event of which no more is known than its number. */
export async function showEventById(table: EventTable, id: number): Promise<void> {
  const event = await api.getEvent(profile.name, table, id)
  showEvent({ ...event, duration: String(BigInt(event.end) - BigInt(event.start)) })
}

// Causes and effects: the way somebody went along them, and all of them a few levels up and down.
import type { Dependency, EventDetails } from '../model/api'
import type { EventRef } from '../model/view'
import * as api from './api'
import { showEvent } from './focus.svelte'
import { Latest } from './latest'
import { toObjects } from './sql.svelte'
import { schema } from './tables.svelte'
import { view } from './view.svelte'

type Step = Pick<Dependency, 'table' | 'id' | 'name' | 'track' | 'start' | 'duration'>

const isSame = (a: EventRef | null | undefined, b: EventRef | null | undefined) =>
  a?.id === b?.id && a?.table === b?.table

class Trail {
  steps: Step[] = $state.raw([])

  /** Goes from an event to one it depends on, or that depends on it. */
  follow(from: EventDetails, to: Step): void {
    const here: Step = { ...from, duration: String(BigInt(from.end) - BigInt(from.start)) }
    const before = this.steps.length > 0 && isSame(this.steps.at(-1), from) ? this.steps : [here]
    const known = before.findIndex((step) => isSame(step, to))
    this.steps = known >= 0 ? before.slice(0, known + 1) : [...before, to]
    showEvent(to)
  }

  back(to: Step): void {
    this.steps = this.steps.slice(0, this.steps.indexOf(to) + 1)
    showEvent(to)
  }

  /** An event that was chosen otherwise begins a new way. */
  keepFor(event: EventRef | null): void {
    if (this.steps.length > 0 && !isSame(this.steps.at(-1), event)) this.steps = []
  }
}

export interface Link extends Dependency {
  level: number
}

const MOST_LEVELS = 5
const MOST_ASKED = 40 // events asked for in each direction
const MOST_INSIDE = 40
const MOST_SHOWN = 500

const PLACE =
  'e.id, e.name, e.track_id AS track, (e.start_ts::HUGEINT * 1000 + e.start_fraction_ps)::VARCHAR AS start, ' +
  '(e.duration_ns::HUGEINT * 1000 + e.duration_fraction_ps)::VARCHAR AS duration'

interface Place {
  id: number
  track: number
  start: string
  end: string
}

const ns = (ps: string) => (BigInt(ps) / 1000n).toString()

/** Events of its own track around an event, the innermost first: the calls it is part of. */
function aroundSql({ id, track, start, end }: Place): string {
  return (
    `SELECT ${PLACE} FROM SystemProfileEvents e WHERE e.track_id = ${track} AND e.id <> ${id} AND e.start_ts <= ${ns(start)} ` +
    `AND e.end_ts >= ${ns(end)} AND e.duration_ns > ${ns(end)} - ${ns(start)} ORDER BY e.duration_ns, e.id LIMIT ${MOST_INSIDE}`
  )
}

/** Events inside an event that made something happen. */
function insideSql({ id, track, start, end }: Place): string {
  return (
    `SELECT ${PLACE} FROM SystemProfileEvents e WHERE e.track_id = ${track} AND e.id <> ${id} AND e.start_ts >= ${ns(start)} ` +
    `AND e.end_ts <= ${ns(end)} AND e.duration_ns < ${ns(end)} - ${ns(start)} ` +
    `AND e.id IN (SELECT in_id FROM Flow WHERE in_table = 'SystemProfileEvents') ` +
    `ORDER BY e.start_ts, e.id LIMIT ${MOST_INSIDE + 1}`
  )
}

/** From the framework's call over the runtime's to the device's work: along causes and effects, and into and out of the
 *  calls that contain them. Bounded, as a graph's launch alone may have a thousand effects. */
class Chain {
  upstream: Link[] = $state.raw([])
  downstream: Link[] = $state.raw([])
  isCut = $state(false) // there is more than was asked for
  isLoading = $state(false)
  of: EventDetails | null = $state.raw(null)
  error: string | null = $state(null)
  #latest = new Latest()

  async load(profile: string, details: EventDetails): Promise<void> {
    const signal = this.#latest.begin()
    this.of = details
    this.isLoading = true
    this.isCut = false
    this.error = null
    try {
      const [upstream, downstream] = await Promise.all([
        this.#climb(profile, details, signal), this.#descend(profile, details, signal),
      ])
      if (signal.aborted) return
      this.upstream = upstream
      this.downstream = downstream
    } catch (failure) {
      if (signal.aborted) return
      this.error = (failure as Error).message
    }
    this.isLoading = false
  }

  async #climb(profile: string, from: EventDetails, signal: AbortSignal): Promise<Link[]> {
    const links = await this.#walk(profile, [from], 'predecessors', 0, signal)
    const causes = links.slice(0, 2).map((link) => ({ ...link, end: String(BigInt(link.start) + BigInt(link.duration)) }))
    for (const root of [{ ...from, level: 0 }, ...causes].filter((one) => one.table === 'SystemProfileEvents')) {
      const around = await this.#ask(profile, aroundSql(root), 'contains', signal)
      links.push(...around.map((link, depth) => ({ ...link, level: root.level + depth + 1 })))
    }
    return this.#first(links)
  }

  async #descend(profile: string, from: EventDetails, signal: AbortSignal): Promise<Link[]> {
    const own = await this.#walk(profile, [from], 'successors', 0, signal)
    if (from.table !== 'SystemProfileEvents' || !schema.has('Flow')) return this.#first(own)
    const inside = await this.#ask(profile, insideSql(from), 'inside', signal)
    if (inside.length > MOST_INSIDE) this.isCut = true
    const calls = await this.#details(profile, inside.slice(0, MOST_INSIDE), signal)
    const effects = await this.#walk(profile, calls, 'successors', 1, signal)
    return this.#first([...own, ...inside.map((link) => ({ ...link, level: 1 })), ...effects])
  }

  /** Along flows, level by level. */
  async #walk(
    profile: string, from: EventDetails[], side: 'predecessors' | 'successors', above: number, signal: AbortSignal,
  ): Promise<Link[]> {
    const links: Link[] = []
    const seen = new Set(from.map((event) => `${event.table}${event.id}`))
    let level = from
    let asked = 0
    for (let depth = above + 1; level.length > 0; depth++) {
      const next: Link[] = []
      for (const link of level.flatMap((event) => event[side])) {
        if (seen.has(`${link.table}${link.id}`)) continue
        seen.add(`${link.table}${link.id}`)
        next.push({ ...link, level: depth })
      }
      links.push(...next)
      const wanted = depth < MOST_LEVELS ? next.slice(0, MOST_ASKED - asked) : []
      if (wanted.length < next.length) this.isCut = true
      asked += wanted.length
      level = await this.#details(profile, wanted, signal)
    }
    return links
  }

  #details(profile: string, links: readonly Dependency[], signal: AbortSignal): Promise<EventDetails[]> {
    return Promise.all(links.map((link) => api.getEvent(profile, link.table, link.id, signal)))
  }

  async #ask(profile: string, sql: string, type: string, signal: AbortSignal): Promise<Dependency[]> {
    const found = toObjects<Step>(await api.runSql(profile, sql, MOST_SHOWN, signal))
    return found.map((one) => ({ ...one, table: 'SystemProfileEvents', row: null, type, gap_ns: null }))
  }

  #first(links: Link[]): Link[] {
    if (links.length > MOST_SHOWN) this.isCut = true
    return links.sort((a, b) => a.level - b.level).slice(0, MOST_SHOWN)
  }
}

export const trail = new Trail()
export const chain = new Chain()

/** For the panel of details: what was followed is forgotten when another event is chosen. */
export function keepTrail(): void {
  trail.keepFor(view.event)
}

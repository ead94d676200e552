// Dependencies of the selected event: breadcrumbs of the events followed, and the chain upstream and downstream.
import type { Dependency, EventDetails } from '../model/api'
import type { EventRef } from '../model/view'
import * as api from './api'
import { showEvent } from './navigation.svelte'
import { LatestRequest } from './latestRequest'
import { toObjects } from './sql.svelte'
import { schema } from './schema.svelte'
import { view } from './view.svelte'

type EventSummary = Pick<Dependency, 'table' | 'id' | 'name' | 'track' | 'start' | 'duration'>

const isSame = (a: EventRef | null | undefined, b: EventRef | null | undefined) =>
  a?.id === b?.id && a?.table === b?.table

class Breadcrumbs {
  entries: EventSummary[] = $state.raw([])

  /** Goes from an event to a predecessor or successor. */
  follow(from: EventDetails, to: EventSummary): void {
    const here: EventSummary = { ...from, duration: String(BigInt(from.end) - BigInt(from.start)) }
    const before = this.entries.length > 0 && isSame(this.entries.at(-1), from) ? this.entries : [here]
    const known = before.findIndex((entry) => isSame(entry, to))
    this.entries = known >= 0 ? before.slice(0, known + 1) : [...before, to]
    showEvent(to)
  }

  back(to: EventSummary): void {
    this.entries = this.entries.slice(0, this.entries.indexOf(to) + 1)
    showEvent(to)
  }

  /** Clears the path when another event was selected by other means. */
  resetUnless(event: EventRef | null): void {
    if (this.entries.length > 0 && !isSame(this.entries.at(-1), event)) this.entries = []
  }
}

export interface ChainEvent extends Dependency {
  level: number
  from?: EventRef // what a flow links it to
}

const MAX_LEVELS = 5
const MAX_REQUESTS = 40 // events fetched in each direction
const MAX_NESTED = 40
const MAX_EVENTS = 500

const EVENT_COLUMNS =
  'e.id, e.name, e.track_id AS track, (e.start_ts::HUGEINT * 1000 + e.start_fraction_ps)::VARCHAR AS start, ' +
  '(e.duration_ns::HUGEINT * 1000 + e.duration_fraction_ps)::VARCHAR AS duration'

interface EventRange {
  id: number
  track: number
  start: string
  end: string
}

const ns = (ps: string) => (BigInt(ps) / 1000n).toString()

/** Events on the same track that enclose an event, innermost first: its callers. */
function enclosingSql({ id, track, start, end }: EventRange): string {
  return (
    `SELECT ${EVENT_COLUMNS} FROM SystemProfileEvents e WHERE e.track_id = ${track} AND e.id <> ${id} AND e.start_ts <= ${ns(start)} ` +
    `AND e.end_ts >= ${ns(end)} AND e.duration_ns > ${ns(end)} - ${ns(start)} ORDER BY e.duration_ns, e.id LIMIT ${MAX_NESTED}`
  )
}

/** Events nested in an event that have outgoing flows. */
function nestedSql({ id, track, start, end }: EventRange): string {
  return (
    `SELECT ${EVENT_COLUMNS} FROM SystemProfileEvents e WHERE e.track_id = ${track} AND e.id <> ${id} AND e.start_ts >= ${ns(start)} ` +
    `AND e.end_ts <= ${ns(end)} AND e.duration_ns < ${ns(end)} - ${ns(start)} ` +
    `AND e.id IN (SELECT in_id FROM Flow WHERE in_table = 'SystemProfileEvents') ` +
    `ORDER BY e.start_ts, e.id LIMIT ${MAX_NESTED + 1}`
  )
}

/** From framework calls through runtime calls to device work: along flows, and through enclosing and nested calls. Bounded,
 *  as a graph launch alone may have a thousand successors. */
class DependencyChain {
  upstream: ChainEvent[] = $state.raw([])
  downstream: ChainEvent[] = $state.raw([])
  isTruncated = $state(false) // limits were reached
  isLoading = $state(false)
  of: EventDetails | null = $state.raw(null)
  error: string | null = $state(null)
  #request = new LatestRequest()

  async load(profile: string, details: EventDetails): Promise<void> {
    const signal = this.#request.begin()
    this.of = details
    this.isLoading = true
    this.isTruncated = false
    this.error = null
    try {
      const [upstream, downstream] = await Promise.all([
        this.#loadUpstream(profile, details, signal), this.#loadDownstream(profile, details, signal),
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

  async #loadUpstream(profile: string, from: EventDetails, signal: AbortSignal): Promise<ChainEvent[]> {
    const links = await this.#followFlows(profile, [from], 'predecessors', 0, signal)
    const causes = links.slice(0, 2).map((link) => ({ ...link, end: String(BigInt(link.start) + BigInt(link.duration)) }))
    for (const root of [{ ...from, level: 0 }, ...causes].filter((one) => one.table === 'SystemProfileEvents')) {
      const enclosing = await this.#query(profile, enclosingSql(root), 'encloses', signal)
      links.push(...enclosing.map((link, depth) => ({ ...link, level: root.level + depth + 1 })))
    }
    return this.#nearest(links)
  }

  async #loadDownstream(profile: string, from: EventDetails, signal: AbortSignal): Promise<ChainEvent[]> {
    const own = await this.#followFlows(profile, [from], 'successors', 0, signal)
    if (from.table !== 'SystemProfileEvents' || !schema.has('Flow')) return this.#nearest(own)
    const inside = await this.#query(profile, nestedSql(from), 'nested', signal)
    if (inside.length > MAX_NESTED) this.isTruncated = true
    const calls = await this.#details(profile, inside.slice(0, MAX_NESTED), signal)
    const effects = await this.#followFlows(profile, calls, 'successors', 1, signal)
    return this.#nearest([...own, ...inside.map((link) => ({ ...link, level: 1 })), ...effects])
  }

  /** Breadth-first along flows. */
  async #followFlows(
    profile: string, from: EventDetails[], side: 'predecessors' | 'successors', above: number, signal: AbortSignal,
  ): Promise<ChainEvent[]> {
    const links: ChainEvent[] = []
    const seen = new Set(from.map((event) => `${event.table}${event.id}`))
    let level = from
    let requested = 0
    for (let depth = above + 1; level.length > 0; depth++) {
      const next: ChainEvent[] = []
      for (const { table, id, [side]: links } of level) {
        for (const link of links) {
          if (seen.has(`${link.table}${link.id}`)) continue
          seen.add(`${link.table}${link.id}`)
          next.push({ ...link, level: depth, from: { table, id } })
        }
      }
      links.push(...next)
      const expanded = depth < MAX_LEVELS ? next.slice(0, MAX_REQUESTS - requested) : []
      if (expanded.length < next.length) this.isTruncated = true
      requested += expanded.length
      level = await this.#details(profile, expanded, signal)
    }
    return links
  }

  #details(profile: string, links: readonly Dependency[], signal: AbortSignal): Promise<EventDetails[]> {
    return Promise.all(links.map((link) => api.getEvent(profile, link.table, link.id, signal)))
  }

  async #query(profile: string, sql: string, type: string, signal: AbortSignal): Promise<Dependency[]> {
    const found = toObjects<EventSummary>(await api.runSql(profile, sql, MAX_EVENTS, signal))
    return found.map((one) => ({ ...one, table: 'SystemProfileEvents', row: null, type, gap_ns: null }))
  }

  #nearest(links: ChainEvent[]): ChainEvent[] {
    if (links.length > MAX_EVENTS) this.isTruncated = true
    return links.sort((a, b) => a.level - b.level).slice(0, MAX_EVENTS)
  }
}

export const breadcrumbs = new Breadcrumbs()
export const chain = new DependencyChain()

/** For the details panel: resets the breadcrumbs when another event is selected. */
export function syncBreadcrumbs(): void {
  breadcrumbs.resetUnless(view.event)
}

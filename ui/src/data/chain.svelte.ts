// Causes and effects: the way somebody went along them, and all of them a few levels up and down.
import type { Dependency, EventDetails } from '../model/api'
import type { EventRef } from '../model/view'
import * as api from './api'
import { showEvent } from './focus.svelte'
import { Latest } from './latest'
import { view } from './view.svelte'

type Step = Pick<Dependency, 'table' | 'id' | 'name' | 'track' | 'start' | 'duration'>

const isSame = (a: EventRef | null | undefined, b: EventRef | null | undefined) => a?.id === b?.id && a?.table === b?.table

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
    if (!isSame(this.steps.at(-1), event)) this.steps = []
  }
}

export interface Link extends Dependency {
  level: number
}

export const LEVELS = 5
const MOST_ASKED = 40 // events asked for in each direction
const MOST_SHOWN = 500

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
        this.#walk(profile, details, 'predecessors', signal), this.#walk(profile, details, 'successors', signal),
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

  clear(): void {
    this.#latest.cancel()
    this.of = null
    this.upstream = []
    this.downstream = []
    this.isLoading = false
  }

  async #walk(profile: string, from: EventDetails, side: 'predecessors' | 'successors', signal: AbortSignal): Promise<Link[]> {
    const links: Link[] = []
    const seen = new Set([`${from.table}${from.id}`])
    let level: EventDetails[] = [from]
    let asked = 0
    for (let depth = 1; depth <= LEVELS && level.length > 0; depth++) {
      const next: Link[] = []
      for (const link of level.flatMap((event) => event[side])) {
        if (seen.has(`${link.table}${link.id}`)) continue
        seen.add(`${link.table}${link.id}`)
        next.push({ ...link, level: depth })
      }
      links.push(...next)
      const wanted = next.slice(0, MOST_ASKED - asked)
      if (wanted.length < next.length || links.length > MOST_SHOWN || (depth === LEVELS && next.length > 0)) this.isCut = true
      if (depth === LEVELS) break
      asked += wanted.length
      level = await Promise.all(wanted.map((link) => api.getEvent(profile, link.table, link.id, signal)))
    }
    return links.slice(0, MOST_SHOWN)
  }
}

export const trail = new Trail()
export const chain = new Chain()

/** For the panel of details: what was followed is forgotten when another event is chosen. */
export function keepTrail(): void {
  trail.keepFor(view.event)
}

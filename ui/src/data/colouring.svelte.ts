// The current colour mode. Modes that depend on tables are queried once per profile.
import { BY_DURATION, BY_NAME, byEngine, byKey, colourQuery, type Colouring } from '../model/colouring'
import type { Colour } from '../model/view'
import * as api from './api'
import { profile } from './profile.svelte'

const MAX_NAMES = 200_000

class Colours {
  current: Colouring = $state.raw(BY_NAME)
  error: string | null = $state(null)
  #cache = new Map<Colour, Colouring>()
  #requested: Colour = 'name'

  /** Keeps the current colours until the new mode is loaded. */
  async setMode(mode: Colour): Promise<void> {
    this.#requested = mode
    this.error = null
    let colouring = this.#cache.get(mode)
    if (!colouring) {
      try {
        const name = profile.name
        colouring = await this.#make(mode)
        if (profile.name !== name) return
        this.#cache.set(mode, colouring)
      } catch (failure) {
        if (this.#requested === mode) this.error = (failure as Error).message
        return
      }
    }
    if (this.#requested === mode) this.current = colouring
  }

  /** Called when another profile is opened. */
  reset(): void {
    this.#cache.clear()
    this.current = BY_NAME
    this.error = null
  }

  async #make(mode: Colour): Promise<Colouring> {
    if (mode === 'name') return BY_NAME
    if (mode === 'duration') return BY_DURATION
    if (mode === 'engine') return byEngine(profile.tracks)
    const tables = await api.listTables(profile.name)
    const query = colourQuery(mode, new Set(tables.map((table) => table.name)))
    if (!query) return byKey(mode, [])
    const response = await api.runSql(profile.name, query, MAX_NAMES)
    return byKey(mode, response.rows as [string, string][])
  }
}

export const colours = new Colours()

// The current color mode. Modes that depend on tables are queried once per profile.
import {
  BY_DURATION, BY_NAME, byEngine, byEvent, byKey, colorQuery, FAMILIES_QUERY, layersToColor, OPCODES_QUERY, runsQuery, type Coloring, type KeyRun,
} from '../model/coloring'
import type { Color } from '../model/view'
import * as api from './api'
import { profile } from './profile.svelte'
import { toObjects } from './sql.svelte'

const MAX_NAMES = 200_000
const MAX_RUNS = 500_000

class Colors {
  current: Coloring = $state.raw(BY_NAME)
  error: string | null = $state(null)
  #cache = new Map<Color, Coloring>()
  #requested: Color = 'name'

  /** Keeps the current colors until the new mode is loaded. */
  async setMode(mode: Color): Promise<void> {
    this.#requested = mode
    this.error = null
    let coloring = this.#cache.get(mode)
    if (!coloring) {
      try {
        const name = profile.name
        coloring = await this.#make(mode)
        if (profile.name !== name) return
        this.#cache.set(mode, coloring)
      } catch (failure) {
        if (this.#requested === mode) this.error = (failure as Error).message
        return
      }
    }
    if (this.#requested === mode) this.current = coloring
  }

  /** Called when another profile is opened. */
  reset(): void {
    this.#cache.clear()
    this.current = BY_NAME
    this.error = null
  }

  async #make(mode: Color): Promise<Coloring> {
    if (mode === 'name') return BY_NAME
    if (mode === 'duration') return BY_DURATION
    if (mode === 'engine') return byEngine(profile.tracks)
    const tables = await api.listTables(profile.name)
    const names = new Set(tables.map((table) => table.name))
    if (names.has('Instruction')) return this.#ofInstructions(mode)
    if (mode === 'hlo') return byKey(mode, [])
    // Profiles of older versions have no families.
    const hasFamilies = tables.some((table) => table.name === 'GpuKernel' && table.columns.some((column) => column.name === 'family'))
    const query = mode === 'family' ? hasFamilies && FAMILIES_QUERY : colorQuery(mode, names)
    if (!query) return byKey(mode, [])
    const response = await api.runSql(profile.name, query, MAX_NAMES)
    return byKey(mode, response.rows as [string, string][])
  }

  async #ofInstructions(mode: Color): Promise<Coloring> {
    if (mode === 'opcode') return byKey(mode, (await api.runSql(profile.name, OPCODES_QUERY)).rows as [string, string][])
    if (mode !== 'layer' && mode !== 'hlo') return byKey(mode, [])
    const runs = toObjects<KeyRun>(await api.runSql(profile.name, runsQuery(mode), MAX_RUNS))
    return byEvent(mode, runs, mode === 'layer' ? layersToColor(runs.map((run) => run.key)) : undefined)
  }
}

export const colors = new Colors()

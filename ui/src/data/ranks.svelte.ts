// The cores of a device profile, by rank; tabs of device profiles show one at a time.
import * as api from './api'
import { chooseInGrid, gridChoice } from './grids.svelte'
import { schema } from './schema.svelte'

const LABEL = 'Device'

class Ranks {
  all: number[] = $state.raw([])
  isReady = $state(false)
  #profile = ''

  readonly chosen: number | null = $derived.by(() => {
    const names = this.all.map(String)
    return names.length > 0 ? Number(gridChoice(LABEL, 'rank', names, names[0]!)) : null
  })

  /** Asks once per profile; without ranks, tables are shown as they are. */
  async load(profile: string): Promise<void> {
    if (this.#profile === profile) return
    this.clear()
    this.#profile = profile
    const answer = schema.hasColumn('Summary', 'rank')
      ? await api.runSql(profile, 'SELECT DISTINCT rank FROM Summary ORDER BY rank').catch(() => null)
      : null
    if (this.#profile !== profile) return
    this.all = (answer?.rows ?? []).map(([rank]) => Number(rank))
    this.isReady = true
  }

  choose(rank: number): void {
    chooseInGrid(LABEL, 'rank', String(rank), String(this.all[0]))
  }

  clear(): void {
    this.#profile = ''
    this.all = []
    this.isReady = false
  }
}

export const ranks = new Ranks()

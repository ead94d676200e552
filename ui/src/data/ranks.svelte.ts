// The cores of a device profile, by rank. The view shows one of them, or all; tabs of device profiles show one at a time.
import type { Track } from '../model/api'
import { deviceCores } from '../model/deviceLanes'
import * as api from './api'
import { chooseInGrid, gridChoice } from './grids.svelte'
import { profile as open } from './profile.svelte'
import { schema } from './schema.svelte'
import { pushHistory, view } from './view.svelte'

const LABEL = 'Device'

/** The first event of each rank, and its track. */
const TRACKS_SQL = `SELECT i.rank, e.track_id FROM (SELECT rank, min(id) AS id FROM Instruction GROUP BY rank) i
  JOIN SystemProfileEvents e ON e.id = i.id ORDER BY i.rank`

class Ranks {
  all: number[] = $state.raw([])
  cores: ReadonlyMap<number, number> = $state.raw(new Map()) // by rank: the track of its core
  isReady = $state(false)
  #profile = ''

  readonly chosen: number | null = $derived.by(() => {
    const names = this.all.map(String)
    if (this.shown !== null) return this.shown
    return names.length > 0 ? Number(gridChoice(LABEL, 'rank', names, names[0]!)) : null
  })

  /** The rank that the page is about; null: all. */
  readonly shown: number | null = $derived(view.rank !== null && this.all.includes(view.rank) ? view.rank : null)

  /** Without the tracks of other cores. */
  readonly tracks: Track[] = $derived.by(() => {
    const core = this.shown === null ? undefined : this.cores.get(this.shown)
    if (core === undefined) return open.tracks
    const cores = deviceCores(open.tracks)
    const isOther = (source: number | null) => source !== null && cores.has(source) && cores.get(source)!.id !== core
    return open.tracks.filter((track) => !isOther(track.id) && !isOther(track.parent))
  })

  /** Asks once per profile; without ranks, tables are shown as they are. */
  async load(profile: string): Promise<void> {
    if (this.#profile === profile) return
    this.clear()
    this.#profile = profile
    const ask = async (table: string, sql: string) =>
      schema.hasColumn(table, 'rank') ? ((await api.runSql(profile, sql).catch(() => null))?.rows ?? []) : []
    const [all, tracks] = await Promise.all([ask('Summary', 'SELECT DISTINCT rank FROM Summary ORDER BY rank'), ask('Instruction', TRACKS_SQL)])
    if (this.#profile !== profile) return
    this.all = all.map(([rank]) => Number(rank))
    this.cores = this.#coresOf(tracks as [number, number][])
    this.isReady = true
  }

  /** For tables that show one rank. */
  choose(rank: number): void {
    if (view.rank === null) chooseInGrid(LABEL, 'rank', String(rank), String(this.all[0]))
    else this.show(rank)
  }

  show(rank: number | null): void {
    pushHistory(() => (view.rank = rank))
  }

  #coresOf(lanes: [number, number][]): Map<number, number> {
    const cores = deviceCores(open.tracks)
    const found = new Map<number, number>()
    for (const [rank, lane] of lanes) {
      const core = cores.get(open.byId.get(lane)?.parent ?? -1)
      if (core) found.set(rank, core.id)
    }
    return found
  }

  clear(): void {
    this.#profile = ''
    this.all = []
    this.cores = new Map()
    this.isReady = false
  }
}

export const ranks = new Ranks()

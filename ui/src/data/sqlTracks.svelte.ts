// Tracks made from queries (view.sqlTracks): each query runs once while the profile is open.
import type { Track } from '../model/api'
import { makeSqlLane, sqlTimeline, type SqlLane } from '../model/sqlTracks'
import type { Span } from '../model/time'
import type { TimelineData } from '../model/timelineData'
import type { SqlTrack } from '../model/view'
import * as api from './api'

const MAX_EVENTS = 100_000

class SqlTracks {
  lanes: SqlLane[] = $state.raw([])
  errors: Record<string, string> = $state({}) // by query
  #profile = ''
  #loaded = new Map<string, SqlLane>()

  readonly tracks: Track[] = $derived(this.lanes.map((lane) => lane.track))

  async load(profile: string, wanted: readonly SqlTrack[]): Promise<void> {
    if (this.#profile !== profile) this.clear()
    this.#profile = profile
    await Promise.all(wanted.filter(({ sql }) => !this.#loaded.has(sql)).map((one) => this.#run(profile, one)))
    if (this.#profile !== profile) return
    this.lanes = wanted.flatMap(({ name, sql }) => {
      const lane = this.#loaded.get(sql)
      return lane ? [{ ...lane, track: { ...lane.track, name } }] : []
    })
  }

  /** A tile of one of these tracks; null for tracks of the profile. */
  tile(track: number, span: Span, width: number): TimelineData | null {
    const lane = this.lanes.find((one) => one.track.id === track)
    return lane ? sqlTimeline(lane, span, width) : null
  }

  clear(): void {
    this.#profile = ''
    this.#loaded.clear()
    this.lanes = []
    this.errors = {}
  }

  async #run(profile: string, wanted: SqlTrack): Promise<void> {
    try {
      const response = await api.runSql(profile, wanted.sql, MAX_EVENTS)
      if (this.#profile !== profile) return
      const lane = makeSqlLane(wanted, response)
      if (lane) this.#loaded.set(wanted.sql, lane)
      if (lane) delete this.errors[wanted.sql]
      else this.errors[wanted.sql] = 'The result needs the columns start and duration (or end).'
    } catch (failure) {
      if (this.#profile === profile) this.errors[wanted.sql] = (failure as Error).message
    }
  }
}

export const sqlTracks = new SqlTracks()

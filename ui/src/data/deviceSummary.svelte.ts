// The rows behind the summary of a device profile, of the chosen rank.
import { ofRank } from '../model/deviceTabs'
import { PATH_SQL, type Metrics, type OpcodeRow, type PathPart } from '../model/deviceSummary'
import * as api from './api'
import { LatestRequest } from './latestRequest'
import { ranks } from './ranks.svelte'
import { schema } from './schema.svelte'
import { toObjects } from './sql.svelte'

class DeviceSummary {
  metrics: Metrics | null = $state.raw(null)
  metadata: Metrics = $state.raw({})
  opcodes: OpcodeRow[] = $state.raw([])
  path: PathPart[] = $state.raw([])
  error: string | null = $state(null)
  #request = new LatestRequest()
  #loaded = ''

  /** Asks once for each rank: opening the tab again does not repeat it. */
  async load(profile: string): Promise<void> {
    const rank = ranks.chosen
    const key = `${profile}\0${rank}`
    if (key === this.#loaded) return
    const signal = this.#request.begin()
    this.#loaded = key
    const query = async <T>(table: string, sql: string): Promise<T[]> => {
      if (!schema.has(table)) return []
      const rows = toObjects<T>(await api.runSql(profile, ofRank(sql, rank, (name) => schema.hasColumn(name, 'rank')), 1000, signal))
      return rank === null ? rows : rows.map((row) => ({ ...row, rank })) // which the query leaves out
    }
    try {
      const [metrics, metadata, opcodes, path] = await Promise.all([
        query<Metrics>('Summary', 'FROM {Summary}'), query<Metrics>('Metadata', 'FROM {Metadata}'),
        query<OpcodeRow>('OpcodeSummary', 'FROM {OpcodeSummary} ORDER BY active_time_ns DESC'),
        query<PathPart>('CriticalPath', PATH_SQL),
      ])
      if (signal.aborted) return
      Object.assign(this, { metrics: metrics[0] ?? null, metadata: metadata[0] ?? {}, opcodes, path, error: null })
    } catch (failure) {
      if (signal.aborted) return
      this.error = (failure as Error).message
      this.#loaded = ''
    }
  }

  clear(): void {
    this.#request.cancel()
    this.#loaded = ''
    Object.assign(this, { metrics: null, metadata: {}, opcodes: [], path: [], error: null })
  }
}

export const deviceSummary = new DeviceSummary()

// The summary of the open profile, and the SQL results for its charts: steps and memory over time.
import { untrack } from 'svelte'
import type { TableInfo } from '../model/api'
import {
  allocatedQuery, BUCKETS, counterSeries, DEVICE_MEMORY_TRACKS, HOST_MEMORY_TRACKS, readSeries, readSteps, readSummary, stepsQuery, type Series, type StepBar, type Summary,
} from '../model/summary'
import type { Span } from '../model/time'
import { decodeTimeline } from '../model/timelineData'
import * as api from './api'
import { ApiError } from './api'
import { LatestRequest } from './latestRequest'
import { schema } from './schema.svelte'

class ProfileSummary {
  document: Summary | null = $state.raw(null)
  steps: StepBar[] = $state.raw([])
  deviceMemory: Series[] = $state.raw([])
  hostMemory: Series[] = $state.raw([])
  isMissing = $state(false) // the profile has no summary
  error: string | null = $state(null)
  isLoading = $state(false)
  #request = new LatestRequest()
  #profile = ''

  /** Asks once: opening the tab again does not repeat it. */
  async load(name: string, span: Span): Promise<void> {
    if (this.#profile === name && !untrack(() => this.error)) return
    this.clear()
    this.#profile = name
    this.isLoading = true
    const signal = this.#request.begin()
    const isStale = () => signal.aborted
    try {
      await Promise.all([schema.load(name), this.#loadDocument(name, isStale)])
      if (isStale()) return
      if (schema.error) throw new Error(schema.error)
      await this.#loadCharts(name, schema.tables, span, signal)
    } catch (failure) {
      if (!isStale()) this.error = (failure as Error).message
    }
    if (!isStale()) this.isLoading = false
  }

  clear(): void {
    this.#request.cancel()
    this.#profile = ''
    Object.assign(this, { document: null, steps: [], deviceMemory: [], hostMemory: [], isMissing: false, error: null, isLoading: false })
  }

  async #loadDocument(name: string, isStale: () => boolean): Promise<void> {
    try {
      const response = await api.getSummary(name)
      if (!isStale()) this.document = readSummary(response)
    } catch (failure) {
      if (!(failure instanceof ApiError && failure.status === 404)) throw failure
      if (!isStale()) this.isMissing = true
    }
  }

  async #loadCharts(name: string, tables: TableInfo[], span: Span, signal: AbortSignal): Promise<void> {
    const rowCounts = new Map(tables.map((table) => [table.name, table.rows]))
    const nonEmpty = new Set(tables.filter((table) => table.rows > 0).map((table) => table.name))
    const hasAllocations = nonEmpty.has('MemoryAllocation')
    const [from, to] = [Math.floor(span.from / 1000), Math.ceil(span.to / 1000)]
    const steps = async () => stepsQuery(rowCounts.get('Step')!, await api.getFiguresQuery(name, 'summary.step_times'))
    const query = async (sql: string | null, take: (rows: unknown[][]) => void | Promise<void>) => {
      if (!sql) return
      const response = await api.runSql(name, sql, 10_000, signal)
      if (!signal.aborted) await take(response.rows)
    }
    const counters = (sql: string | null, take: (series: Series[]) => void) =>
      query(sql, async (rows) => {
        const names = new Map(rows.map(([series, track]) => [Number(track), String(series)]))
        if (names.size === 0) return
        const data = decodeTimeline(await api.getTimeline(name, [...names.keys()], span, BUCKETS, signal))
        if (!signal.aborted) take(counterSeries(names, data))
      })
    // A failure of one does not affect the others.
    const results = await Promise.allSettled([
      query(nonEmpty.has('Step') ? await steps() : null, (rows) => void (this.steps = readSteps(rows))),
      hasAllocations
        ? query(allocatedQuery(from, to), (rows) => void (this.deviceMemory = readSeries(rows, from, to)))
        : counters(nonEmpty.has('CounterSample') ? DEVICE_MEMORY_TRACKS : null, (series) => (this.deviceMemory = series)),
      counters(nonEmpty.has('HostMemUsage') ? HOST_MEMORY_TRACKS : null, (series) => (this.hostMemory = series)),
    ])
    for (const one of results) if (one.status === 'rejected') throw one.reason
  }
}

export const summary = new ProfileSummary()

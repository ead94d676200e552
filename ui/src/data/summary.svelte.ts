// The summary of the open profile, and what its charts need besides: steps and memory over time, by SQL.
import type { TableInfo } from '../model/api'
import {
  deviceMemoryQuery, hostMemoryQuery, readSeries, readSteps, readSummary, stepsQuery, type Series, type StepBar, type Summary,
} from '../model/summary'
import type { Span } from '../model/time'
import * as api from './api'
import { ApiError } from './api'
import { Latest } from './latest'

class ProfileSummary {
  document: Summary | null = $state.raw(null)
  steps: StepBar[] = $state.raw([])
  deviceMemory: Series[] = $state.raw([])
  hostMemory: Series[] = $state.raw([])
  isMissing = $state(false) // the profile was made without one
  error: string | null = $state(null)
  isLoading = $state(false)
  #latest = new Latest()

  async load(name: string, span: Span): Promise<void> {
    const signal = this.#latest.begin()
    Object.assign(this, { document: null, steps: [], deviceMemory: [], hostMemory: [], isMissing: false, error: null, isLoading: true })
    const isOld = () => signal.aborted
    try {
      const [tables] = await Promise.all([api.listTables(name), this.#loadDocument(name, isOld)])
      if (!isOld()) await this.#loadCharts(name, tables, span, signal)
    } catch (failure) {
      if (!isOld()) this.error = (failure as Error).message
    }
    if (!isOld()) this.isLoading = false
  }

  async #loadDocument(name: string, isOld: () => boolean): Promise<void> {
    try {
      const answer = await api.getSummary(name)
      if (!isOld()) this.document = readSummary(answer)
    } catch (failure) {
      if (!(failure instanceof ApiError && failure.status === 404)) throw failure
      if (!isOld()) this.isMissing = true
    }
  }

  async #loadCharts(name: string, tables: TableInfo[], span: Span, signal: AbortSignal): Promise<void> {
    const rows = new Map(tables.map((table) => [table.name, table.rows]))
    const there = new Set(tables.filter((table) => table.rows > 0).map((table) => table.name))
    const [from, to] = [Math.floor(span.from / 1000), Math.ceil(span.to / 1000)]
    const ask = async (query: string | null, take: (rows: unknown[][]) => void) => {
      if (!query) return
      const answer = await api.runSql(name, query, 10_000, signal)
      if (!signal.aborted) take(answer.rows)
    }
    // One that fails does not take the others along.
    const asked = await Promise.allSettled([
      ask(there.has('Step') ? stepsQuery(rows.get('Step')!) : null, (found) => (this.steps = readSteps(found))),
      ask(deviceMemoryQuery(there, from, to), (found) => (this.deviceMemory = readSeries(found, from, to))),
      ask(hostMemoryQuery(there, from, to), (found) => (this.hostMemory = readSeries(found, from, to))),
    ])
    for (const one of asked) if (one.status === 'rejected') throw one.reason
  }
}

export const summary = new ProfileSummary()

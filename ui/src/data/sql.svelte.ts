// SQL queries with cancellation of outdated requests, and the query history.
import { untrack } from 'svelte'
import type { SqlResponse } from '../model/api'
import * as api from './api'
import { LatestRequest } from './latestRequest'

export type SqlRow = Record<string, unknown>

/** Rows as objects, keyed by column name. */
export function toObjects<T = SqlRow>(response: SqlResponse): T[] {
  return response.rows.map((row) => Object.fromEntries(response.columns.map((column, at) => [column.name, row[at]])) as T)
}

export class Query {
  response: SqlResponse | null = $state.raw(null)
  of = $state('') // the query that the response answers
  error: string | null = $state(null)
  isLoading = $state(false)
  elapsedMs = $state(0)
  #request = new LatestRequest()
  #lastKey = ''

  /** Runs the query unless it is the last one; clears the previous result meanwhile. */
  async runOnce(profile: string, sql: string, limit: number): Promise<void> {
    const key = `${profile}\0${sql}`
    if (key === this.#lastKey && !untrack(() => this.error)) return
    this.clear()
    this.#lastKey = key
    await this.run(profile, sql, limit)
  }

  /** Does nothing when the profile has just been closed. */
  async run(profile: string, sql: string, limit = 10_000): Promise<void> {
    if (!profile) return
    const signal = this.#request.begin()
    const began = performance.now()
    this.error = null
    this.isLoading = true
    try {
      const response = await api.runSql(profile, sql, limit, signal)
      if (signal.aborted) return
      this.of = sql
      this.response = response
      this.elapsedMs = performance.now() - began
    } catch (failure) {
      if (signal.aborted) return
      this.response = null
      this.error = (failure as Error).message
    }
    this.isLoading = false
  }

  cancel(): void {
    this.#request.cancel()
    this.isLoading = false
  }

  clear(): void {
    this.cancel()
    this.#lastKey = ''
    this.response = null
    this.error = null
  }
}

const KEY = 'kymo.sql'
const MAX_ENTRIES = 50

class History {
  queries: string[] = $state.raw(this.#read())

  add(query: string): void {
    this.queries = [query, ...this.queries.filter((one) => one !== query)].slice(0, MAX_ENTRIES)
    localStorage.setItem(KEY, JSON.stringify(this.queries))
  }

  clear(): void {
    this.queries = []
    localStorage.removeItem(KEY)
  }

  #read(): string[] {
    try {
      const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
      return Array.isArray(stored) ? stored.filter((one): one is string => typeof one === 'string') : []
    } catch {
      return []
    }
  }
}

export const history = new History()

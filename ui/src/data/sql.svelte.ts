// Questions to the tables: one query whose newest answer counts, and what was asked before.
import { untrack } from 'svelte'
import type { SqlAnswer } from '../model/api'
import * as api from './api'
import { Latest } from './latest'

export type SqlRow = Record<string, unknown>

/** An answer as objects, by the names of the columns. */
export function toObjects<T = SqlRow>(answer: SqlAnswer): T[] {
  return answer.rows.map((row) => Object.fromEntries(answer.columns.map((column, at) => [column.name, row[at]])) as T)
}

export class Query {
  answer: SqlAnswer | null = $state.raw(null)
  error: string | null = $state(null)
  isLoading = $state(false)
  tookMs = $state(0)
  #latest = new Latest()
  #asked = ''

  /** Asks unless that is what was answered last; an answer to something else is not shown meanwhile. */
  async ensure(profile: string, sql: string, limit: number): Promise<void> {
    const key = `${profile}\0${sql}`
    if (key === this.#asked && !untrack(() => this.error)) return
    this.clear()
    this.#asked = key
    await this.run(profile, sql, limit)
  }

  /** Asks; not when the profile has just been closed. */
  async run(profile: string, sql: string, limit = 10_000): Promise<void> {
    if (!profile) return
    const signal = this.#latest.begin()
    const began = performance.now()
    this.error = null
    this.isLoading = true
    try {
      const answer = await api.runSql(profile, sql, limit, signal)
      if (signal.aborted) return
      this.answer = answer
      this.tookMs = performance.now() - began
    } catch (failure) {
      if (signal.aborted) return
      this.answer = null
      this.error = (failure as Error).message
    }
    this.isLoading = false
  }

  cancel(): void {
    this.#latest.cancel()
    this.isLoading = false
  }

  clear(): void {
    this.cancel()
    this.#asked = ''
    this.answer = null
    this.error = null
  }
}

const KEY = 'kymo.sql'
const MOST_KEPT = 50

class History {
  queries: string[] = $state.raw(this.#read())

  add(query: string): void {
    this.queries = [query, ...this.queries.filter((one) => one !== query)].slice(0, MOST_KEPT)
    localStorage.setItem(KEY, JSON.stringify(this.queries))
  }

  clear(): void {
    this.queries = []
    localStorage.removeItem(KEY)
  }

  #read(): string[] {
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
      return Array.isArray(kept) ? kept.filter((one): one is string => typeof one === 'string') : []
    } catch {
      return []
    }
  }
}

export const history = new History()

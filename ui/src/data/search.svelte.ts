// What view.search finds. The timeline marks the hits, the search tab lists them.
import type { SearchAnswer } from '../model/api'
import * as api from './api'
import { ApiError } from './api'
import { Latest } from './latest'

const MOST_HITS = 10_000

class Search {
  answer: SearchAnswer | null = $state.raw(null)
  error: string | null = $state(null)
  fields: string[] = $state.raw([]) // what may be asked for, after a field that is not known
  isLoading = $state(false)
  #latest = new Latest()

  async run(profile: string, query: string): Promise<void> {
    this.error = null
    this.fields = []
    if (!query.trim()) {
      this.#latest.cancel()
      this.answer = null
      this.isLoading = false
      return
    }
    const signal = this.#latest.begin()
    this.isLoading = true
    try {
      const answer = await api.search(profile, query, MOST_HITS, 0, signal)
      if (!signal.aborted) this.answer = answer
    } catch (failure) {
      if (signal.aborted) return
      this.answer = null
      this.error = (failure as Error).message
      if (failure instanceof ApiError && Array.isArray(failure.answer.fields)) this.fields = failure.answer.fields as string[]
    }
    if (!signal.aborted) this.isLoading = false
  }

  /** The hits behind those that are there. */
  async more(profile: string, query: string): Promise<void> {
    const before = this.answer
    if (!before || this.isLoading) return
    const signal = this.#latest.begin()
    this.isLoading = true
    try {
      const answer = await api.search(profile, query, MOST_HITS, before.hits.length, signal)
      if (!signal.aborted) this.answer = { ...before, hits: [...before.hits, ...answer.hits] }
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
    if (!signal.aborted) this.isLoading = false
  }
}

export const found = new Search()

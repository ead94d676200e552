// Results of view.search: highlighted on the timeline, listed in the Search tab.
import type { SearchResponse } from '../model/api'
import { searchQueries } from '../model/search'
import * as api from './api'
import { ApiError } from './api'
import { figures } from './figures.svelte'
import { LatestRequest } from './latestRequest'

const MAX_HITS = 10_000

class SearchResults {
  response: SearchResponse | null = $state.raw(null)
  query = $state('') // that the response answers
  error: string | null = $state(null)
  fields: string[] = $state.raw([]) // available fields, after an unknown one
  isLoading = $state(false)
  #request = new LatestRequest()

  async run(profile: string, query: string): Promise<void> {
    this.error = null
    this.fields = []
    if (!query.trim()) {
      this.#request.cancel()
      this.response = null
      this.isLoading = false
      return
    }
    const signal = this.#request.begin()
    this.response = null // never the answer to another query
    this.isLoading = true
    try {
      const response = await api.search(profile, query, MAX_HITS, 0, signal)
      if (signal.aborted) return
      this.query = query
      this.response = response
      for (const [group, sql] of searchQueries(response)) figures.setSql(group, sql)
    } catch (failure) {
      if (signal.aborted) return
      this.error = (failure as Error).message
      if (failure instanceof ApiError && Array.isArray(failure.body.fields)) this.fields = failure.body.fields as string[]
    }
    if (!signal.aborted) this.isLoading = false
  }

  /** Appends the next page of hits. */
  async loadMore(profile: string, query: string): Promise<void> {
    const before = this.response
    if (!before || this.isLoading) return
    const signal = this.#request.begin()
    this.isLoading = true
    try {
      const response = await api.search(profile, query, MAX_HITS, before.hits.length, signal)
      if (!signal.aborted) this.response = { ...before, hits: [...before.hits, ...response.hits] }
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
    if (!signal.aborted) this.isLoading = false
  }
}

export const searchResults = new SearchResults()

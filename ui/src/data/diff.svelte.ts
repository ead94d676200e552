// The comparison of two profiles that is shown.
import type { Diff } from '../model/diff'
import * as api from './api'
import { LatestRequest } from './latestRequest'

class DiffAnswer {
  document: Diff | null = $state.raw(null)
  error: string | null = $state(null)
  #request = new LatestRequest()

  async load(a: string, b: string): Promise<void> {
    const signal = this.#request.begin()
    this.document = null
    this.error = null
    try {
      const document = await api.getDiff(a, b, signal)
      if (!signal.aborted) this.document = document
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
  }

  close(): void {
    this.#request.cancel()
    this.document = null
    this.error = null
  }
}

export const diffAnswer = new DiffAnswer()

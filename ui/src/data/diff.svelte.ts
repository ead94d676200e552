// The comparison of two profiles or runs that is shown.
import type { Diff } from '../model/diff'
import * as api from './api'
import { LatestRequest } from './latestRequest'

const POLL_MS = 700

class DiffAnswer {
  document: Diff | null = $state.raw(null)
  error: string | null = $state(null)
  analyzing: { run: string; seconds: number } | null = $state.raw(null) // the run whose ranks are being compared first
  #request = new LatestRequest()

  async load(a: string, b: string): Promise<void> {
    const signal = this.#request.begin()
    this.document = this.error = this.analyzing = null
    try {
      for (;;) {
        const answer = await api.getDiff(a, b, signal)
        signal.throwIfAborted()
        if (!('status' in answer)) {
          this.document = answer
          return
        }
        this.analyzing = answer
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      }
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
  }

  close(): void {
    this.#request.cancel()
    this.document = this.error = this.analyzing = null
  }
}

export const diffAnswer = new DiffAnswer()

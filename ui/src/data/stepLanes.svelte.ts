// The lanes of a step whose timelines are shown.
import type { StepLanes } from '../model/rankTimelines'
import * as api from './api'
import { LatestRequest } from './latestRequest'

class OpenStepLanes {
  answer: StepLanes | null = $state.raw(null)
  error: string | null = $state(null)
  #key = ''
  #request = new LatestRequest()

  /** What is shown stays until the answer comes, if it is of the same run. */
  async load(dataset: string, run: string, step: number, lanes: string[]): Promise<void> {
    const signal = this.#request.begin()
    const key = `${dataset}/${run}`
    if (key !== this.#key) this.answer = null
    this.#key = key
    this.error = null
    try {
      const answer = await api.getStepLanes(dataset, run, step, lanes, signal)
      if (!signal.aborted) this.answer = answer
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
  }

  close(): void {
    this.#request.cancel()
    this.#key = ''
    this.answer = this.error = null
  }
}

export const openStepLanes = new OpenStepLanes()

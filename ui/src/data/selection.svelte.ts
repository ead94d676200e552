// What lies in view.box, summed up.
import type { SelectionAnswer } from '../model/api'
import type { Box } from '../model/view'
import * as api from './api'
import { Latest } from './latest'

export class Selection {
  answer: SelectionAnswer | null = $state.raw(null)
  error: string | null = $state(null)
  isLoading = $state(false)
  #latest = new Latest()

  async load(profile: string, box: Box | null): Promise<void> {
    this.error = null
    if (!box) {
      this.#latest.cancel()
      this.answer = null
      this.isLoading = false
      return
    }
    const signal = this.#latest.begin()
    this.isLoading = true
    try {
      const answer = await api.getSelection(profile, box.tracks, box, signal)
      if (!signal.aborted) this.answer = answer
    } catch (failure) {
      if (!signal.aborted) {
        this.answer = null
        this.error = (failure as Error).message
      }
    }
    if (!signal.aborted) this.isLoading = false
  }
}

export const selection = new Selection()

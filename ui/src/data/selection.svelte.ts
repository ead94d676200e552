// Totals of the box selection (view.box).
import type { SelectionResponse } from '../model/api'
import type { Box } from '../model/view'
import * as api from './api'
import { LatestRequest } from './latestRequest'

export class Selection {
  response: SelectionResponse | null = $state.raw(null)
  of: Box | null = $state.raw(null) // what the response is of
  error: string | null = $state(null)
  isLoading = $state(false)
  #request = new LatestRequest()

  async load(profile: string, box: Box | null): Promise<void> {
    this.error = null
    if (!box) {
      this.#request.cancel()
      this.response = null
      this.isLoading = false
      return
    }
    const signal = this.#request.begin()
    this.isLoading = true
    try {
      const response = await api.getSelection(profile, box.tracks, box, signal)
      if (!signal.aborted) {
        this.response = response
        this.of = box
      }
    } catch (failure) {
      if (!signal.aborted) {
        this.response = null
        this.error = (failure as Error).message
      }
    }
    if (!signal.aborted) this.isLoading = false
  }
}

export const selection = new Selection()

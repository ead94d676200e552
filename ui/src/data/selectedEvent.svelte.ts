// Details of the selected event (view.event); null while none is selected or it is loading.
import { untrack } from 'svelte'
import type { EventDetails } from '../model/api'
import type { EventRef } from '../model/view'
import * as api from './api'
import { LatestRequest } from './latestRequest'

class SelectedEvent {
  details: EventDetails | null = $state.raw(null)
  error: string | null = $state(null)
  isLoading = $state(false)
  #request = new LatestRequest()

  async load(profile: string, ref: EventRef | null): Promise<void> {
    this.error = null
    const shown = untrack(() => this.details) // callers must not depend on the result
    if (!ref || shown?.id !== ref.id || shown.table !== ref.table) this.details = null
    if (!ref) {
      this.#request.cancel()
      this.isLoading = false
      return
    }
    const signal = this.#request.begin()
    this.isLoading = true
    try {
      const details = await api.getEvent(profile, ref.table, ref.id, signal)
      if (!signal.aborted) this.details = details
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
    if (!signal.aborted) this.isLoading = false
  }
}

export const selectedEvent = new SelectedEvent()

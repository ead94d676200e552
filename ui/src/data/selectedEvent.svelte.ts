// The event that view.event names, with all that is known of it; null while there is none or it is on its way.
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
    const shown = untrack(() => this.details) // whoever asks for an event does not depend on the response
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

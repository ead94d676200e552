// The profile that is open: its entry, its tracks, and the time its events lie in.
import type { Profile, Track } from '../model/api'
import { toPs, type Span } from '../model/time'
import * as api from './api'

const POLL_MS = 700

class OpenProfile {
  name = $state('')
  entry: Profile | null = $state(null)
  tracks: Track[] = $state.raw([])
  span: Span = $state.raw({ from: 0, to: 1 })
  startEpochNs: bigint | null = $state.raw(null)
  isReady = $state(false)
  error: string | null = $state(null)

  readonly byId: Map<number, Track> = $derived(new Map(this.tracks.map((track) => [track.id, track])))

  #timer: ReturnType<typeof setTimeout> | undefined

  /** Loads a profile; one that is still processed is asked for again until it is ready or has failed. */
  async open(name: string): Promise<void> {
    this.close()
    this.name = name
    await this.#load(name)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.name = ''
    this.entry = null
    this.tracks = []
    this.isReady = false
    this.error = null
  }

  async #load(name: string): Promise<void> {
    try {
      const entry = await api.getProfile(name)
      if (this.name !== name) return
      this.entry = entry
      if (entry.status === 'uploaded' || entry.status === 'processing') {
        this.#timer = setTimeout(() => void this.#load(name), POLL_MS)
        return
      }
      if (entry.status === 'failed') {
        this.error = entry.reason ?? 'Processing failed.'
        return
      }
      const answer = await api.getTracks(name)
      if (this.name !== name) return
      this.tracks = answer.tracks
      const from = toPs(answer.from)
      this.span = { from, to: Math.max(from + 1, toPs(answer.to)) }
      this.startEpochNs = answer.start_epoch_ns === null ? null : BigInt(answer.start_epoch_ns)
      this.isReady = true
    } catch (failure) {
      if (this.name === name) this.error = (failure as Error).message
    }
  }
}

export const profile = new OpenProfile()

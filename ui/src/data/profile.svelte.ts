// The open profile: its entry, its tracks and its time span.
import type { Profile, Track } from '../model/api'
import { deviceCores } from '../model/deviceLanes'
import { toPs, type Span } from '../model/time'
import { clampSpan } from '../model/viewport'
import * as api from './api'
import { ApiError } from './api'

const POLL_MS = 700
const RETRY_MS = 2_000
const FOCUS_MARGIN = 0.02

export class OpenProfile {
  name = $state('')
  entry: Profile | null = $state(null)
  tracks: Track[] = $state.raw([])
  pids: ReadonlyMap<number, number> = $state.raw(new Map()) // by track of a process
  isNamed = $state(false) // pids are there, or will not come
  span: Span = $state.raw({ from: 0, to: 1 })
  focus: Span = $state.raw({ from: 0, to: 1 }) // where things happen
  startEpochNs: bigint | null = $state.raw(null)
  isReady = $state(false)
  error: string | null = $state(null)
  movedTo: Profile | null = $state.raw(null) // the profile with the wanted id has another name now
  errorStatus = $state(-1) // HTTP status; 404: no such profile, 0: no response, -1: not a request error

  readonly isDevice: boolean = $derived(deviceCores(this.tracks).size > 0)
  readonly byId: Map<number, Track> = $derived(new Map(this.tracks.map((track) => [track.id, track])))

  #timer: ReturnType<typeof setTimeout> | undefined

  /** Loads a profile; polls while it is being processed, and while the server is not responding. With an id, only the profile
      of this name that has it, or `movedTo` is set. */
  async open(name: string, id = ''): Promise<void> {
    this.close()
    this.name = name
    await this.#load(name, id)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.name = ''
    this.entry = null
    this.tracks = []
    this.pids = new Map()
    this.isNamed = false
    this.isReady = false
    this.error = null
    this.errorStatus = -1
    this.movedTo = null
  }

  /** The numbers of processes name those that have no name; without them the rest still works. Asked for early, as the first
      question to a profile's tables takes the server longest. */
  async #loadPids(name: string): Promise<void> {
    const answer = await api.runSql(name, "SELECT id, number FROM Track WHERE kind = 'process'").catch(() => null)
    if (this.name !== name) return
    if (answer) this.pids = new Map(answer.rows as [number, number][])
    this.isNamed = true
  }

  /** The profile that has the id under another name, if the one of this name has not. */
  async #renamed(name: string, id: string, entry: Profile | null): Promise<Profile | null> {
    if (!id || entry?.id === id) return null
    const found = await api.findProfile(id)
    return found && found.name !== name ? found : null
  }

  async #load(name: string, id: string): Promise<void> {
    try {
      const missing = (failure: unknown) => {
        if (id && failure instanceof ApiError && failure.status === 404) return failure
        throw failure
      }
      const answer = await api.getProfile(name).catch(missing)
      const movedTo = await this.#renamed(name, id, answer instanceof ApiError ? null : answer)
      if (this.name !== name) return
      this.movedTo = movedTo
      if (movedTo) return
      if (answer instanceof ApiError) throw answer
      const entry = answer
      this.entry = entry
      this.error = null
      this.errorStatus = -1
      if (entry.status === 'uploaded' || entry.status === 'processing') {
        this.#timer = setTimeout(() => void this.#load(name, id), POLL_MS)
        return
      }
      if (entry.status === 'failed') {
        this.error = entry.reason ?? 'Processing failed.'
        return
      }
      void this.#loadPids(name)
      const response = await api.getTracks(name)
      if (this.name !== name) return
      this.tracks = response.tracks
      const from = toPs(response.from)
      this.span = { from, to: Math.max(from + 1, toPs(response.to)) }
      const focus = { from: toPs(response.focus_from), to: toPs(response.focus_to) }
      const isAll = focus.from <= this.span.from && focus.to >= this.span.to
      const margin = FOCUS_MARGIN * (focus.to - focus.from)
      this.focus = isAll ? this.span : clampSpan({ from: focus.from - margin, to: focus.to + margin }, this.span)
      this.startEpochNs = response.start_epoch_ns === null ? null : BigInt(response.start_epoch_ns)
      this.isReady = true
    } catch (failure) {
      if (this.name !== name) return
      this.error = (failure as Error).message
      this.errorStatus = failure instanceof ApiError ? failure.status : -1
      if (this.errorStatus === 0) this.#timer = setTimeout(() => void this.#load(name, id), RETRY_MS)
    }
  }
}

export const profile = new OpenProfile()

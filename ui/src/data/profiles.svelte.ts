// The profile list, polled: often while profiles are being processed, rarely otherwise, not while the page is hidden. Retries
// while the server is not responding.
import type { Profile } from '../model/api'
import { readNames, addRecent } from '../model/profiles'
import * as api from './api'
import { ApiError } from './api'

const ACTIVE_POLL_MS = 800
const IDLE_POLL_MS = 10_000
const RETRY_MS = 2_000
const RECENT_KEY = 'kymo.opened'

class ProfileList {
  all: Profile[] = $state.raw([]) // matching the search
  unfiltered: Profile[] = $state.raw([]) // as of the last refresh without a search
  search = $state('')
  isLoaded = $state(false)
  isUnreachable = $state(false) // the server is not responding
  error: string | null = $state(null) // of the last action
  now = $state(Date.now())
  recent: string[] = $state.raw(readNames(localStorage.getItem(RECENT_KEY)))
  #queued: Set<string> = $state.raw(new Set())
  #timer: ReturnType<typeof setTimeout> | undefined
  #isPolling = false
  #generation = 0

  /** A run of a log directory that has not been queued for processing. */
  isUnprocessed(profile: Profile): boolean {
    return profile.status === 'uploaded' && !this.#queued.has(profile.name)
  }

  get isBusy(): boolean {
    return this.all.some((profile) => profile.status === 'processing' || this.#queued.has(profile.name))
  }

  /** Polls until the returned function is called. */
  startPolling(): () => void {
    const onVisibilityChange = () => {
      if (document.hidden) clearTimeout(this.#timer)
      else void this.refresh()
    }
    this.#isPolling = true
    document.addEventListener('visibilitychange', onVisibilityChange)
    void this.refresh()
    return () => {
      this.#isPolling = false
      clearTimeout(this.#timer)
      document.removeEventListener('visibilitychange', onVisibilityChange)
    }
  }

  async refresh(): Promise<void> {
    clearTimeout(this.#timer)
    const generation = ++this.#generation
    const search = this.search.trim()
    try {
      const [all, uploads] = await Promise.all([api.listProfiles(search), api.listUploads()])
      if (generation !== this.#generation) return
      this.all = all
      if (!search) this.unfiltered = all
      const queued = uploads.filter((upload) => upload.status === 'uploaded' || upload.status === 'processing')
      this.#queued = new Set(queued.map((upload) => upload.name))
      this.isLoaded = true
      this.isUnreachable = false
    } catch (failure) {
      if (generation !== this.#generation) return
      this.isUnreachable = failure instanceof ApiError && failure.status === 0
      if (!this.isUnreachable) this.error = (failure as Error).message
    }
    this.now = Date.now()
    if (!this.#isPolling || document.hidden) return
    this.#timer = setTimeout(() => void this.refresh(), this.isUnreachable ? RETRY_MS : this.isBusy ? ACTIVE_POLL_MS : IDLE_POLL_MS)
  }

  async setFavorite(profile: Profile, favorite: boolean): Promise<void> {
    await this.#run(() => api.changeProfile(profile.name, { favorite }))
  }

  process(profile: Profile): Promise<boolean> {
    return this.#run(() => api.processProfile(profile.name))
  }

  /** Throws on failure: the dialog shows it. Does not wait for the refresh, so that the page can switch to the new name. */
  async rename(name: string, to: string): Promise<void> {
    await api.changeProfile(name, { name: to })
    this.#saveRecent(this.recent.map((other) => (other === name ? to : other)))
    void this.refresh()
  }

  /** Deletes one by one; a failure does not stop the others. */
  async remove(names: string[]): Promise<void> {
    const failures: string[] = []
    for (const name of names) {
      try {
        await api.deleteProfile(name)
      } catch (failure) {
        if (!(failure instanceof ApiError && failure.status === 404)) failures.push(`${name}: ${(failure as Error).message}`)
      }
    }
    this.#saveRecent(this.recent.filter((name) => !names.includes(name)))
    if (failures.length > 0) this.error = failures.join('; ')
    void this.refresh()
  }

  recordOpened(name: string): void {
    this.#saveRecent(addRecent(this.recent, name))
  }

  #saveRecent(names: string[]): void {
    this.recent = names
    localStorage.setItem(RECENT_KEY, JSON.stringify(names))
  }

  async #run(work: () => Promise<unknown>): Promise<boolean> {
    this.error = null
    try {
      await work()
      await this.refresh()
      return true
    } catch (failure) {
      this.error = (failure as Error).message
      return false
    }
  }
}

export const profiles = new ProfileList()

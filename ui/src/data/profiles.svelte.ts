// The list of profiles, kept up to date: often while something is on its way, now and then otherwise, not at all while
// nobody looks. A server that is gone is asked again until it answers.
import type { Profile } from '../model/api'
import { readNames, withOpened } from '../model/profiles'
import * as api from './api'
import { ApiError } from './api'

const BUSY_MS = 800
const CALM_MS = 10_000
const GONE_MS = 2_000
const OPENED_KEY = 'kymo.opened'

class ProfileList {
  all: Profile[] = $state.raw([]) // those that the search finds
  everything: Profile[] = $state.raw([]) // as of the last time without a search
  search = $state('')
  isLoaded = $state(false)
  isGone = $state(false) // the server does not answer
  error: string | null = $state(null) // what went wrong with the last thing asked for
  now = $state(Date.now())
  opened: string[] = $state.raw(readNames(localStorage.getItem(OPENED_KEY)))
  #queued: Set<string> = $state.raw(new Set())
  #timer: ReturnType<typeof setTimeout> | undefined
  #isFollowed = false
  #turn = 0

  /** Runs of a log directory that nobody asked for yet. */
  isWaitingForUs(profile: Profile): boolean {
    return profile.status === 'uploaded' && !this.#queued.has(profile.name)
  }

  get isBusy(): boolean {
    return this.all.some((profile) => profile.status === 'processing' || this.#queued.has(profile.name))
  }

  /** Keeps the list up to date until the returned function is called. */
  follow(): () => void {
    const wake = () => {
      if (document.hidden) clearTimeout(this.#timer)
      else void this.refresh()
    }
    this.#isFollowed = true
    document.addEventListener('visibilitychange', wake)
    void this.refresh()
    return () => {
      this.#isFollowed = false
      clearTimeout(this.#timer)
      document.removeEventListener('visibilitychange', wake)
    }
  }

  async refresh(): Promise<void> {
    clearTimeout(this.#timer)
    const turn = ++this.#turn
    const search = this.search.trim()
    try {
      const [all, uploads] = await Promise.all([api.listProfiles(search), api.listUploads()])
      if (turn !== this.#turn) return
      this.all = all
      if (!search) this.everything = all
      const queued = uploads.filter((upload) => upload.status === 'uploaded' || upload.status === 'processing')
      this.#queued = new Set(queued.map((upload) => upload.name))
      this.isLoaded = true
      this.isGone = false
    } catch (failure) {
      if (turn !== this.#turn) return
      this.isGone = failure instanceof ApiError && failure.status === 0
      if (!this.isGone) this.error = (failure as Error).message
    }
    this.now = Date.now()
    if (!this.#isFollowed || document.hidden) return
    this.#timer = setTimeout(() => void this.refresh(), this.isGone ? GONE_MS : this.isBusy ? BUSY_MS : CALM_MS)
  }

  async setFavourite(profile: Profile, favourite: boolean): Promise<void> {
    await this.#change(() => api.changeProfile(profile.name, { favourite }))
  }

  process(profile: Profile): Promise<boolean> {
    return this.#change(() => api.processProfile(profile.name))
  }

  /** Failures are the caller's: they belong beside the name. The list follows; a page of the old name must not wait for it. */
  async rename(name: string, to: string): Promise<void> {
    await api.changeProfile(name, { name: to })
    this.#keepOpened(this.opened.map((other) => (other === name ? to : other)))
    void this.refresh()
  }

  /** Each on its own: one that cannot be removed does not keep the others. */
  async remove(names: string[]): Promise<void> {
    const failures: string[] = []
    for (const name of names) {
      try {
        await api.deleteProfile(name)
      } catch (failure) {
        if (!(failure instanceof ApiError && failure.status === 404)) failures.push(`${name}: ${(failure as Error).message}`)
      }
    }
    this.#keepOpened(this.opened.filter((name) => !names.includes(name)))
    if (failures.length > 0) this.error = failures.join('; ')
    void this.refresh()
  }

  noteOpened(name: string): void {
    this.#keepOpened(withOpened(this.opened, name))
  }

  #keepOpened(names: string[]): void {
    this.opened = names
    localStorage.setItem(OPENED_KEY, JSON.stringify(names))
  }

  async #change(work: () => Promise<unknown>): Promise<boolean> {
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

// The call tree of the Flame graph tab.
import { flameTree, type FlameNode } from '../model/flame'
import { flameFramesSql, flameNamesSql, flameTotalsSql } from '../model/rangeSql'
import { toDigits, type Span } from '../model/time'
import * as api from './api'
import { figures } from './figures.svelte'
import { LatestRequest } from './latestRequest'
import { schema } from './schema.svelte'

/** Tracks over a time range; a title makes them a tree of their own. */
export interface FlamePart extends Span {
  title?: string
  tracks: number[]
}

class Flame {
  root: FlameNode | null = $state.raw(null)
  leftOut = $state(0)
  error: string | null = $state(null)
  isLoading = $state(false)
  #request = new LatestRequest()

  async load(profile: string, parts: FlamePart[]): Promise<void> {
    const signal = this.#request.begin()
    this.isLoading = true
    try {
      const wanted = parts.filter((part) => part.tracks.length > 0)
      const responses = await Promise.all(wanted.map((part) => api.getFlame(profile, part.tracks, part, signal)))
      if (signal.aborted) return
      this.#setQueries(profile, wanted)
      this.root = flameTree(responses.map((response, at) => ({ title: wanted[at]!.title, response })))
      this.leftOut = responses.reduce((sum, response) => sum + response.left_out, 0)
      this.error = null
    } catch (failure) {
      if (signal.aborted) return
      this.root = null
      this.error = (failure as Error).message
    }
    this.isLoading = false
  }

  #setQueries(profile: string, parts: FlamePart[]): void {
    const ranges = parts.map(({ from, to, tracks }) => ({ from: toDigits(from), to: toDigits(to), tracks }))
    const groups = { 'page.flame': flameTotalsSql, 'page.flame.names': flameNamesSql, 'page.flame.frames': flameFramesSql }
    for (const [group, sql] of Object.entries(groups)) figures.setSql(group, () => schema.load(profile).then(() => sql(ranges, schema)))
  }

  clear(): void {
    this.#request.cancel()
    this.root = null
    this.error = null
    this.isLoading = false
  }
}

export const flame = new Flame()

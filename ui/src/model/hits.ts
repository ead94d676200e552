// Index of search results by track and time, to test whether a slice contains one.
import type { Hit } from './api'
import { toPs } from './time'

interface TrackHits {
  starts: Float64Array
  ids: Set<number>
}

export class HitIndex {
  readonly #tracks = new Map<number, TrackHits>()

  constructor(hits: Hit[]) {
    const lists = new Map<number, { starts: number[]; ids: Set<number> }>()
    for (const hit of hits) {
      let list = lists.get(hit.track)
      if (!list) lists.set(hit.track, (list = { starts: [], ids: new Set() }))
      list.starts.push(toPs(hit.start))
      list.ids.add(hit.id)
    }
    for (const [track, { starts, ids }] of lists) this.#tracks.set(track, { starts: Float64Array.from(starts).sort(), ids })
  }

  /** Whether the event is a hit; for an item of several events, whether a hit starts in it. */
  covers(track: number, id: number, count: number, start: number, end: number): boolean {
    const hits = this.#tracks.get(track)
    if (!hits) return false
    if (count === 1) return hits.ids.has(id)
    let low = 0
    let high = hits.starts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (hits.starts[middle]! < start) low = middle + 1
      else high = middle
    }
    return low < hits.starts.length && hits.starts[low]! <= end
  }
}

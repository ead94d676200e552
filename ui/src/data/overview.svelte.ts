// Busy time over the whole profile, for the overview strip above the timeline.
import type { Track } from '../model/api'
import { binShares, busyNames, busyTracks, meanShares, type BusySource } from '../model/overview'
import { decodeTimeline } from '../model/timelineData'
import type { Span } from '../model/time'
import * as api from './api'

const MAX_ITEMS = 128_000 // of all tracks together
const [MIN_BINS, MAX_BINS] = [100, 1000]

class Overview {
  sources: BusySource[] = $state.raw([])
  areDevices = $state(false)
  readonly mean: Float32Array = $derived(meanShares(this.sources))

  /** Failures leave the strip empty; the timeline reports them. */
  async load(profile: string, tracks: Track[], span: Span): Promise<void> {
    this.sources = []
    const { areDevices, tracks: chosen } = busyTracks(tracks)
    if (chosen.length === 0) return
    const bins = Math.round(Math.max(MIN_BINS, Math.min(MAX_BINS, MAX_ITEMS / chosen.length)))
    try {
      const data = decodeTimeline(await api.getTimeline(profile, chosen.map(({ id }) => id), span, bins))
      const names = busyNames(chosen, tracks)
      this.areDevices = areDevices
      this.sources = chosen.map(({ id }, at) => ({ name: names[at]!, shares: binShares(data, id, bins) }))
    } catch {
      this.sources = []
    }
  }
}

export const overview = new Overview()

// Utilization over the whole profile, from its main tracks; for the overview strip above the timeline.
import type { Track } from '../model/api'
import { decodeTimeline, type TimelineData } from '../model/timelineData'
import type { Span } from '../model/time'
import * as api from './api'

const MAX_TRACKS = 12
export const OVERVIEW_BINS = 1000

class Overview {
  /** Utilization in each of OVERVIEW_BINS bins, relative to the busiest bin. */
  busy: Float32Array = $state.raw(new Float32Array(0))

  /** Failures leave the strip empty; the timeline reports them. */
  async load(profile: string, tracks: Track[], span: Span): Promise<void> {
    this.busy = new Float32Array(0)
    const selected = selectTracks(tracks)
    if (selected.length === 0) return
    try {
      const buffer = await api.getTimeline(profile, selected, span, OVERVIEW_BINS)
      this.busy = busyShares(decodeTimeline(buffer), span)
    } catch {
      this.busy = new Float32Array(0)
    }
  }
}

export const overview = new Overview()

/** Device lanes with work; without any, the lanes with the most events. */
function selectTracks(tracks: Track[]): number[] {
  const lanes = tracks.filter((track) => track.level === 'lane' && !track.is_counter && track.event_count > 0)
  const byId = new Map(tracks.map((track) => [track.id, track]))
  const onDevice = lanes.filter((lane) => byId.get(lane.parent ?? -1)?.role === 'device' && ['stream', 'ops'].includes(lane.role))
  return (onDevice.length ? onDevice : lanes)
    .sort((a, b) => b.event_count - a.event_count)
    .slice(0, MAX_TRACKS)
    .map((lane) => lane.id)
}

function busyShares(data: TimelineData, span: Span): Float32Array {
  const shares = new Float32Array(OVERVIEW_BINS)
  const bin = (span.to - span.from) / OVERVIEW_BINS
  const { slices } = data
  for (const row of data.sliceRows) {
    if (row.row > 0) continue
    for (let i = row.first; i < row.first + row.count; i++) {
      const from = Math.max(0, slices.start[i]! / bin)
      const to = Math.min(OVERVIEW_BINS, slices.end[i]! / bin)
      for (let at = Math.floor(from); at < to; at++) {
        shares[at]! += (Math.min(at + 1, to) - Math.max(at, from)) * slices.busy[i]!
      }
    }
  }
  const max = Math.max(...shares)
  return max > 0 ? shares.map((share) => share / max) : shares
}

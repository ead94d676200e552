// The busy time of devices in equal parts of a profile, for the overview strip.
import type { Track } from './api'
import { countOf, formatShare } from './numbers'
import type { TimelineData } from './timelineData'
import { sourceName } from './trackNames'

/** A device, or without devices the threads of a process, and the share of each bin in which something of it works. */
export interface BusySource {
  name: string
  shares: Float32Array
}

/** Devices; without any, everything else that has events. The first row of each is the union of what is in it. */
export function busyTracks(tracks: readonly Track[]): { areDevices: boolean; tracks: Track[] } {
  const sources = tracks.filter((track) => track.level === 'source' && track.rows > 0)
  const devices = sources.filter((track) => track.role === 'device')
  return devices.length ? { areDevices: true, tracks: devices } : { areDevices: false, tracks: sources }
}

/** Names that differ: those of several hosts with the host's. */
export function busyNames(chosen: readonly Track[], all: readonly Track[]): string[] {
  const byId = new Map(all.map((track) => [track.id, track]))
  const short = chosen.map((track) => sourceName(track.name))
  return chosen.map((track, at) => {
    if (short.indexOf(short[at]!) === short.lastIndexOf(short[at]!)) return short[at]!
    const path: string[] = []
    for (let up = byId.get(track.parent ?? -1); up; up = byId.get(up.parent ?? -1)) if (up.name) path.unshift(up.name)
    return [...path, short[at]].join(' · ')
  })
}

/** The busy share of each bin of a track, from items of its first row. */
export function binShares(data: TimelineData, track: number, bins: number): Float32Array {
  const shares = new Float32Array(bins)
  const bin = (data.to - data.from) / bins
  const { slices } = data
  for (const row of data.sliceRows) {
    if (row.track !== track || row.row > 0) continue
    for (let i = row.first; i < row.first + row.count; i++) {
      const from = Math.max(0, slices.start[i]! / bin)
      const to = Math.min(bins, slices.end[i]! / bin)
      for (let at = Math.floor(from); at < to; at++) shares[at]! += (Math.min(at + 1, to) - Math.max(at, from)) * slices.busy[i]!
    }
  }
  return shares.map((share) => Math.min(1, share))
}

export function meanShares(sources: readonly BusySource[]): Float32Array {
  const mean = new Float32Array(sources[0]?.shares.length ?? 0)
  for (const { shares } of sources) shares.forEach((share, at) => (mean[at]! += share / sources.length))
  return mean
}

/** The mean of what each of `width` columns shows of the bins. */
export function columnShares(shares: Float32Array, width: number): Float32Array {
  const columns = new Float32Array(width)
  for (let x = 0; x < width; x++) {
    const [from, to] = [(x * shares.length) / width, ((x + 1) * shares.length) / width]
    for (let at = Math.floor(from); at < to && at < shares.length; at++) columns[x]! += (shares[at]! * (Math.min(at + 1, to) - Math.max(at, from))) / (to - from)
  }
  return columns
}

/** At a bin, or on the whole. */
export function busyShare(shares: Float32Array, bin: number | null): number {
  return bin === null ? shares.reduce((sum, one) => sum + one, 0) / shares.length : shares[bin]!
}

const MAX_NAMED = 16

/** What the strip shows at a bin, or on the whole. */
export function busyText(sources: readonly BusySource[], areDevices: boolean, bin: number | null): string {
  const all = sources.map(({ name, shares }) => ({ name, share: busyShare(shares, bin) }))
  const mean = all.reduce((sum, { share }) => sum + share, 0) / Math.max(1, all.length)
  const lines = all.map(({ name, share }) => `${name}: ${formatShare(share)} busy`)
  if (all.length > 1) lines.unshift(`Mean of ${countOf(all.length, areDevices ? 'devices' : 'sources')}: ${formatShare(mean)} busy`)
  if (lines.length > MAX_NAMED) lines.splice(MAX_NAMED, Infinity, `and ${lines.length - MAX_NAMED} more`)
  return lines.join('\n')
}

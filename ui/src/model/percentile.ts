/** A percentile of sorted values, of which there is at least one: interpolated between the two nearest ranks, as everywhere in
    Kymo. The share is from 0 to 1. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const place = share * (sorted.length - 1)
  const below = Math.floor(place)
  const low = sorted[below]!
  const high = sorted[Math.ceil(place)]!
  return low === high ? low : low + (high - low) * (place - below)
}

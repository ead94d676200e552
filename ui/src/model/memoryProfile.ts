// The memory of allocators over time: the server's memory_profile, which has XProf's fields.
interface Stats {
  stackReservedBytes?: string
  heapAllocatedBytes?: string
  freeMemoryBytes?: string
  fragmentation?: number | string // NaN is written as text
  peakBytesInUse?: string
  reservedBytes?: string // of PyTorch and CUDA: with what is in use
}

interface Snapshot {
  timeOffsetPs?: string
  aggregationStats?: Stats
}

interface Allocator {
  profileSummary?: { peakBytesUsageLifetime?: string; peakStats?: Stats; peakStatsTimePs?: string; memoryCapacity?: string }
  sampledTimelineSnapshots?: Snapshot[]
}

export interface MemoryUse {
  at: number // ps
  heap: number
  stack: number // beside the heap
  reserved: number | null // with the heap; null: the allocator reserves nothing, or it is not recorded
  free: number | null
  fragmentation: number | null // 0 to 1
}

export interface AllocatorProfile {
  peak: MemoryUse
  lifetimePeak: number | null
  capacity: number | null
  samples: MemoryUse[]
}

const known = (value: string | undefined) => Number(value ?? 0) || null // XProf's form has 0 for what is not recorded

function readUse(at: string | undefined, stats: Stats = {}): MemoryUse {
  return {
    at: Number(at ?? 0), stack: Number(stats.stackReservedBytes ?? 0), heap: Number(stats.heapAllocatedBytes ?? 0),
    reserved: known(stats.reservedBytes), free: stats.freeMemoryBytes === undefined ? null : Number(stats.freeMemoryBytes),
    fragmentation: typeof stats.fragmentation === 'number' ? stats.fragmentation : null,
  }
}

/** By allocator. */
export function readMemoryProfile(document: unknown): Map<string, AllocatorProfile> {
  const all = (document as { memoryProfilePerAllocator?: Record<string, Allocator> } | null)?.memoryProfilePerAllocator ?? {}
  return new Map(Object.entries(all).map(([id, one]) => {
    const { profileSummary: summary = {} } = one
    const samples = (one.sampledTimelineSnapshots ?? []).map((sample) => readUse(sample.timeOffsetPs, sample.aggregationStats))
    return [id, {
      peak: readUse(summary.peakStatsTimePs, summary.peakStats), lifetimePeak: known(summary.peakBytesUsageLifetime),
      capacity: known(summary.memoryCapacity), samples,
    }]
  }))
}

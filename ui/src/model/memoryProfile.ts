// The memory of allocators over time, and what is alive at the peak: the server's memory_profile, which has XProf's fields.
import type { Cell } from './tables'

interface Stats {
  stackReservedBytes?: string
  heapAllocatedBytes?: string
  freeMemoryBytes?: string
  fragmentation?: number | string // NaN is written as text
  peakBytesInUse?: string
}

interface Activity {
  memoryActivity?: string
  requestedBytes?: string
  allocationBytes?: string
  tfOpName?: string
  regionType?: string
  dataType?: string
  tensorShape?: string
}

interface Snapshot {
  timeOffsetPs?: string
  aggregationStats?: Stats
  activityMetadata?: Activity
}

interface Allocator {
  memoryProfileSnapshots?: Snapshot[]
  profileSummary?: { peakBytesUsageLifetime?: string; peakStats?: Stats; peakStatsTimePs?: string; memoryCapacity?: string }
  activeAllocations?: { snapshotIndex?: string; specialIndex?: string; numOccurrences?: string }[]
  specialAllocations?: Activity[]
  sampledTimelineSnapshots?: Snapshot[]
}

export interface MemoryUse {
  at: number // ps
  stack: number
  heap: number
  free: number
  fragmentation: number | null // 0 to 1
}

export interface Allocation {
  op: Cell
  bytes: number
  requested: number
  count: number
  region: Cell
  type: Cell
  shape: Cell
}

export interface AllocatorProfile {
  peak: MemoryUse
  lifetimePeak: number
  capacity: number
  samples: MemoryUse[]
  allocations: Allocation[] // alive at the peak
}

function readUse(at: string | undefined, stats: Stats = {}): MemoryUse {
  return {
    at: Number(at ?? 0), stack: Number(stats.stackReservedBytes ?? 0), heap: Number(stats.heapAllocatedBytes ?? 0),
    free: Number(stats.freeMemoryBytes ?? 0), fragmentation: typeof stats.fragmentation === 'number' ? stats.fragmentation : null,
  }
}

function readAllocation(activity: Activity, count: string | undefined): Allocation {
  return {
    op: activity.tfOpName || null, bytes: Number(activity.allocationBytes ?? 0), requested: Number(activity.requestedBytes ?? 0),
    count: Number(count ?? 1), region: activity.regionType || null, type: activity.dataType === 'INVALID' ? null : activity.dataType || null, shape: activity.tensorShape || null,
  }
}

/** By allocator. */
export function readMemoryProfile(document: unknown): Map<string, AllocatorProfile> {
  const all = (document as { memoryProfilePerAllocator?: Record<string, Allocator> } | null)?.memoryProfilePerAllocator ?? {}
  return new Map(Object.entries(all).map(([id, one]) => {
    const { profileSummary: summary = {}, memoryProfileSnapshots: snapshots = [], specialAllocations: specials = [] } = one
    const allocations = (one.activeAllocations ?? []).flatMap(({ snapshotIndex, specialIndex, numOccurrences }) => {
      const activity = Number(specialIndex ?? -1) >= 0 ? specials[Number(specialIndex)] : snapshots[Number(snapshotIndex ?? 0)]?.activityMetadata
      return activity ? [readAllocation(activity, numOccurrences)] : []
    })
    const samples = (one.sampledTimelineSnapshots ?? []).map((sample) => readUse(sample.timeOffsetPs, sample.aggregationStats))
    return [id, {
      peak: readUse(summary.peakStatsTimePs, summary.peakStats), lifetimePeak: Number(summary.peakBytesUsageLifetime ?? 0),
      capacity: Number(summary.memoryCapacity ?? 0), samples, allocations,
    }]
  }))
}

// The memory of allocators over time, and what is alive at the peak: the server's memory_profile, which has XProf's fields.
import type { Cell } from './tables'

interface Stats {
  stackReservedBytes?: string
  heapAllocatedBytes?: string
  freeMemoryBytes?: string
  fragmentation?: number | string // NaN is written as text
  peakBytesInUse?: string
  reservedBytes?: string // of PyTorch and CUDA: with what is in use
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
  heap: number
  stack: number // beside the heap
  reserved: number | null // with the heap; null: the allocator reserves nothing, or it is not recorded
  free: number | null
  fragmentation: number | null // 0 to 1
}

export interface Allocation {
  op: Cell
  bytes: number
  requested: number | null
  count: number
  region: Cell
  type: Cell
  shape: Cell
}

export interface AllocatorProfile {
  peak: MemoryUse
  lifetimePeak: number | null
  capacity: number | null
  samples: MemoryUse[]
  allocations: Allocation[] // alive at the peak
}

const known = (value: string | undefined) => Number(value ?? 0) || null // XProf's form has 0 for what is not recorded

function readUse(at: string | undefined, stats: Stats = {}): MemoryUse {
  return {
    at: Number(at ?? 0), stack: Number(stats.stackReservedBytes ?? 0), heap: Number(stats.heapAllocatedBytes ?? 0),
    reserved: known(stats.reservedBytes), free: stats.freeMemoryBytes === undefined ? null : Number(stats.freeMemoryBytes),
    fragmentation: typeof stats.fragmentation === 'number' ? stats.fragmentation : null,
  }
}

function readAllocation(activity: Activity, count: string | undefined): Allocation {
  return {
    op: activity.tfOpName || null, bytes: Number(activity.allocationBytes ?? 0), requested: known(activity.requestedBytes),
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
      peak: readUse(summary.peakStatsTimePs, summary.peakStats), lifetimePeak: known(summary.peakBytesUsageLifetime),
      capacity: known(summary.memoryCapacity), samples, allocations,
    }]
  }))
}

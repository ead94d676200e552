// The memory that a module needs, as the compiler planned it: the server's memory_viewer, which has XProf's fields; those that are
// zero are left out.

interface HeapObject {
  label?: string
  logicalBufferId?: number | string
  logicalBufferSizeMib?: number
  unpaddedShapeMib?: number
  instructionName?: string
  shapeString?: string
  tfOpName?: string
  groupName?: string
  opCode?: string
}

interface Document {
  heapSizes?: number[]
  unpaddedHeapSizes?: number[]
  hloInstructionNames?: string[]
  maxHeap?: HeapObject[]
  moduleName?: string
  peakHeapMib?: number
  peakUnpaddedHeapMib?: number
  peakHeapSizePosition?: number | string
  entryComputationParametersMib?: number
  maybeLiveOutMib?: number
  totalBufferAllocationMib?: number
  indefiniteBufferAllocationMib?: number
}

export interface PeakBuffer {
  name: string
  bytes: number
  padding: number | null // bytes; null: not known
  shape: string
  group: string
  opcode: string
  op: string
}

export interface ModuleMemory {
  module: string
  heap: number[] // bytes before each event and after the last, with what is always alive
  unpadded: number[]
  instructions: string[]
  peak: number
  unpaddedPeak: number
  peakAt: number
  parameters: number
  outputs: number
  permanent: number
  total: number
  buffers: PeakBuffer[]
}

const MIB = 2 ** 20

export function readModuleMemory(answer: unknown): ModuleMemory | null {
  const document = (answer ?? {}) as Document
  if (!document.moduleName && !document.maxHeap) return null
  const bytes = (mib: number | undefined) => (mib ?? 0) * MIB
  return {
    module: document.moduleName ?? '', heap: (document.heapSizes ?? []).map(bytes), unpadded: (document.unpaddedHeapSizes ?? []).map(bytes),
    instructions: document.hloInstructionNames ?? [], peak: bytes(document.peakHeapMib), unpaddedPeak: bytes(document.peakUnpaddedHeapMib),
    peakAt: Number(document.peakHeapSizePosition ?? 0), parameters: bytes(document.entryComputationParametersMib),
    outputs: bytes(document.maybeLiveOutMib), permanent: bytes(document.indefiniteBufferAllocationMib), total: bytes(document.totalBufferAllocationMib),
    buffers: (document.maxHeap ?? []).map((one) => ({
      name: one.instructionName ?? one.label ?? '', bytes: bytes(one.logicalBufferSizeMib),
      padding: one.unpaddedShapeMib === undefined ? null : Math.max(0, bytes(one.logicalBufferSizeMib) - bytes(one.unpaddedShapeMib)),
      shape: one.shapeString ?? '', group: one.groupName ?? '', opcode: one.opCode ?? '', op: one.tfOpName ?? '',
    })),
  }
}

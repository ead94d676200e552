// Lanes of device profiles, by their names: where each is on the timeline, and which the minimal view shows.
import type { Track } from './api'

export const ENGINES = ['Tensor', 'TensorMatrix', 'Vector', 'Scalar', 'GpSimd', 'Sync']

/** Place of a lane in the group of its core. */
export interface DevicePlace {
  groups: { label: string; isFolded: boolean }[] // inside the core, outermost first; folded: collapsed unless the view says otherwise
  order: number
  isEssential: boolean
}

const place = (order: number, ...groups: DevicePlace['groups']): DevicePlace => ({ groups, order, isEssential: order < 2 })
const open = (label: string) => ({ label, isFolded: false })
const folded = (label: string) => ({ label, isFolded: true })

const DMA = open('DMA queues')
const USAGE = open('Memory and throughput')

const RULES: [RegExp, (match: RegExpExecArray) => DevicePlace][] = [
  [new RegExp(`^(${ENGINES.join('|')})$`), ([name]) => place(ENGINES.indexOf(name) / 10)],
  [/^(MFU|TensorMatrix utili[sz]ation)\b/, () => place(1)],
  [/^HFU\b/, () => place(2)],
  [/^(Custom Notification|Errors)$/, () => place(-1)], // what went wrong: first, and in every view
  [/^(Throttling|Warnings)$/, () => place(3)],
  [/^Collectives\b|^CC-core\b/, () => place(4, open('Collectives'))],
  [/^(.*), DMA engine \d+$/, ([, queue]) => place(6, DMA, folded(`Packets of ${queue}`))],
  [/^(Pending DMA|DMA throughput|HBM throughput|SBUF use|PSUM use)\b/, () => place(7, USAGE)],
  [/^SBUF partition\b/, () => place(8, USAGE, folded('SBUF partitions'))],
  [/^PSUM bank\b/, () => place(8, USAGE, folded('PSUM banks'))],
  [/^Semaphore \d+$/, () => place(9, folded('Semaphores'))],
]

/** Queues have names of their own. */
export function devicePlace(lane: string): DevicePlace {
  for (const [pattern, make] of RULES) {
    const match = pattern.exec(lane)
    if (match) return make(match)
  }
  return place(5, DMA)
}

/** The sources of device profiles, each with its core: the device with lanes of engines; its packets and semaphores are sources of their
 *  own, "NC0 DMA packets" beside "NC0". */
export function deviceCores(tracks: readonly Track[]): Map<number, Track> {
  const sources = tracks.filter((track) => track.level === 'source')
  const engines = new Set(tracks.filter((track) => track.level === 'lane' && ENGINES.includes(track.name)).map((track) => track.parent))
  const cores = new Map(sources.filter((track) => track.role === 'device' && engines.has(track.id)).map((track) => [track.id, track]))
  for (const core of [...cores.values()])
    for (const { id, parent, name } of sources) if (parent === core.parent && name.startsWith(`${core.name} `)) cores.set(id, core)
  return cores
}

// The track tree: lanes grouped by the selected mode, without empty ones; devices first, then the host, counters last.
import type { Track } from './api'
import { deviceCores, devicePlace, type DevicePlace } from './deviceLanes'
import { hash } from './palette'
import { SQL_ROLE } from './sqlTracks'
import { coreName, joinLabels, laneName, processName, sourceName } from './trackNames'
import type { View } from './view'

export interface LaneNode {
  kind: 'lane'
  id: number
  label: string
  track: Track
  source: string // name of the lane's source track in the profile
  weight: number
}

export interface GroupNode {
  kind: 'group'
  id: number
  label: string
  children: Node[]
  weight: number
  isFolded: boolean // collapsed unless the view says otherwise
}

export type Node = LaneNode | GroupNode

interface GroupRef {
  id: number
  label: string
  isFolded?: boolean
}

/** A lane with its ancestors. */
interface LanePath {
  lane: Track
  source: Track | null
  process: Track | null
  instance: Track | null
  place: DevicePlace | null // of a core's lanes
}

// Groups that are not tracks get ids above the 32-bit track ids.
const FIRST_GROUP_ID = 2 ** 32

function syntheticGroup(...path: string[]): GroupRef {
  return { id: FIRST_GROUP_ID + hash(path.join('\n')), label: path.at(-1)! }
}

const ROLE_ORDER = ['steps', 'modules', 'ops', 'async', 'stream', 'plain', 'aside']

// Of a process, what is asynchronous belongs to no thread; of a device, it stands beside the operations.
const BELOW_THREADS = ROLE_ORDER.length

function weightOf(line: LanePath, isMain: boolean): number {
  if (line.place) return line.place.order
  if (line.lane.is_counter) return 300
  const role = line.source?.role
  const place = role === 'device' ? 0 : role === 'host' ? 100 : 200
  const kind = role === 'host' && line.lane.role === 'async' ? BELOW_THREADS : ROLE_ORDER.indexOf(line.lane.role)
  return place + (isMain ? 0 : kind < 0 ? ROLE_ORDER.length : kind + 1)
}

function lanePaths(tracks: Track[]): LanePath[] {
  const byId = new Map(tracks.map((track) => [track.id, track]))
  const cores = deviceCores(tracks)
  const lines: LanePath[] = []
  for (const lane of tracks) {
    if (lane.level !== 'lane' || lane.event_count === 0 || lane.rows === 0 || lane.role === SQL_ROLE) continue
    const core = cores.get(lane.parent ?? -1)
    const line: LanePath = { lane, source: null, process: null, instance: null, place: core ? devicePlace(lane.name) : null }
    for (let at = byId.get(lane.parent ?? -1); at; at = byId.get(at.parent ?? -1)) {
      if (at.level !== 'lane') line[at.level] = at
    }
    if (core) line.source = core
    lines.push(line)
  }
  return lines
}

/** The main thread of each process: "python", "main", or the one with the most events. */
function mainThreads(lines: LanePath[]): Map<number, Track> {
  const best = new Map<number, { lane: Track; score: number }>()
  for (const { lane, source, process } of lines) {
    if (lane.is_counter || lane.role === 'async' || source?.role !== 'host' || coreName(source.name)) continue
    const score = lane.event_count + (/python|main/i.test(lane.name) ? 1e15 : 0)
    const key = process?.id ?? -1
    if (score > (best.get(key)?.score ?? -1)) best.set(key, { lane, score })
  }
  return new Map([...best.values()].map(({ lane }) => [lane.id, lane]))
}

const BUSY_SHARE = 0.1 // of the main thread's events
const withoutNumbers = (name: string) => name.replaceAll(/\d+/g, '')

/** PyTorch runs the backward pass on threads of its own: named after autograd, in older versions like the main thread. */
function isBackward({ lane, source }: LanePath, main: ReadonlyMap<number, Track>): boolean {
  if (source?.role !== 'host' || lane.role === 'async') return false
  if (/autograd/i.test(lane.name)) return true
  return [...main.values()].some((thread) =>
    thread.parent === lane.parent && lane.event_count >= BUSY_SHARE * thread.event_count && withoutNumbers(lane.name) === withoutNumbers(thread.name))
}

const ESSENTIAL_ROLES = new Set(['steps', 'modules', 'ops', 'stream', 'async'])

function isEssential(line: LanePath, main: ReadonlyMap<number, Track>): boolean {
  if (line.place) return line.place.isEssential
  if (line.lane.is_counter) return /mem|hbm/i.test(`${line.source?.name} ${line.lane.name}`)
  if (main.has(line.lane.id) || isBackward(line, main)) return true
  return line.source?.role === 'device' && ESSENTIAL_ROLES.has(line.lane.role)
}

type PathOf = (line: LanePath) => GroupRef[]

function pathFor(grouping: View['grouping'], lines: LanePath[], pids: ReadonlyMap<number, number>): PathOf {
  const instances = new Set(lines.map((line) => line.instance?.id)).size
  const instance = (line: LanePath) => line.instance?.name || 'instance'
  const process = (line: LanePath) => (line.process ? processName(line.process, pids.get(line.process.id)) : 'System')
  const within = (line: LanePath, name: string) => (instances > 1 ? `${instance(line)} / ${name}` : name)
  const source = (line: LanePath) => (line.source ? sourceName(line.source.name) : 'Events')
  switch (grouping) {
    case 'device': {
      return (line) => {
        const isDevice = line.source?.role === 'device' || /device|hbm/.test(line.source?.name ?? '')
        const side = isDevice ? 'Devices' : 'CPU'
        const name = isDevice ? source(line) : `${process(line)} / ${source(line)}`
        return [syntheticGroup('side', side), syntheticGroup(side, within(line, name))]
      }
    }
    case 'core':
      return (line) => {
        const core = line.source ? coreName(line.source.name) : null
        return [syntheticGroup('core', within(line, core ?? 'Host'))]
      }
    case 'thread':
      return (line) => [
        syntheticGroup('process', within(line, process(line))),
        syntheticGroup('thread', String(line.process?.id), line.lane.is_counter ? source(line) : laneName(line.lane, '')),
      ]
    case 'process':
      return (line) => [syntheticGroup('process', within(line, process(line)))]
    case 'instance':
      return (line) => [syntheticGroup('instance', instance(line))]
    default:
      return (line) => {
        const path: GroupRef[] = []
        if (line.instance) path.push({ id: line.instance.id, label: instance(line) })
        if (line.process) path.push({ id: line.process.id, label: process(line) })
        if (line.source) path.push({ id: line.source.id, label: source(line) })
        return path
      }
  }
}

/** The groups inside a core. */
function coreGroups({ source, place }: LanePath): GroupRef[] {
  return (place?.groups ?? []).map(({ label, isFolded }) => ({ ...syntheticGroup('lanes', String(source?.id), label), isFolded }))
}

function group(place: GroupRef): GroupNode {
  return { kind: 'group', id: place.id, label: place.label, children: [], weight: Infinity, isFolded: place.isFolded ?? false }
}

function buildTree(lines: LanePath[], pathOf: PathOf, main: ReadonlyMap<number, Track>, namesSource: boolean): GroupNode {
  const root = group({ id: -1, label: '' })
  const groups = new Map<string, GroupNode>()
  for (const line of lines) {
    const weight = weightOf(line, main.has(line.lane.id))
    let at = root
    let key = ''
    for (const place of [...pathOf(line), ...coreGroups(line)]) {
      key += `/${place.id}`
      let next = groups.get(key)
      if (!next) {
        next = group(place)
        groups.set(key, next)
        at.children.push(next)
      }
      next.weight = Math.min(next.weight, weight)
      at = next
    }
    const source = line.source?.name ?? ''
    const from = namesSource && line.source ? `${sourceName(source)} · ` : ''
    const label = from + laneName(line.lane, source)
    at.children.push({ kind: 'lane', id: line.lane.id, label, track: line.lane, source, weight })
  }
  return root
}

/** Merges a group that has a single child with that child. */
function mergeSingleChildren(node: Node, joinsLanes: boolean): Node {
  if (node.kind === 'lane') return node
  const children = node.children.map((child) => mergeSingleChildren(child, joinsLanes))
  const only = children.length === 1 ? children[0]! : null
  if (!only || !node.label || (node.isFolded && only.kind === 'lane')) return { ...node, children }
  if (only.kind === 'group') return { ...only, label: joinLabels(node.label, only.label), isFolded: node.isFolded || only.isFolded }
  return { ...only, label: joinsLanes ? `${node.label} · ${only.label}` : only.label }
}

/** Lanes of a core are recorded in any order, as its threads come. */
function compareCoreLanes(a: Node, b: Node): number {
  const ofCore = /^(nrt-)?nc-\d+/
  return ofCore.test(a.label) && ofCore.test(b.label) ? a.label.localeCompare(b.label, 'en', { numeric: true }) : 0
}

function sort(nodes: Node[], order: ReadonlyMap<number, number>): void {
  const place = (node: Node) => order.get(node.id) ?? Infinity
  const natural = nodes.map((node, at) => ({ node, at }))
  natural.sort((a, b) => {
    const [first, second] = [place(a.node), place(b.node)]
    return first === second ? a.node.weight - b.node.weight || compareCoreLanes(a.node, b.node) || a.at - b.at : first - second
  })
  natural.forEach(({ node }, at) => (nodes[at] = node))
  for (const node of nodes) if (node.kind === 'group') sort(node.children, order)
}

export function buildTrackTree(
  tracks: Track[], pids: ReadonlyMap<number, number>, view: Pick<View, 'grouping' | 'order'> & { minimal: boolean },
): Node[] {
  let lines = lanePaths(tracks)
  const main = mainThreads(lines)
  if (view.minimal) {
    const essential = lines.filter((line) => isEssential(line, main))
    if (essential.length) lines = essential
  }
  const namesSource = view.grouping !== 'default' && view.grouping !== 'device'
  const root = mergeSingleChildren(buildTree(lines, pathFor(view.grouping, lines, pids), main, namesSource), !namesSource) as GroupNode
  let nodes = root.children
  // A single root group would only add indentation.
  const only = nodes.length === 1 ? nodes[0]! : null
  if (only?.kind === 'group' && only.children.some((child) => child.kind === 'group')) nodes = only.children
  // Tracks made from queries come first, outside of the groups.
  const queries = tracks.filter((track) => track.role === SQL_ROLE)
  nodes = [...queries.map((track): LaneNode => ({ kind: 'lane', id: track.id, label: track.name, track, source: '', weight: -1 })), ...nodes]
  sort(nodes, new Map(view.order.map((id, at) => [id, at])))
  return nodes
}

// Track layout for profiles of JAX, PyTorch and Neuron.
import { expect, test } from 'vitest'
import type { Track } from './api'
import { expanded, HEADER_HEIGHT, itemsBetween, makeLayout, reordered, stuckGroups, type Layout, type LayoutView } from './layout'
import { laneName, sourceName } from './trackNames'
import { defaultView } from './view'

let id = 0
function track(level: Track['level'], parent: Track | null, name: string, more: Partial<Track> = {}): Track {
  const isLane = level === 'lane'
  return {
    id: id++, parent: parent?.id ?? null, level, role: isLane ? 'plain' : 'other', name, table: 'SystemProfileEvents',
    is_counter: false, rows: isLane ? 1 : 0, event_count: isLane ? 10 : 0, sort_key: 0, ...more,
  }
}

const vm = track('instance', null, 'vm', { rows: 1 })
const process = track('process', vm, '', { rows: 1 })
const meta = track('source', process, '/host:metadata', { role: 'host' })
const gpu = track('source', process, '/device:GPU:0', { role: 'device', rows: 1 })
const stream = track('lane', gpu, 'Stream #14(Compute,Memset)', { role: 'stream', rows: 2 })
const ops = track('lane', gpu, 'XLA Ops', { role: 'ops' })
const modules = track('lane', gpu, 'XLA Modules', { role: 'modules' })
const empty = track('lane', gpu, 'Overlay', { event_count: 0, rows: 0 })
const host = track('source', process, '/host:CPU', { role: 'host', rows: 1 })
const worker = track('lane', host, 'worker/7')
const python = track('lane', host, 'python3', { rows: 14, event_count: 5 })
const memory = track('source', process, 'mem_usage')
const used = track('lane', memory, 'usage', { role: 'counter', is_counter: true })
const percent = track('lane', memory, 'percent_usage', { role: 'counter', is_counter: true })
const TRACKS = [vm, process, memory, used, percent, meta, gpu, stream, ops, modules, empty, host, worker, python]
const PIDS = new Map([[process.id, 1210]])

function layout(change: Partial<LayoutView> = {}): Layout {
  return makeLayout(TRACKS, PIDS, { ...defaultView(), minimal: false, ...change })
}

function labels(of: Layout): string[] {
  return of.items.map((item) => '  '.repeat(item.depth) + item.label)
}

test('devices come first, then the host with its main thread, then counters; empty tracks are left out', () => {
  expect(labels(layout())).toEqual([
    'GPU 0', '  XLA Modules', '  XLA Ops', '  Stream 14 · Compute, Memset', 'Host', '  python3', '  worker/7',
    'Host memory', '  used', '  used, %',
  ])
})

test('what a process does outside of its threads comes below them, however much it is', () => {
  const waits = track('lane', host, 'CUDA synchronization', { role: 'async', event_count: 1000, sort_key: 2 ** 63 })
  const worked = track('lane', host, 'train', { event_count: 20 })
  const copies = track('lane', gpu, 'Async XLA Ops', { role: 'async' })
  const tracks = [vm, process, gpu, copies, stream, ops, host, waits, worker, worked]
  const shown = labels(makeLayout(tracks, PIDS, { ...defaultView(), minimal: false }))
  expect(shown).toEqual([
    'GPU 0', '  XLA Ops', '  Async XLA Ops', '  Stream 14 · Compute, Memset', 'Host', '  train', '  worker/7', '  CUDA synchronization',
  ])
})

test('items are stacked without gaps, as high as their rows', () => {
  const { items, height } = layout({ rowHeight: 20 })
  let y = 0
  for (const item of items) {
    expect(item.y).toBe(y)
    y += item.height
  }
  expect(height).toBe(y)
  const row = items.find((item) => item.id === python.id)!
  expect(row.height).toBe(14 * 20 + 6)
  expect(itemsBetween(items, row.y, row.y + 1).map((item) => item.id)).toEqual([python.id])
  expect(itemsBetween(items, height, height + 10)).toEqual([])
})

test('a collapsed lane has one row, a collapsed group none of its lanes', () => {
  const folded = layout({ collapsed: [python.id, gpu.id] })
  expect(folded.lanes.get(python.id)!.rows).toBe(1)
  expect(folded.lanes.has(ops.id)).toBe(false)
  expect(folded.parents.get(ops.id)).toEqual([gpu.id])
})

function busyOf(of: Layout, label: string): number[] {
  const item = of.items.find((one) => one.kind === 'group' && one.label === label)
  return item?.kind === 'group' ? item.busy.map((one) => one.id) : []
}

test('the busy time of a group is that of its track; of a group without one, that of the largest tracks inside', () => {
  for (const collapsed of [[], [gpu.id]]) expect(busyOf(layout({ collapsed }), 'GPU 0')).toEqual([gpu.id])
  expect(busyOf(layout(), 'Host memory')).toEqual([]) // counters alone
  expect(busyOf(layout({ grouping: 'process' }), 'PID 1210')).toEqual([vm.id])
  expect(busyOf(layout({ grouping: 'core' }), 'Host')).toEqual([host.id])
})

test('a filter keeps the lanes whose path contains all words, with their groups', () => {
  expect(labels(layout({ filter: 'xla gpu' }))).toEqual(['GPU 0', '  XLA Modules', '  XLA Ops'])
  expect(labels(layout({ filter: 'PYTHON' }))).toEqual(['Host', '  python3'])
  expect(labels(layout({ filter: 'nothing' }))).toEqual([])
})

test('the header of a group stays at the top until its last lane has scrolled away', () => {
  const all = layout()
  const [gpuHeader, hostHeader] = ['GPU 0', 'Host'].map((label) => all.items.find((item) => item.label === label)!)
  expect(stuckGroups(all, 0)).toEqual([])
  expect(stuckGroups(all, 10)).toEqual([{ group: gpuHeader, y: 0 }])
  const end = hostHeader!.y // of the first group
  expect(stuckGroups(all, end - HEADER_HEIGHT / 2)).toEqual([{ group: gpuHeader, y: -HEADER_HEIGHT / 2 }])
  expect(stuckGroups(all, end)).toEqual([])
  expect(stuckGroups(all, end + 1)).toEqual([{ group: hostHeader, y: 0 }])
  expect(stuckGroups(layout({ collapsed: [gpu.id] }), 10)).toEqual([])
})

test('pinned lanes are separate, hidden ones are listed', () => {
  const changed = layout({ pinned: [ops.id], hidden: [worker.id, memory.id] })
  expect(changed.pinned.map((lane) => lane.label)).toEqual(['GPU 0 · XLA Ops'])
  expect(changed.pinnedHeight).toBe(changed.pinned[0]!.height)
  expect(changed.hidden.map((entry) => entry.label)).toEqual(['Host memory', 'worker/7'])
  expect(labels(changed)).toEqual(['GPU 0', '  XLA Modules', '  Stream 14 · Compute, Memset', 'Host', '  python3'])
})

test('moving changes the order among siblings alone', () => {
  const order = reordered(layout(), [], stream.id, -2)
  expect(labels(layout({ order })).slice(0, 4)).toEqual(['GPU 0', '  Stream 14 · Compute, Memset', '  XLA Modules', '  XLA Ops'])
  const groups = reordered(layout({ order }), order, host.id, -1)
  expect(labels(layout({ order: groups })).slice(0, 4)).toEqual(['Host', '  python3', '  worker/7', 'GPU 0'])
  expect(reordered(layout(), [], modules.id, -1)).toEqual([])
})

test('the minimal view keeps devices, the main thread and memory', () => {
  expect(labels(layout({ minimal: true }))).toEqual([
    'GPU 0', '  XLA Modules', '  XLA Ops', '  Stream 14 · Compute, Memset', 'Host · python3', 'Host memory', '  used',
    '  used, %',
  ])
})

test('the minimal view of PyTorch keeps the threads of the backward pass, by name or like the main thread', () => {
  const machine = track('instance', null, 'vm')
  const program = track('process', machine, '')
  const threads = track('source', program, 'threads', { role: 'host' })
  const named = [['thread 1 (pt_main_thread)', 900], ['thread 2 (pt_autograd_0)', 5], ['thread 3 (pt_data_pin)', 800]] as const
  const alike = [['thread 4037 (python3.8)', 1828], ['thread 23695 (python3.8)', 1778], ['thread 77 (python3.8)', 4]] as const
  for (const [threadsOf, kept] of [[named, 2], [alike, 2]] as const) {
    const lanes = threadsOf.map(([name, event_count]) => track('lane', threads, name, { event_count }))
    const shown = makeLayout([machine, program, threads, ...lanes], new Map(), { ...defaultView(), minimal: true })
    expect([...shown.lanes.keys()]).toEqual(lanes.slice(0, kept).map(({ id }) => id))
  }
})

test('every grouping has the same lanes', () => {
  const all = new Set(layout().lanes.keys())
  for (const grouping of ['device', 'core', 'thread', 'process', 'instance'] as const) {
    expect(new Set(layout({ grouping }).lanes.keys()), grouping).toEqual(all)
  }
  expect(labels(layout({ grouping: 'process' }))[0]).toBe('PID 1210')
  expect(labels(layout({ grouping: 'core' })).filter((label) => !label.startsWith(' '))).toEqual(['GPU 0', 'Host'])
})

const device = track('instance', null, 'trn1', { rows: 1 })
const core = track('source', track('process', device, 'ND0', { rows: 1 }), 'NC0', { role: 'device', rows: 1 })
const packets = track('source', { ...core, id: core.parent! }, 'NC0 DMA packets', { rows: 1 })
const counter = { role: 'counter', is_counter: true }
const DEVICE_TRACKS = [
  device, core, track('lane', core, 'Tensor'), track('lane', core, 'TensorMatrix'), track('lane', core, 'Sync'), track('lane', core, 'qSyncIO0'),
  track('lane', core, 'qAct1'), track('lane', core, 'CC-core 0'), track('lane', core, 'Throttling'), track('lane', core, 'Pending DMA', counter),
  track('lane', core, 'SBUF use (%)', counter), track('lane', core, 'PSUM bank 0 (%)', counter), track('lane', core, 'PSUM bank 1 (%)', counter),
  track('lane', core, 'MFU (%)', counter), packets,
  track('lane', packets, 'qSyncIO0, DMA engine 0'), track('lane', packets, 'qSyncIO0, DMA engine 1'),
  track('lane', core, 'Semaphore 3', counter), track('lane', core, 'Semaphore 7', counter),
]

test('the lanes of a NeuronCore are in groups, of which packets, banks and semaphores are folded', () => {
  const view = { ...defaultView(), minimal: false }
  const whole = makeLayout(DEVICE_TRACKS, new Map(), view)
  const shown = [
    'Tensor', 'TensorMatrix', 'Sync', 'MFU', 'Throttling', 'Collectives · CC-core 0', 'DMA queues', '  qSyncIO0', '  qAct1',
    '  Packets of qSyncIO0', 'Memory and throughput', '  Pending DMA', '  SBUF use', '  PSUM banks', 'Semaphores',
  ]
  expect(labels(whole)).toEqual(shown)
  const lane = DEVICE_TRACKS.find(({ name }) => name === 'PSUM bank 1 (%)')!.id
  const collapsed = expanded(whole, [], whole.parents.get(lane)!)
  const opened = makeLayout(DEVICE_TRACKS, new Map(), { ...view, collapsed })
  expect(opened.lanes.has(lane)).toBe(true)
  expect(expanded(opened, collapsed, opened.parents.get(lane)!)).toEqual(collapsed)
})

test('the minimal view of a NeuronCore has its engines and their utilization', () => {
  const minimal = makeLayout(DEVICE_TRACKS, new Map(), { ...defaultView(), minimal: true })
  expect(labels(minimal)).toEqual(['NC0', '  Tensor', '  TensorMatrix', '  Sync', '  MFU'])
})

test('lanes of a NeuronCore are in order, however its threads came', () => {
  const machine = track('instance', null, 'vm', { rows: 1 })
  const owner = track('process', machine, '7', { rows: 1 })
  const core = track('source', owner, '/device:NEURON:2', { role: 'device', rows: 1 })
  const lanes = ['nc-002 core 10', 'nc-002 core 2', 'nc-002'].map((name) => track('lane', core, name, { role: 'stream' }))
  const shown = labels(makeLayout([machine, owner, core, ...lanes], new Map(), { ...defaultView(), minimal: false })).map((label) => label.trim())
  expect(shown.filter((label) => label.startsWith('nc-'))).toEqual(['nc-002', 'nc-002 core 2', 'nc-002 core 10'])
})

test('tracks have readable names', () => {
  expect(['/device:TPU:3', '/device:NEURON:3', '/neuron_rt:0', 'cpu_util', '/host:CPU'].map(sourceName)).toEqual([
    'TPU 3', 'neuron_hw NC:3', 'neuron_rt NC:0', 'CPU utilization', 'Host',
  ])
  expect(['cpu_util [7]', 'mem_usage (Kymo)'].map(sourceName)).toEqual(['CPU utilization [7]', 'Host memory (Kymo)'])
  expect(laneName(track('lane', null, '3', { is_counter: true }), 'cpu_util')).toBe('CPU 3')
  expect(laneName(track('lane', null, '3', { is_counter: true }), 'cpu_util [7]')).toBe('CPU 3')
  expect(laneName(track('lane', null, 'Stream #7 flows'), '')).toBe('Stream 7 flows')
  expect(laneName(track('lane', null, 'thread 29 (pt_main_thread)'), '')).toBe('pt_main_thread · 29')
  expect(laneName(track('lane', null, 'framework-80'), '')).toBe('framework TID:80')
})

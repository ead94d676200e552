// Parts of the analysis that need no browser: trees, sums, thinning, axes.
import { expect, test } from 'vitest'
import { sentence, toolGroups } from './analysis'
import { clampScale, firstView, fitGraph, openBodies, type HloGraph } from './hloGraph'
import { findNode, readOpTree, type OpRow } from './opProfile'
import { decades, usualValues } from './roofline'
import { readParts, STEP_PARTS, thinBars } from './stepParts'
import { anyColumns, TABLE_SPECS, timeParts, toolColumns } from './toolTables'

test('groups have only tools that the server has', () => {
  const tool = (name: string) => ({ name, about: '', why: '', tables: [] })
  expect(toolGroups([tool('kernel_stats'), tool('unheard_of')])).toEqual([{ title: 'Operations', tools: ['kernel_stats'] }])
  expect(sentence('no kernels')).toBe('No kernels.')
})

test('rows with paths are a tree, also where names contain slashes', () => {
  const row = (depth: number, path: string[]): OpRow => ({
    depth, path, name: path.at(-1) ?? 'total', kind: null, time_ns: 1, time_percent: 1, wasted_percent: null, flops_percent: null, hbm_percent: null,
    occurrences: 1, flops: null, hbm_bytes: null, devices: 1,
  })
  const root = readOpTree([row(0, []), row(1, ['a/b']), row(1, ['a']), row(2, ['a', 'b']), row(2, ['a/b', 'c'])])!
  expect(root.children.map((node) => [node.name, node.children.map((child) => child.name)])).toEqual([['a/b', ['c']], ['a', ['b']]])
  expect(findNode(root, 'a\nb')?.name).toBe('b')
  expect(readOpTree([])).toBeNull()
})

test('the time of rows is shared out, the rest is one part, and nothing when that is most', () => {
  const spec = TABLE_SPECS.hlo_stats!
  const rows = Array.from({ length: 20 }, (_, at) => ({ category: `c${at}`, hlo_op_name: 'x', total_self_time: at < 8 ? 100 : 1 }))
  const parts = timeParts(rows, spec, 'category')
  expect(parts.at(-1)).toEqual({ name: '12 others', value: 12_000, isRest: true })
  expect(parts.reduce((sum, part) => sum + part.value, 0)).toBe(812_000)
  expect(timeParts(rows.map((row) => ({ ...row, total_self_time: 1 })), spec, 'category').length).toBe(9)
  expect(timeParts(Array.from({ length: 100 }, (_, at) => ({ category: `c${at}`, total_self_time: 1 })), spec, 'category')).toEqual([])
  expect(toolColumns(spec, rows).map((column) => column.key)).toEqual(['hlo_op_name', 'category', 'total_self_time'])
})

test('units of columns follow from their ids', () => {
  const columns = anyColumns([{ name: 'a', latency_ms: 2, size_bytes: 3, share_percent: 4, count: 5 }])
  expect(columns.map((column) => [column.title, column.kind])).toEqual([
    ['Name', 'text'], ['Latency', 'ns'], ['Size', 'bytes'], ['Share', 'percent'], ['Count', 'number'],
  ])
  expect(columns[1]!.value({ latency_ms: 2 })).toBe(2e6)
})

test('bars keep their mean when neighbors are one, and parts their color', () => {
  const rows = Array.from({ length: 10 }, (_, at) => ({ stepnum: String(at), deviceComputeTimeMs: at, otherTimeMs: 1 }))
  const parts = readParts(rows, STEP_PARTS, (row) => String(row.stepnum))
  expect(parts.names).toEqual(['Device compute', 'Other'])
  expect(readParts([{ otherTimeMs: 1 }], STEP_PARTS, () => '').keys).toEqual([parts.keys[1]])
  const { bars, each } = thinBars(parts.bars, 4)
  expect([bars.length, each, bars[0]]).toEqual([4, 3, { label: '0–2', parts: [1, 1] }])
})

test('axes span whole decades; graphs are seen around their middle, else all of them, else their root', () => {
  expect(decades([0, 0.03, 700])).toEqual({ from: -2, to: 3 })
  expect(decades([10])).toEqual({ from: 1, to: 2 })
  const points = [{ value: 1e-6, share: 0.001 }, { value: 3, share: 0.5 }, { value: 1e9, share: 0.001 }, { value: 2, share: 0.4 }]
  expect(usualValues(points)).toEqual([2, 3])
  expect(usualValues(points.slice(0, 1))).toEqual([1e-6])
  expect(usualValues([])).toEqual([])
  const node = { id: 7, name: 'a', opcode: 'add', category: '', shape: '', distance: 0, hidden_operands: 0, hidden_users: 0, x: 50, y: 60, width: 20, height: 10 }
  const graph: HloGraph = { computation: 'c', center: null, root: 7, total: 1, first: 0, is_cut: false, width: 960, height: 100_000, nodes: [node], edges: [] }
  expect(firstView(graph, 1000, 500)).toEqual({ x: 50, y: 60 + 5 + 40 - 250 / 0.8, scale: 0.8 })
  expect(firstView({ ...graph, height: 400 }, 1000, 500)).toEqual({ x: 480, y: 200, scale: 1 })
  expect(firstView({ ...graph, center: 7 }, 1000, 500)).toMatchObject({ x: 50, y: 60 })
  expect(fitGraph(graph, 1000, 500).scale).toBe(clampScale(0))
})

test('an open node has its body inside, and its neighbors make way', () => {
  const node = (id: number, x: number, y: number) =>
    ({ id, name: `n${id}`, opcode: 'add', category: '', shape: '', distance: 1, hidden_operands: 0, hidden_users: 0, x, y, width: 80, height: 40 })
  const edge = (from: number, to: number) => ({ from, to, operand: 0, points: [0, 0, 0, 0] as [number, number, number, number] })
  const graph: HloGraph = {
    computation: 'c', center: null, root: 3, total: 3, first: 0, is_cut: false, width: 180, height: 140,
    nodes: [node(1, 40, 20), node(2, 140, 20), node(3, 90, 120)], edges: [edge(1, 3), edge(2, 3)],
  }
  const body: HloGraph = { ...graph, nodes: [node(8, 150, 30), node(9, 150, 170)], edges: [edge(8, 9)], width: 300, height: 200 }
  expect(openBodies(graph, new Map())).toBe(graph)
  const open = openBodies(graph, new Map([['n1', body]]))
  const box = (id: number) => {
    const { x, y, width, height } = open.nodes.find((one) => one.id === id)!
    return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 }
  }
  for (const id of [8, 9]) {
    expect(box(id).left).toBeGreaterThan(box(1).left)
    expect(box(id).right).toBeLessThan(box(1).right)
    expect(box(id).top).toBeGreaterThan(box(1).top)
    expect(box(id).bottom).toBeLessThan(box(1).bottom)
  }
  expect(box(2).left).toBeGreaterThan(box(1).right)
  expect(box(3).top).toBeGreaterThan(box(1).bottom)
  expect(Math.min(...open.nodes.map(({ id }) => box(id).left))).toBeGreaterThanOrEqual(0)
  expect([open.width, open.height]).toEqual([Math.max(box(2).right, box(3).right), box(3).bottom])
  const [first] = open.edges
  expect(first!.points).toEqual([open.nodes.find(({ id }) => id === 1)!.x, box(1).bottom, open.nodes.find(({ id }) => id === 3)!.x, box(3).top])
})

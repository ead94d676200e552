// The graph of a module, as the server lays it out: instructions and their operands, around one of them or of a computation.
import { sqlText } from './sql'

export interface GraphNode {
  id: number
  name: string
  opcode: string
  category: string
  shape: string
  op_name?: string
  called?: string[]
  distance: number
  hidden_operands: number
  hidden_users: number
  x: number // the middle
  y: number
  width: number
  height: number
  isOpen?: boolean // a frame around what it calls
}

export interface GraphEdge {
  from: number // ids of nodes
  to: number
  operand: number
  points: [number, number, number, number] // from the bottom of the operand to the top of the user
  isInner?: boolean // inside of an open node
}

export interface HloGraph {
  computation: string
  center: number | null // id of a node
  root: number | null // id of an instruction, which may not be shown
  total: number // instructions of the computation
  first: number
  is_cut: boolean
  width: number
  height: number
  nodes: GraphNode[]
  edges: GraphEdge[]
}

// Kinds of instructions that have a color of their own, in the order of their keys.
const KINDS: [string, RegExp][] = [
  ['matrix product, convolution', /^(dot|convolution|fft|ragged-dot)$|gemm|dot/],
  ['fusion', /^fusion$/],
  ['collective', /^(all-|reduce-scatter|collective-|send|recv|infeed|outfeed)/],
  ['call, loop, condition', /^(call|while|conditional|custom-call|async-)/],
  ['data movement', /^(copy|transpose|reshape|slice|dynamic-|concatenate|pad|bitcast|reverse|gather|scatter|broadcast)/],
  ['reduction, sort', /^(reduce|sort|select-and-scatter)/],
  ['parameter, constant', /^(parameter|constant|iota)$/],
  ['tuple', /^(tuple|get-tuple-element|opt-barrier|after-all)$/],
]

export const GRAPH_KINDS = [...KINDS.map(([name]) => name), 'elementwise']

/** The key of a node's color: of GRAPH_KINDS. */
export function kindOf({ opcode }: GraphNode): number {
  const at = KINDS.findIndex(([, match]) => match.test(opcode))
  return at < 0 ? KINDS.length : at
}

/** A curve that leaves the operand and reaches the user vertically. */
export function edgePath({ points: [x0, y0, x1, y1] }: GraphEdge): string {
  const middle = ((y0 + y1) / 2).toFixed(1)
  return `M${x0.toFixed(1)} ${y0.toFixed(1)}C${x0.toFixed(1)} ${middle} ${x1.toFixed(1)} ${middle} ${x1.toFixed(1)} ${y1.toFixed(1)}`
}

/** What is visible: `scale` pixels for a unit of the graph, whose point (x, y) is in the middle. */
export interface GraphView {
  x: number
  y: number
  scale: number
}

const FRAME_MARGIN = 14
const FRAME_TITLE = 24

/** The size of a node whose body is open. */
function frameSize(node: GraphNode, body: HloGraph) {
  return { width: Math.max(node.width, body.width + 2 * FRAME_MARGIN), height: body.height + FRAME_TITLE + 2 * FRAME_MARGIN }
}

/** Rows of a graph from top to bottom, each from left to right. */
function rowsOf(nodes: readonly GraphNode[]): GraphNode[][] {
  const rows = new Map<number, GraphNode[]>()
  for (const node of nodes) {
    const row = rows.get(node.y)
    if (row) row.push(node)
    else rows.set(node.y, [node])
  }
  return [...rows.entries()].sort(([a], [b]) => a - b).map(([, row]) => row.sort((a, b) => a.x - b.x))
}

/** Nodes of a graph with room for the open ones: those beside and below make way. */
function spread(graph: HloGraph, bodies: ReadonlyMap<number, HloGraph>): GraphNode[] {
  let down = 0
  return rowsOf(graph.nodes).flatMap((row) => {
    const sizes = row.map((node) => (bodies.has(node.id) ? frameSize(node, bodies.get(node.id)!) : node))
    let across = -row.reduce((sum, node, at) => sum + sizes[at]!.width - node.width, 0) / 2
    const moved = row.map((node, at) => {
      const { width, height } = sizes[at]!
      const wider = width - node.width
      const x = node.x + across + wider / 2
      across += wider
      return { ...node, x, y: node.y + down + (height - node.height) / 2, width, height, isOpen: bodies.has(node.id) }
    })
    down += Math.max(...row.map((node, at) => sizes[at]!.height - node.height))
    return moved
  })
}

function connect(edge: GraphEdge, nodes: ReadonlyMap<number, GraphNode>): GraphEdge {
  const [from, to] = [nodes.get(edge.from)!, nodes.get(edge.to)!]
  return { ...edge, points: [from.x, from.y + from.height / 2, to.x, to.y - to.height / 2] }
}

function move(body: HloGraph, dx: number, dy: number): { nodes: GraphNode[]; edges: GraphEdge[] } {
  return {
    nodes: body.nodes.map((node) => ({ ...node, x: node.x + dx, y: node.y + dy, distance: 0 })),
    edges: body.edges.map((edge) => {
      const [x0, y0, x1, y1] = edge.points
      return { ...edge, isInner: true, points: [x0 + dx, y0 + dy, x1 + dx, y1 + dy] as GraphEdge['points'] }
    }),
  }
}

/** A graph with what some of its nodes call inside of them; bodies are by the name of the node, and may have open nodes, too. */
export function openBodies(graph: HloGraph, called: ReadonlyMap<string, HloGraph>): HloGraph {
  const bodies = new Map<number, HloGraph>()
  for (const node of graph.nodes) {
    const body = called.get(node.name)
    if (body) bodies.set(node.id, openBodies(body, called))
  }
  if (bodies.size === 0) return graph
  const spaced = spread(graph, bodies)
  const left = Math.min(0, ...spaced.map((node) => node.x - node.width / 2))
  const outer = spaced.map((node) => ({ ...node, x: node.x - left }))
  const byId = new Map(outer.map((node) => [node.id, node]))
  const inner = outer.filter((node) => node.isOpen).map((node) => {
    const body = bodies.get(node.id)!
    return move(body, node.x - body.width / 2, node.y - node.height / 2 + FRAME_TITLE + FRAME_MARGIN)
  })
  return {
    ...graph,
    width: Math.max(...outer.map((node) => node.x + node.width / 2)), height: Math.max(...outer.map((node) => node.y + node.height / 2)),
    nodes: [...outer, ...inner.flatMap(({ nodes }) => nodes)],
    edges: [...graph.edges.map((edge) => connect(edge, byId)), ...inner.flatMap(({ edges }) => edges)],
  }
}

const MAX_SCALE = 1.4
const MIN_SCALE = 0.02

export function clampScale(scale: number): number {
  return Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale))
}

/** All of the graph; around the node in the middle as much as can be read. */
export function fitGraph(graph: HloGraph, width: number, height: number): GraphView {
  const center = graph.nodes.find((node) => node.id === graph.center)
  const whole = clampScale(Math.min(width / (graph.width + 40), height / (graph.height + 40)))
  if (center) return { x: center.x, y: center.y, scale: Math.max(whole, 0.7) }
  return { x: graph.width / 2, y: graph.height / 2, scale: Math.min(1, whole) }
}

const READABLE = 0.8

/** How a graph is first seen, so that it can be read: around its middle, else all of it, else the root and what is above it. */
export function firstView(graph: HloGraph, width: number, height: number): GraphView {
  const whole = fitGraph(graph, width, height)
  if (graph.center !== null || whole.scale >= READABLE || graph.nodes.length === 0) return whole
  const root = graph.nodes.find((node) => node.id === graph.root) ?? graph.nodes.reduce((last, node) => (node.y > last.y ? node : last))
  return { x: root.x, y: root.y + root.height / 2 + 40 - height / 2 / READABLE, scale: READABLE }
}

// By its label, or the number of its program.
const isModule = (module: string) => `(m.label = ${sqlText(module)} OR ends_with(m.label, ${sqlText(`(${module})`)}))`

/** Instructions of a module whose names contain a text, those that take most time first. */
export function instructionQuery(module: string, text: string): string {
  return `SELECT o.name FROM HloOperation o JOIN HloModule m ON m.id = o.module_id
    LEFT JOIN (SELECT operation_id, sum(self_ns) AS ns FROM DeviceOperation GROUP BY operation_id) d ON d.operation_id = o.id
    WHERE ${isModule(module)} AND contains(lower(o.name), ${sqlText(text.toLowerCase())})
    ORDER BY lower(o.name) = ${sqlText(text.toLowerCase())} DESC, d.ns DESC NULLS LAST, o.name LIMIT 12`
}

/** How many instructions the computations of a module have. */
export function computationsQuery(module: string): string {
  return `SELECT computation, count(*) AS instructions FROM HloOperation o JOIN HloModule m ON m.id = o.module_id WHERE ${isModule(module)} GROUP BY computation`
}

/** The modules that are kept with the profile, those that take most time first. */
export const MODULES_QUERY = `SELECT m.label FROM HloModule m LEFT JOIN (SELECT module_id, sum(self_ns) AS ns FROM DeviceOperation GROUP BY module_id) o
  ON o.module_id = m.id WHERE m.file IS NOT NULL ORDER BY o.ns DESC NULLS LAST, m.operation_count DESC, m.id`

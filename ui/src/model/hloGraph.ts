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
}

export interface GraphEdge {
  from: number // ids of nodes
  to: number
  operand: number
  points: [number, number, number, number] // from the bottom of the operand to the top of the user
}

export interface HloGraph {
  computation: string
  center: number | null // id of a node
  total: number // instructions of the computation
  first: number
  is_cut: boolean
  width: number
  height: number
  nodes: GraphNode[]
  edges: GraphEdge[]
}

// Kinds of instructions that have a colour of their own, in the order of their keys.
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

/** The key of a node's colour: of GRAPH_KINDS. */
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

/** How a graph is first seen: around its middle, else from the beginning of the computation, as wide as it is. */
export function firstView(graph: HloGraph, width: number, height: number): GraphView {
  const whole = fitGraph(graph, width, height)
  const scale = Math.min(1, clampScale(width / (graph.width + 40)))
  return graph.center !== null || scale <= whole.scale ? whole : { x: whole.x, y: height / 2 / scale - 20, scale }
}

/** Instructions of a module whose names contain a text, those that take most time first. */
export function instructionQuery(module: string, text: string): string {
  return `SELECT o.name FROM HloOperation o JOIN HloModule m ON m.id = o.module_id
    LEFT JOIN (SELECT operation_id, sum(self_ns) AS ns FROM DeviceOperation GROUP BY operation_id) d ON d.operation_id = o.id
    WHERE m.label = ${sqlText(module)} AND contains(lower(o.name), ${sqlText(text.toLowerCase())})
    ORDER BY lower(o.name) = ${sqlText(text.toLowerCase())} DESC, d.ns DESC NULLS LAST, o.name LIMIT 12`
}

/** The modules that are kept with the profile, those that take most time first. */
export const MODULES_QUERY = `SELECT m.label FROM HloModule m LEFT JOIN (SELECT module_id, sum(self_ns) AS ns FROM DeviceOperation GROUP BY module_id) o
  ON o.module_id = m.id WHERE m.file IS NOT NULL ORDER BY o.ns DESC NULLS LAST, m.operation_count DESC, m.id`

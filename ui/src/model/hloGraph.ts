// The graph of a module, as the server lays it out: instructions and their operands, around one of them or of a computation.

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
  points: [number, number][]
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

/** "M x y L …" of a line through points. */
export function linePath(points: readonly [number, number][]): string {
  return points.map(([x, y], at) => `${at === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')
}

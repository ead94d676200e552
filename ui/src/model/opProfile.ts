// The tree of op_profile: time, use of the hardware and waste of programs, categories, layers or files down to operations.

export const OP_GROUPS = ['category', 'program', 'provenance', 'source'] as const
export type OpGroup = (typeof OP_GROUPS)[number]

export interface OpRow {
  depth: number
  name: string
  /** operation, duplicates of one, an instruction inside a fusion; null: what these are in */
  kind: string | null
  path: string[]
  time_ns: number
  time_percent: number
  wasted_percent: number | null
  flops_percent: number | null
  hbm_percent: number | null
  occurrences: number | null // null of idle time
  flops: number | null
  hbm_bytes: number | null
  devices: number // whose times are added up
}

export interface OpNode extends OpRow {
  key: string
  children: OpNode[]
}

/** The root of the rows, of which each comes after its parent; null without rows. */
export function readOpTree(rows: readonly OpRow[]): OpNode | null {
  const byPath = new Map<string, OpNode>()
  let root: OpNode | null = null
  for (const row of rows) {
    const node: OpNode = { ...row, key: row.path.join('\n'), children: [] }
    byPath.set(node.key, node)
    if (row.depth === 0) root = node
    else byPath.get(row.path.slice(0, -1).join('\n'))?.children.push(node)
  }
  return root
}

export function findNode(root: OpNode, key: string): OpNode | null {
  if (root.key === key) return root
  for (const child of root.children) {
    const found = findNode(child, key)
    if (found) return found
  }
  return null
}

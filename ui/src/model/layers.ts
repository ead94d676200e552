// Layers of a device profile: the tree of FrameworkNode, with what the instructions of each layer did.
import { ENGINES } from './deviceLanes'

export interface LayerNode {
  path: string
  name: string
  from_ns: number
  to_ns: number
  active_ns: number // time in which it has work
  mfu: number | null // percent of the peak while it has work
  hfu: number | null
  hbm_read: number | null
  hbm_write: number | null
  weights: number | null
  flops: number // of matrix products, which only the Tensor engine does
  instructions: number
  engine_ns: Record<string, number> // by engine, added up
  children: LayerNode[]
}

const ACTIVE = 'list_sum([one[2] - one[1] for one in time_intervals::BIGINT[][]])::DOUBLE'

export const LAYERS_SQL = `SELECT node_name, parent_name, start_ts, end_ts, ${ACTIVE} AS active_ns, mfu, hfu, hbm_read_bytes, hbm_write_bytes, load_weight_bytes
  FROM {FrameworkNode} ORDER BY start_ts`

/** Instructions by the layer they belong to. */
export const LAYER_INSTRUCTIONS_SQL = `SELECT layer, engine, count(*) AS count, sum(duration_ns)::DOUBLE AS time_ns, sum(raw_flops)::DOUBLE AS flops
  FROM {Instruction} WHERE layer <> '' GROUP BY layer, engine`

/** What the tab shows besides columns of FrameworkNode: of each layer with those in it. */
export const LAYER_FIGURES_SQL = `WITH own AS (${LAYER_INSTRUCTIONS_SQL}),
up AS (
  SELECT *, unnest(list_distinct([array_to_string(string_split(layer, '/')[:size], '/') for size in range(1, len(string_split(layer, '/')) + 1)] || ['/'])) AS path FROM own
), done AS (
  SELECT path, sum(count) AS instructions, sum(flops) AS flops,
    ${ENGINES.map((engine) => `sum(time_ns) FILTER (engine = '${engine}') AS "${engine}"`).join(', ')}
  FROM up GROUP BY path
), node AS (SELECT node_name, coalesce(${ACTIVE}, end_ts - start_ts) AS active_ns FROM {FrameworkNode})
SELECT node.*, active_ns / (SELECT max(end_ts) - min(start_ts) FROM SystemProfileEvents) AS share, done.* EXCLUDE (path, instructions, flops),
  coalesce(instructions, 0) AS instructions, coalesce(flops, 0) AS flops
FROM node LEFT JOIN done ON done.path = node.node_name`

export interface LayerRow {
  node_name: string
  parent_name: string | null
  start_ts: number
  end_ts: number
  active_ns: number | null
  mfu: number | null
  hfu: number | null
  hbm_read_bytes: number | null
  hbm_write_bytes: number | null
  load_weight_bytes: number | null
}

export interface LayerInstructions {
  layer: string
  engine: string
  count: number
  time_ns: number
  flops: number | null
}

const lastPart = (path: string) => path.split('/').filter(Boolean).pop() ?? '(all)'

function makeNode(row: LayerRow): LayerNode {
  return {
    path: row.node_name, name: lastPart(row.node_name), from_ns: row.start_ts, to_ns: row.end_ts,
    active_ns: row.active_ns ?? row.end_ts - row.start_ts, mfu: row.mfu, hfu: row.hfu,
    hbm_read: row.hbm_read_bytes, hbm_write: row.hbm_write_bytes, weights: row.load_weight_bytes, flops: 0, instructions: 0,
    engine_ns: {}, children: [],
  }
}

/** The paths of a layer and of those it is in: "/a/b" → "/a/b", "/a", "/", the root. */
function pathsUp(layer: string): string[] {
  const paths: string[] = []
  for (let path = layer; path !== '' && path !== '/'; path = path.slice(0, Math.max(0, path.lastIndexOf('/')))) paths.push(path)
  return [...paths, '/']
}

export function layerTree(rows: readonly LayerRow[], instructions: readonly LayerInstructions[]): LayerNode[] {
  const nodes = new Map(rows.map((row) => [row.node_name, makeNode(row)]))
  const top: LayerNode[] = []
  for (const row of rows) {
    const node = nodes.get(row.node_name)!
    const parent = row.parent_name === null || row.parent_name === row.node_name ? undefined : nodes.get(row.parent_name)
    ;(parent && parent !== node ? parent.children : top).push(node)
  }
  for (const one of instructions)
    for (const path of pathsUp(one.layer)) {
      const node = nodes.get(path)
      if (!node) continue
      node.instructions += one.count
      node.flops += one.flops ?? 0
      node.engine_ns[one.engine] = (node.engine_ns[one.engine] ?? 0) + one.time_ns
    }
  return top
}

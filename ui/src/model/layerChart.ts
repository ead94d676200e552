// Layers over time: bars of each layer while it has work, those inside it below.
import { nameSlot } from './palette'
import { formatShare } from './numbers'
import type { ChartRect } from './rectChart'
import { formatNs, type Span } from './time'

export const MAX_BARS = 10_000
const GAP_SHARE = 1 / 1200 // of the span: shorter gaps cannot be seen and are closed

export interface BarRow {
  node_name: string
  start_ts: number
  end_ts: number
  active_ns: number
}

/** Intervals of work in the span, the longest first; those closer than can be seen are one. */
export function layerBarsSql({ from, to }: Span): string {
  const gap = Math.ceil(((to - from) / 1000) * GAP_SHARE)
  return `WITH parts AS (SELECT node_name, unnest(time_intervals::BIGINT[][]) AS part FROM {FrameworkNode} WHERE node_name <> '/'),
    inside AS (SELECT node_name, part[1] AS start_ts, part[2] AS end_ts FROM parts
      WHERE part[2] >= ${Math.floor(from / 1000)} AND part[1] <= ${Math.ceil(to / 1000)}),
    marked AS (SELECT *, (start_ts - max(end_ts) OVER (PARTITION BY node_name ORDER BY start_ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
      <= ${gap}) IS NOT TRUE AS is_first FROM inside),
    numbered AS (SELECT *, sum(is_first::INT) OVER (PARTITION BY node_name ORDER BY start_ts ROWS UNBOUNDED PRECEDING) AS run FROM marked)
    SELECT node_name, min(start_ts) AS start_ts, max(end_ts) AS end_ts, sum(end_ts - start_ts)::DOUBLE AS active_ns
    FROM numbered GROUP BY node_name, run ORDER BY max(end_ts) - min(start_ts) DESC LIMIT ${MAX_BARS}`
}

const depthOf = (path: string) => path.split('/').filter(Boolean).length

/** Bars of a depth share its rows; where layers overlap in time, the later one goes below. Units are rows. */
export function layerBars(rows: readonly BarRow[]): { rects: ChartRect[]; rows: number; axis: { y: number; text: string }[] } {
  const rects: ChartRect[] = []
  const axis: { y: number; text: string }[] = []
  let top = 0
  const depths = [...new Set(rows.map((row) => depthOf(row.node_name)))].sort((a, b) => a - b)
  for (const depth of depths) {
    const ends: number[] = [] // by row of this depth
    axis.push({ y: top + 0.5, text: `Level ${depth}` })
    for (const row of rows.filter((one) => depthOf(one.node_name) === depth).sort((a, b) => a.start_ts - b.start_ts)) {
      let at = ends.findIndex((end) => end <= row.start_ts)
      if (at < 0) at = ends.push(0) - 1
      ends[at] = row.end_ts
      const label = row.node_name.split('/').pop()!
      const time = row.end_ts - row.start_ts
      rects.push({
        from: row.start_ts * 1000, to: row.end_ts * 1000, y: top + at, height: 1, label, slot: nameSlot(label),
        lines: [row.node_name, `active for ${formatNs(row.active_ns)} of that (${formatShare(time > 0 ? row.active_ns / time : 1)})`],
      })
    }
    top += ends.length
  }
  return { rects, rows: top, axis }
}

/** The layer of a bar. */
export const layerOfBar = (rect: ChartRect): string => rect.lines[0]!

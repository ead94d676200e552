// A hardware counter over time: the largest value of each part of the capture.
import { sqlText } from './sql'
import type { Cell } from './tables'
import type { Span } from './time'

const PARTS = 300

export function counterQuery(row: Record<string, Cell>, { from, to }: Span): string {
  const width = Math.max(1, (to - from) / 1000 / PARTS)
  return `SELECT floor((c.timestamp - ${from / 1000}) / ${width}) AS part, max(c.value), ${from} + (part + 0.5) * ${width * 1000}
    FROM CounterSample c JOIN Track t ON t.id = c.track_id JOIN Track d ON d.id = t.parent_id
    WHERE c.name = ${sqlText(String(row.counter))} AND d.name = ${sqlText(String(row.device))}
    AND t.instance_id IS NOT DISTINCT FROM ${row.host === null ? 'NULL' : sqlText(String(row.host))} AND c.value IS NOT NULL
    GROUP BY part ORDER BY part`
}

export function readCounter(rows: unknown[][]): { at: number; value: number }[] {
  return rows.map(([, value, at]) => ({ at: Number(at), value: Number(value) }))
}

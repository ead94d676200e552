// A counter over time, as the timeline has it: the largest value of each item, and nothing where it was not read.
import { sqlText } from './sql'
import type { Cell } from './tables'
import type { TimelineData } from './timelineData'

/** The track with the samples of a hardware counter. */
export function counterTrackQuery(row: Record<string, Cell>): string {
  return `SELECT DISTINCT c.track_id
    FROM CounterSample c JOIN Track t ON t.id = c.track_id JOIN Track d ON d.id = t.parent_id
    WHERE c.name = ${sqlText(String(row.counter))} AND d.name = ${sqlText(String(row.device))}
    AND t.instance_id IS NOT DISTINCT FROM ${row.host === null ? 'NULL' : sqlText(String(row.host))} AND c.value IS NOT NULL ORDER BY 1`
}

/** A value holds from its time to the next; null: none does. */
export interface CounterValue {
  at: number // ps
  value: number | null
}

export function readCounter({ from, counterRows, counters }: TimelineData, track: number): CounterValue[] {
  const values: CounterValue[] = []
  for (const row of counterRows) {
    if (row.track !== track) continue
    for (let i = row.first; i < row.first + row.count; i++) {
      values.push({ at: from + counters.start[i]!, value: counters.max[i]! })
      const isLast = i + 1 === row.first + row.count
      if (isLast || counters.start[i + 1]! > counters.end[i]!) values.push({ at: from + counters.end[i]!, value: null })
    }
  }
  return values
}

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

/** Samples of a counter that are drawn as one. */
export function samplesSql(track: number, from: string, to: string): string {
  const time = 'e.start_ts::HUGEINT * 1000 + e.start_fraction_ps'
  return `SELECT count(*) AS count, avg(value) AS mean, min(value) AS min, max(value) AS max, min(timestamp) AS start_ns
FROM CounterSample c JOIN SystemProfileEvents e USING (id)
WHERE c.track_id = ${track} AND ${time} >= ${from} AND (${time} < ${to} OR ${time} = ${from})`
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

// The distribution of the durations of all events of a name.
import type { EventTable } from './api'
import { figure, type Words } from './figures'
import { sqlText } from './sql'

export const BINS = 32

export interface Histogram {
  count: number
  min: number // durations in ps
  median: number
  p99: number
  max: number
  isLog: boolean // bins of equal ratio
  bins: number[]
}

// From this ratio on, bins of equal width would put most events into the first.
const LOG_RATIO = 20

/** One row: count, min, median, p99 and max in ps, whether bins have equal ratios, the counts of the bins that are not empty, and a
 *  duration relative to the median. */
export function histogramSql(table: EventTable, name: string, ownPs: number): string {
  const ps = table === 'HloRun' ? 'duration_ns::DOUBLE * 1000' : 'duration_ns::DOUBLE * 1000 + duration_fraction_ps'
  const timed = table === 'HloRun' ? '' : ' AND occurrence_count IS NULL'
  return (
    `WITH d AS (SELECT ${ps} AS ps FROM ${table} WHERE name = ${sqlText(name)}${timed}), ` +
    `r AS (SELECT count(*) AS n, min(ps) AS lo, median(ps) AS mid, quantile_cont(ps, 0.99) AS p99, max(ps) AS hi, ` +
    `min(ps) > 0 AND max(ps) > ${LOG_RATIO} * min(ps) AS is_log FROM d), ` +
    `b AS (SELECT least(${BINS - 1}, floor(${BINS} * CASE WHEN hi <= lo THEN 0 WHEN is_log THEN ln(ps / lo) / ln(hi / lo) ` +
    `ELSE (ps - lo) / (hi - lo) END))::INTEGER AS bin, count(*) AS c FROM d, r GROUP BY bin) ` +
    `SELECT n AS count, lo AS min, mid AS p50, p99, hi AS max, is_log, (SELECT list([bin, c]) FROM b)::JSON AS bins, ${ownPs} / nullif(mid, 0) AS ratio FROM r`
  )
}

export function readHistogram(row: readonly unknown[]): Histogram | null {
  const [count, min, median, p99, max, isLog, list] = row as [number, number, number, number, number, boolean, unknown]
  if (!count) return null
  const pairs = (typeof list === 'string' ? JSON.parse(list) : list) as [number, number][]
  const bins = new Array<number>(BINS).fill(0)
  for (const [bin, events] of pairs) bins[bin] = events
  return { count, min, median, p99, max, isLog, bins }
}

/** The bin of a duration. */
export function binOf({ min, max, isLog }: Histogram, ps: number): number {
  if (max <= min) return 0
  const share = isLog ? Math.log(ps / min) / Math.log(max / min) : (ps - min) / (max - min)
  return Math.max(0, Math.min(BINS - 1, Math.floor(BINS * share)))
}

/** The durations that a bin spans. */
export function binEdges({ min, max, isLog }: Histogram, bin: number): [number, number] {
  const edge = (at: number) => (isLog ? min * (max / min) ** (at / BINS) : min + ((max - min) * at) / BINS)
  return [edge(bin), edge(bin + 1)]
}

/** How the duration compares with the others: "1.3 × the median". */
export function compareWithMedian({ median }: Histogram, ps: number): Words {
  if (median <= 0) return ''
  const ratio = ps / median
  if (ratio > 0.995 && ratio < 1.005) return 'the median'
  return [figure('page.durations.ratio', String(ratio >= 100 ? Math.round(ratio) : ratio.toPrecision(3))), ' × the median']
}

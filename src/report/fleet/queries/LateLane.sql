-- Lanes that are late more often than by chance, and since when. A lane whose median step is late by
-- 2 % and 6 robust standard deviations over lanes is steadily late, even if the noise of single
-- steps hides it: its steps count as late from half of that on. A lane is late since the step where
-- the sum of late steps after it most exceeds the average.
WITH spread AS (
  SELECT program, 1.4826 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(median_excess_ns)) AS spread_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY median_own_ns) AS own_ns
  FROM RankSummary
  GROUP BY program
), candidates AS (
  SELECT r.rank, r.device_idx, r.program, r.steps, r.median_excess_ns,
    r.median_excess_ns > greatest(6 * s.spread_ns, 0.02 * s.own_ns) AS is_steady
  FROM RankSummary AS r
  JOIN spread AS s ON s.program = r.program
  WHERE r.late_steps >= 3 OR r.median_excess_ns > greatest(6 * s.spread_ns, 0.02 * s.own_ns)
), series AS (
  SELECT x.rank, x.device_idx, x.step, x.excess_ns, x.expected_ns, c.program, c.steps,
    CASE WHEN x.is_late OR (c.is_steady AND x.excess_ns > 0.5 * c.median_excess_ns) THEN 1 ELSE 0 END AS late
  FROM LaneStep AS x
  JOIN candidates AS c ON c.rank = x.rank AND c.device_idx = x.device_idx
), sums AS (
  SELECT series.*,
    row_number() OVER (PARTITION BY rank, device_idx ORDER BY step) - 1 AS before,
    sum(late) OVER (PARTITION BY rank, device_idx) AS total,
    sum(late) OVER (PARTITION BY rank, device_idx ORDER BY step
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - late AS late_before
  FROM series
), changes AS (
  SELECT rank, device_idx, min(program) AS program, min(steps) AS steps, max(total) AS late_steps,
    max_by(step, before * CAST(total AS DOUBLE) / steps - late_before) AS change_step,
    max_by(before, before * CAST(total AS DOUBLE) / steps - late_before) AS change_before,
    max_by(late_before, before * CAST(total AS DOUBLE) / steps - late_before) AS change_late_before,
    min(step) AS first_step,
    min(CASE WHEN late = 1 THEN step END) AS first_late_step,
    max(CASE WHEN late = 1 THEN step END) AS last_late_step,
    avg(CASE WHEN late = 1 THEN excess_ns END) AS excess_ns,
    avg(CASE WHEN late = 1 THEN expected_ns END) AS expected_ns
  FROM sums
  GROUP BY rank, device_idx
), shares AS (
  SELECT changes.*,
    late_steps / CAST(steps AS DOUBLE) AS late_share,
    CASE WHEN change_before > 0 THEN change_late_before / CAST(change_before AS DOUBLE) ELSE 0 END AS share_before,
    (late_steps - change_late_before) / CAST(steps - change_before AS DOUBLE) AS share_after
  FROM changes
), kinds AS (
  SELECT shares.*,
    CASE
      WHEN change_before >= 5 AND steps - change_before >= 5 AND share_before <= 0.1 AND share_after >= 0.75 THEN 'since'
      WHEN late_share >= 0.6 THEN 'always'
      ELSE 'at times'
    END AS kind
  FROM shares
  WHERE late_steps >= greatest(3, 0.02 * steps)
)
SELECT rank, device_idx, program, kind,
  CASE kind WHEN 'since' THEN change_step WHEN 'always' THEN first_step ELSE first_late_step END AS first_step,
  last_late_step, steps, CAST(late_steps AS BIGINT) AS late_steps, late_share, excess_ns, expected_ns,
  excess_ns * late_share AS mean_excess_ns,
  CASE kind WHEN 'since' THEN share_after ELSE late_share END AS share_since
FROM kinds

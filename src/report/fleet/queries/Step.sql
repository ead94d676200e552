-- Each step over all lanes. A step is compared with its block of 25 steps, so that a slow drift does
-- not make outliers. An outlier takes 6 robust standard deviations and 10 % longer than its block's median. Of lanes that
-- are equally slow, the first is the slowest, so that all runs of the analysis name the same.
WITH steps AS (
  SELECT step, count(*) AS ranks, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) AS median_ns,
    min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY own_ns) AS own_ns,
    max(own_ns) AS max_own_ns,
    max(excess_ns) AS slowest_excess_ns, CAST(count_if(is_late) AS BIGINT) AS late_lanes
  FROM LaneStep
  GROUP BY step
), slowest AS (
  SELECT l.step, min(l.rank * 65536 + l.device_idx) AS lane
  FROM LaneStep AS l
  JOIN steps AS s ON s.step = l.step AND s.slowest_excess_ns = l.excess_ns
  GROUP BY l.step
), numbered AS (
  SELECT steps.step, ranks, start_ns, end_ns, median_ns, min_ns, max_ns, own_ns, max_own_ns,
    CAST(floor(lane / 65536.0) AS BIGINT) AS slowest_rank, lane % 65536 AS slowest_device,
    slowest_excess_ns, late_lanes, CAST(floor((row_number() OVER (ORDER BY steps.step) - 1) / 25.0) AS BIGINT) AS block
  FROM steps
  LEFT JOIN slowest ON slowest.step = steps.step
), blocks AS (
  SELECT block, percentile_cont(0.5) WITHIN GROUP (ORDER BY median_ns) AS usual_ns
  FROM numbered
  GROUP BY block
), spread AS (
  SELECT 1.4826 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(n.median_ns - b.usual_ns)) AS spread_ns
  FROM numbered AS n
  JOIN blocks AS b ON b.block = n.block
)
SELECT n.*, b.usual_ns, s.spread_ns,
  CASE WHEN n.own_ns > 0 THEN n.max_own_ns / n.own_ns - 1 ELSE 0 END AS imbalance,
  n.median_ns > b.usual_ns + greatest(6 * s.spread_ns, 0.1 * b.usual_ns) AS is_outlier
FROM numbered AS n
JOIN blocks AS b ON b.block = n.block
CROSS JOIN spread AS s

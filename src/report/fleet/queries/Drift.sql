-- How the own time of the typical lane changes over the run: a line through the medians of blocks
-- of steps. It is fitted to own time, because one straggler lengthens all steps but not the
-- typical lane's work.
WITH blocks AS (
  SELECT block, count(*) AS steps, min(step) AS first_step, max(step) AS last_step,
    min(start_ns) AS start_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY own_ns) AS own_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY median_ns) AS step_ns,
    avg(CAST(step AS DOUBLE)) AS middle
  FROM Step
  GROUP BY block
), lines AS (
  SELECT count(*) AS blocks,
    CASE WHEN count(*) > 1 THEN regr_slope(own_ns, middle) END AS slope,
    CASE WHEN count(*) > 1 THEN regr_intercept(own_ns, middle) END AS intercept,
    CASE WHEN count(*) > 1 THEN regr_r2(own_ns, middle) END AS fit
  FROM blocks
  WHERE steps >= 10
)
SELECT b.*, l.blocks, l.slope AS slope_ns, l.fit,
  l.slope * (max(b.last_step) OVER () - min(b.first_step) OVER ()) AS change_ns,
  l.intercept + l.slope * min(b.first_step) OVER () AS initial_ns
FROM blocks AS b
CROSS JOIN lines AS l

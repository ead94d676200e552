-- The steps that are replayed: the typical one (role typical), up to 4 others evenly over the matched steps
-- (role sample), and up to 3 late steps of each of the 8 costliest stragglers (role late). All lanes must be in them.
WITH matched AS (
  SELECT s.step, s.median_ns, s.is_outlier, row_number() OVER (ORDER BY s.step) - 1 AS number,
    count(*) OVER () AS steps
  FROM Step AS s
  JOIN MatchedStep AS m ON m.step = s.step
  WHERE s.ranks = (SELECT max(ranks) FROM Step)
), usual AS (
  SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY median_ns) AS usual_ns FROM matched
), typical AS (
  SELECT m.step, row_number() OVER (ORDER BY abs(m.median_ns - u.usual_ns), m.step) AS place
  FROM matched AS m
  CROSS JOIN usual AS u
), late AS (
  SELECT x.rank, x.device_idx, x.step,
    row_number() OVER (PARTITION BY x.rank, x.device_idx ORDER BY abs(x.excess_ns - s.excess_ns), x.step) AS place
  FROM LaneStep AS x
  JOIN (SELECT *, row_number() OVER (ORDER BY mean_excess_ns DESC, rank, device_idx) AS number FROM Straggler) AS s
    ON s.rank = x.rank AND s.device_idx = x.device_idx AND s.number <= 8
  JOIN matched AS m ON m.step = x.step
  WHERE x.is_late
)
SELECT step, 'typical' AS role, CAST(NULL AS BIGINT) AS rank, CAST(NULL AS BIGINT) AS device_idx FROM typical WHERE place = 1
UNION ALL
SELECT step, 'sample' AS role, CAST(NULL AS BIGINT) AS rank, CAST(NULL AS BIGINT) AS device_idx FROM matched
WHERE number % CAST(ceil(steps / 4.0) AS BIGINT) = CAST(floor(ceil(steps / 4.0) / 2) AS BIGINT)
UNION ALL
SELECT step, 'late' AS role, rank, device_idx FROM late WHERE place <= 3

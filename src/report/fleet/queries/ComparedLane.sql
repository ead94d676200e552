-- The 64 costliest stragglers, and the 5 lanes nearest the median of each of their programs, with which
-- they are compared: only their kernels are read.
WITH stragglers AS (
  SELECT rank, device_idx, program, mean_excess_ns,
    row_number() OVER (ORDER BY mean_excess_ns DESC, rank, device_idx) AS number
  FROM LateLane
), ordinary AS (
  SELECT r.rank, r.device_idx, p.program,
    row_number() OVER (PARTITION BY p.program ORDER BY abs(r.median_excess_ns), r.rank, r.device_idx) AS number
  FROM RankSummary AS r
  JOIN (SELECT DISTINCT program FROM stragglers WHERE number <= 64) AS p
    ON p.program = r.program OR p.program = 0
  WHERE NOT EXISTS (SELECT 1 FROM LateLane AS l WHERE l.rank = r.rank AND l.device_idx = r.device_idx)
)
SELECT rank, device_idx, program, true AS is_straggler FROM stragglers WHERE number <= 64
UNION ALL
SELECT rank, device_idx, program, false AS is_straggler FROM ordinary WHERE number <= 5

-- Lanes: the devices of ranks, and which of them run the same program. Lanes whose steps have the
-- same numbers of kernels and collectives do (the stages of a pipeline differ in them) and are
-- compared with one another; program 0, of fewer than 4 lanes each, is compared with all.
WITH lanes AS (
  SELECT instance, rank, device_idx,
    count(*) AS steps, min(step) AS first_step, max(step) AS last_step,
    CAST(sum(collective_count) AS BIGINT) AS collectives,
    CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY kernel_count) AS BIGINT) AS kernel_count,
    CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY collective_count) AS BIGINT) AS collective_count
  FROM RankStep
  GROUP BY instance, rank, device_idx
), programs AS (
  SELECT kernel_count, collective_count, count(*) AS lanes,
    row_number() OVER (ORDER BY count(*) DESC, kernel_count, collective_count) AS number
  FROM lanes
  GROUP BY kernel_count, collective_count
)
SELECT lanes.instance, lanes.rank, lanes.device_idx, lanes.steps, lanes.first_step,
  lanes.last_step, lanes.collectives, lanes.kernel_count, lanes.collective_count,
  CASE WHEN programs.lanes >= 4 THEN CAST(programs.number AS BIGINT) ELSE CAST(0 AS BIGINT) END AS program,
  Rank.epoch_ns - Run.origin_ns AS epoch_ns,
  Rank.host, Rank.device_count
FROM lanes
JOIN programs ON programs.kernel_count = lanes.kernel_count
  AND programs.collective_count = lanes.collective_count
JOIN Rank ON Rank.instance = lanes.instance AND Rank.rank = lanes.rank
CROSS JOIN Run

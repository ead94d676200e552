-- The run as a whole: its ranks and machines, and the origin of all times.
SELECT
  min(epoch_ns) AS origin_ns,
  count(*) AS ranks,
  count(DISTINCT instance) AS machines,
  CAST(max(world_size) AS BIGINT) AS world_size,
  min(rank) AS first_rank,
  max(rank) AS last_rank,
  min(device_name) AS device_name,
  CAST(count_if(step_origin = 'guessed') AS BIGINT) AS guessed_ranks,
  CAST(count_if(step_count = 0) AS BIGINT) AS ranks_without_steps
FROM Rank

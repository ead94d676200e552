-- A cell of the heat map: a measure over some lanes, by their positions in an order, and some steps.
WITH lanes AS (
    SELECT rank, device_idx,
        CASE $order WHEN 'machine' THEN by_machine WHEN 'slowest' THEN by_slowest WHEN 'cluster' THEN by_cluster ELSE by_rank END AS lane
    FROM ({ordered_lane})
),
measures AS (
    SELECT rank, device_idx, step,
        CASE $measure
            WHEN 'own' THEN own
            WHEN 'duration' THEN duration
            WHEN 'compute' THEN compute
            WHEN 'communication' THEN communication
            WHEN 'copy' THEN copy
            WHEN 'idle' THEN idle
            WHEN 'idle_host' THEN idle_host
            ELSE excess
        END AS value
    FROM ({measured})
)
SELECT max(value) AS max_ns, avg(value) AS mean_ns, count(value) AS count
FROM measures
JOIN lanes USING (rank, device_idx)
WHERE lane BETWEEN coalesce($first_lane, 0) AND coalesce($last_lane, lane)
    AND step BETWEEN coalesce($first_step, step) AND coalesce($last_step, step)

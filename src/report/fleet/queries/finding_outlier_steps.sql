-- Steps far longer than others that no straggler explains: none is later in them than in the steps around.
WITH blocks AS (
    SELECT x.rank, x.device_idx, s.block, median(x.excess_ns) AS usual_excess_ns
    FROM LaneStep AS x
    JOIN Straggler AS t ON t.rank = x.rank AND t.device_idx = x.device_idx
    JOIN Step AS s ON s.step = x.step
    GROUP BY x.rank, x.device_idx, s.block
),
explained AS (
    SELECT s.step
    FROM Step AS s
    JOIN LaneStep AS x ON x.step = s.step
    JOIN blocks AS b ON b.rank = x.rank AND b.device_idx = x.device_idx AND b.block = s.block
    WHERE s.is_outlier AND x.excess_ns - b.usual_excess_ns > {EXPLAINED_SHARE} * (s.median_ns - s.usual_ns)
),
unexplained AS (SELECT * FROM Step WHERE is_outlier AND step NOT IN (SELECT step FROM explained))
SELECT count(*) AS outliers, sum(median_ns - usual_ns) AS excess_ns, max(median_ns / usual_ns) AS worst,
    max_by(step, median_ns - usual_ns) AS worst_step,
    max_by(slowest_rank, median_ns - usual_ns) AS slowest_rank,
    max_by(late_lanes, median_ns - usual_ns) AS late_lanes, max_by(own_ns, median_ns - usual_ns) AS own_ns,
    list(step ORDER BY step)[1:20] AS steps
FROM unexplained

-- Lanes with the group they are in, and their positions in each order that pages have. node9 is before node10.
SELECT *, row_number() OVER (ORDER BY rank, device_idx) - 1 AS by_rank,
    row_number() OVER (
        ORDER BY regexp_replace(instance, '[0-9]+$', ''), TRY_CAST(regexp_extract(instance, '[0-9]+$') AS HUGEINT),
            instance, rank, device_idx
    ) - 1 AS by_machine,
    row_number() OVER (ORDER BY median_excess_ns + late_ns / steps DESC, rank, device_idx) - 1 AS by_slowest,
    row_number() OVER (ORDER BY cluster, rank, device_idx) - 1 AS by_cluster
FROM RankSummary
JOIN (SELECT rank, device_idx, cluster, lanes AS cluster_lanes, excess_ns AS cluster_excess_ns FROM LaneCluster) AS c USING (rank, device_idx)

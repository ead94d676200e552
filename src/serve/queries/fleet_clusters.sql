-- Groups of lanes.
SELECT cluster, min(lanes) AS lanes, min(excess_ns) AS excess_ns
FROM LaneCluster
GROUP BY cluster
ORDER BY cluster

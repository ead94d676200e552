-- Groups of lanes that behave alike.
SELECT cluster, min(lanes) AS lanes, min(excess_ns) AS excess_ns
FROM LaneCluster
GROUP BY cluster
ORDER BY cluster

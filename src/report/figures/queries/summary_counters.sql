-- Counters: what their samples show.
SELECT k.name, k.instance_id AS host, k.id AS track_id, count(*) AS samples, min(value) AS min, avg(value) AS mean,
    max(value) AS max, arg_max(value, (c.timestamp, c.id)) AS last
FROM CounterSample c
JOIN Track k ON k.id = c.track_id
GROUP BY ALL

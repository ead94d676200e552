-- Operations of the host: their kind, count and time.
SELECT type, operation, count(*) AS occurrences, sum(duration_ns) AS total_ns, sum(self_ns) AS self_ns
FROM host_event
GROUP BY ALL

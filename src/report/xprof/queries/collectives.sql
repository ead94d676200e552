-- Collectives by operation, communicator and size: how often, how long, at what bandwidth.
WITH grouped AS (
    SELECT operation, communicator, ranks, data_type, size_bytes, count(*) AS occurrences,
        sum(duration_ns) AS total_ns, min(duration_ns) AS least_ns, max(duration_ns) AS most_ns,
        min(id) AS first_event_id, arg_min(name, id) AS kernel
    FROM exchange
    GROUP BY ALL
)
SELECT *, row_number() OVER (ORDER BY total_ns DESC, operation, communicator, size_bytes) AS rank,
    100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS time_percent, total_ns / 1e3 AS total_us,
    total_ns / 1e3 / occurrences AS avg_us, least_ns / 1e3 AS min_us, most_ns / 1e3 AS max_us,
    1.0 * size_bytes * occurrences / nullif(total_ns, 0) AS algorithm_gb_per_s,
    algorithm_gb_per_s * {bus_factor} AS bus_gb_per_s,
    1.0 * size_bytes / nullif(least_ns, 0) * {bus_factor} AS best_bus_gb_per_s
FROM grouped
ORDER BY rank

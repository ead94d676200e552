-- When a GPU is busy for less than half of the time, in 30 parts of its time.
SELECT 100.0 * sum(busy_ns) / sum(part_ns) AS "In-Use (%)", sum(part_ns) AS "Duration (ns)",
    min(part_ts) AS "Start (ns)", device_idx AS "Device ID", instance_id AS "Host"
FROM (
    SELECT *, part - row_number() OVER (PARTITION BY instance_id, device_idx ORDER BY part) AS island
    FROM (
        SELECT p.*, coalesce(b.busy_ns, 0) AS busy_ns
        FROM (
            SELECT instance_id, device_idx, n.part, first_ts + n.part * width AS part_ts,
                least(width, whole_ns - n.part * width) AS part_ns
            FROM extent
            CROSS JOIN (SELECT unnest(range(30)) AS part) n
        ) p
        LEFT JOIN (
            SELECT instance_id, device_idx, part,
                sum(least(to_ts, first_ts + (part + 1) * width) - greatest(from_ts, first_ts + part * width))
                    AS busy_ns
            FROM (
                SELECT b.*, e.first_ts, e.width,
                    unnest(range((b.from_ts - e.first_ts) // e.width, (b.to_ts - e.first_ts - 1) // e.width +
                        1)) AS part
                FROM busy b
                JOIN extent e ON e.instance_id = b.instance_id AND coalesce(e.device_idx, -1) =
                    coalesce(b.device_idx, -1)
            )
            GROUP BY instance_id, device_idx, part
        ) b ON b.instance_id = p.instance_id AND b.part = p.part AND coalesce(b.device_idx, -1) =
            coalesce(p.device_idx, -1)
    )
    WHERE part_ns > 0 AND busy_ns < 0.5 * part_ns
)
GROUP BY instance_id, device_idx, island
ORDER BY "In-Use (%)", "Start (ns)", instance_id, device_idx

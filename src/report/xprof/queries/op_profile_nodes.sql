-- The tree of op_profile, a row for each node.
SELECT depth, coalesce(path[-1], 'total') AS name, node_kind AS kind, path, ns AS time_ns,
    100.0 * ns / nullif(whole_ns, 0) AS time_percent,
    CASE
        WHEN compute_use IS NOT NULL AND hbm_use IS NOT NULL THEN 100.0 * ns / nullif(whole_ns, 0) * (1 - least(greatest(compute_use, hbm_use), 1))
    END AS wasted_percent,
    -- least() would make 1 of NULL.
    100 * CASE WHEN compute_use > 1 THEN 1 ELSE compute_use END AS flops_percent,
    100 * CASE WHEN hbm_use > 1 THEN 1 ELSE hbm_use END AS hbm_percent,
    nullif(occurrences, 0) AS occurrences, flops, hbm_bytes, devices,
    ns / nullif(occurrences, 0) AS mean_ns
FROM ({tree has_parts=true})
ORDER BY number

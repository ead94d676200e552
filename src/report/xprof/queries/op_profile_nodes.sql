-- The tree of op_profile, a row for each node.
SELECT depth, coalesce(path[-1], 'total') AS name, node_kind AS kind, path, ns AS time_ns,
    100.0 * ns / nullif(whole_ns, 0) AS time_percent,
    CASE
        WHEN compute_use IS NOT NULL AND hbm_use IS NOT NULL THEN 100.0 * ns / nullif(whole_ns, 0) * (1 - least(greatest(compute_use, hbm_use), 1))
    END AS wasted_percent,
    100 * least(compute_use, 1) AS flops_percent, 100 * least(hbm_use, 1) AS hbm_percent, occurrences, flops,
    hbm_bytes, devices
FROM ({tree has_parts=true})
ORDER BY number

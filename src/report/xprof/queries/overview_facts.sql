-- What to know first, with the figures it is made of.
WITH {step_shares},
cost AS (
    SELECT {steady_sum of=compute_s} AS compute_s, sum(hbm_bytes) AS hbm_bytes, {steady_sum of=flops} AS flops,
        count(*) FILTER (flops IS NULL) AS unknown
    FROM op
),
fact AS (
    SELECT 0 AS place, 'Devices' AS fact, printf('%d x %s', devices, coalesce(model, type)) AS value
    FROM machine
    WHERE devices > 0
    UNION ALL
    SELECT 1, 'Step time',
        printf('%.3f ms, median of %d steps (%.3f to %.3f ms)', step_ms, step_count, least_ms, most_ms) || CASE
            WHEN devices > 1 THEN ', their parts means over the devices that have them'
            ELSE ''
        END
    FROM shares, machine
    WHERE step_count > 0
    UNION ALL
    SELECT 2, 'Devices busy',
        printf('%.1f %% of %.1f ms from their first work to their last', 100.0 * busy_ns / nullif(whole_ns, 0),
            whole_ns / 1e6 / devices)
    FROM machine
    WHERE devices > 0 AND whole_ns > 0
    UNION ALL
    SELECT 3, 'Arithmetic',
        printf('%.1f TFLOP/s from first to last work, %.1f %% of the peak of %.0f for %s; while busy %.1f TFLOP/s, %.1f %%. At the peaks of their own types, operations would take %.1f %% of that time',
            flops / whole_ns / 1e3, 1e11 * flops / whole_ns / peak_flops, peak_flops / 1e12, coalesce(peak_type, 'all types'),
            flops / busy_ns / 1e3, 1e11 * flops / busy_ns / peak_flops, 1e11 * compute_s / whole_ns)
    FROM cost, machine
    WHERE flops > 0 AND peak_flops > 0 AND busy_ns > 0
    UNION ALL
    SELECT 4, 'Memory',
        printf('%.0f GB/s from first to last work, %.1f %% of the peak of %.0f; while busy %.0f GB/s, %.1f %%', hbm_bytes /
            whole_ns, 1e11 * hbm_bytes / whole_ns / hbm_peak, hbm_peak / 1e9, hbm_bytes / busy_ns,
            1e11 * hbm_bytes / busy_ns / hbm_peak)
    FROM cost, machine
    WHERE hbm_bytes > 0 AND hbm_peak > 0 AND busy_ns > 0
    UNION ALL
    SELECT 5, 'Precision',
        printf('%.1f %% of computing time in 16 bits or fewer, %.1f %% in 32', half_percent, single_percent)
    FROM shares
    WHERE compute_percent > 0
    UNION ALL
    SELECT 6, 'Input', {input_statement}
    FROM shares
    UNION ALL
    SELECT 7, title, statement || coalesce(' ' || advice, '')
    FROM (SELECT * FROM Finding ORDER BY id LIMIT 3)
)
SELECT fact, value
FROM fact
ORDER BY place

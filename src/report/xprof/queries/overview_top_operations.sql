-- The ten operations of the framework that take most time on devices.
WITH grouped AS (
    SELECT coalesce(framework_op, name) AS operation,
        coalesce(any_value(framework_type), any_value(category)) AS category, sum(self_ns) AS ns,
        sum(total_ns) AS total_ns, {steady_sum of=flops} AS flops, sum(tensor_core_ns) AS tensor_ns
    FROM op
    GROUP BY 1
),
ranked AS (
    SELECT *, row_number() OVER (ORDER BY ns DESC, operation) AS place, sum(ns) OVER () AS all_ns
    FROM grouped
)
SELECT ns / nullif(all_ns, 0) AS selfTimePercent, 100.0 * ns / nullif(all_ns, 0) AS percent,
    sum(ns) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) / nullif(all_ns, 0) AS cumulativeTimePercent,
    category, operation, flops / nullif(total_ns, 0) AS flopRate,
    coalesce(tensor_ns > 0, false) OR regexp_matches(operation,
        '(dot_general|conv_general_dilated|MatMul|Conv2D)') AS tcEligibility,
    coalesce(tensor_ns > 0, false) AS tcUtilization
FROM ranked
WHERE place <= 10
ORDER BY place

-- Device rows, then host rows; of each the first 500. An operation's executions are those of the HLO
-- operation that has most. With idle time, shares are of the devices' time from first to last work; without,
-- of the time of all operations.
WITH grouped AS (
    SELECT coalesce(framework_op, name) AS operation,
        coalesce(any_value(CASE WHEN framework_op IS NOT NULL THEN framework_type END), 'Unknown') AS type,
        max(occurrences) AS occurrences, sum(total_ns) AS total_ns,
        CASE WHEN count(timed_ns) > 0 THEN sum(total_ns) END AS timed_ns, sum(self_ns) AS self_ns,
        sum(tensor_core_ns) AS tensor_core_ns, {steady_sum of=flops} AS flops, {steady_sum of=compute_s} AS compute_s,
        {steady_sum of=xprof_flops} AS xprof_flops, {steady_sum of=xprof_device_flops} AS xprof_device_flops, sum(bytes) AS bytes,
        sum(hbm_bytes) AS hbm_bytes, sum(cmem_read_bytes) AS cmem_read_bytes,
        sum(cmem_write_bytes) AS cmem_write_bytes, sum(vmem_read_bytes) AS vmem_read_bytes,
        sum(vmem_write_bytes) AS vmem_write_bytes
    FROM op
    GROUP BY 1
    UNION ALL BY NAME
    SELECT 'IDLE' AS operation, 'IDLE' AS type, 0 AS occurrences, idle_ns AS total_ns, idle_ns AS timed_ns,
        idle_ns AS self_ns
    FROM machine
    WHERE {with_idle} AND idle_ns > 0
),
on_device AS (
    SELECT o.*,
        100.0 * o.self_ns / nullif(CASE WHEN {with_idle} THEN m.whole_ns ELSE sum(o.self_ns) OVER () END, 0) AS
            percent,
        row_number() OVER (ORDER BY o.self_ns DESC, operation) AS place, {rates}
    FROM grouped o, machine m
),
host_idle AS (
    SELECT greatest(h.total_ns - coalesce(sum(o.self_ns), 0), 0) AS idle_ns
    FROM host_time h
    LEFT JOIN host_op o ON true
    GROUP BY h.total_ns
),
on_host AS (
    SELECT *, 100.0 * self_ns / nullif(sum(self_ns) OVER (), 0) AS percent,
        row_number() OVER (ORDER BY self_ns DESC, operation, type) AS place
    FROM (
        SELECT *
        FROM host_op
        UNION ALL
        SELECT 'IDLE', 'IDLE', 0, idle_ns, idle_ns
        FROM host_idle
        WHERE {with_idle} AND idle_ns > 0
    )
)
SELECT row_number() OVER (ORDER BY side, place) AS rank,
    CASE side WHEN 0 THEN 'Device' ELSE 'Host' END AS host_or_device, type, operation, occurrences,
    total_ns / 1e3 AS total_time, total_ns / 1e3 / nullif(occurrences, 0) AS avg_time,
    self_ns / 1e3 AS total_self_time, self_ns / 1e3 / nullif(occurrences, 0) AS avg_self_time, percent,
    CASE side WHEN 0 THEN percent / 100 END AS device_total_self_time_percent,
    CASE side WHEN 0 THEN sum(percent / 100) OVER running END AS device_cumulative_total_self_time_percent,
    CASE side WHEN 1 THEN percent / 100 END AS host_total_self_time_percent,
    CASE side WHEN 1 THEN sum(percent / 100) OVER running END AS Host_cumulative_total_self_time_percent,
    normalized_flop_rate AS measured_flop_rate, model_flop_rate, xprof_model_flop_rate, measured_memory_bw,
    operational_intensity, tensor_core_ns / nullif(total_ns, 0) AS gpu_tensorcore_utilization,
    100.0 * tensor_core_ns / nullif(total_ns, 0) AS tensor_percent, bound_by, 'Function' AS eager
FROM (
    SELECT 0 AS side, *, {bound_by} AS bound_by
    FROM on_device
    WHERE place <= 500
    UNION ALL BY NAME
    SELECT 1 AS side, *, 'Unknown' AS bound_by
    FROM on_host
    WHERE place <= 500
)
WINDOW running AS (PARTITION BY side ORDER BY place ROWS UNBOUNDED PRECEDING)
ORDER BY rank

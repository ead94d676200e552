-- The roofline: the whole, operations, and steps.
WITH part AS (
    SELECT *, coalesce(category IN ('call', 'conditional', 'while', 'megacore fusion'), false) AS is_holder,
        coalesce(category IN ('infeed', 'outfeed'), false) AS is_feed
    FROM op
    WHERE occurrences > 0
), listed AS ({roofline_rows condition=true | is_included=true} UNION ALL BY NAME
{roofline_rows condition=NOT is_feed | is_included=false} UNION ALL BY NAME SELECT *, 0 AS rank, 'Program' AS
category, 'Program' AS name, '0' AS program_text, 1 AS occurrences, total_ns AS timed_ns, 0 AS self_ns,
total_ns AS all_ns, true AS include_infeed_outfeed FROM (
    WITH cost AS (
        SELECT r.step_id, {steady_sum of=o.flops / o.occurrences} AS flops,
            {steady_sum of=o.compute_s / o.occurrences} AS compute_s, {steady_sum of=o.xprof_flops / o.occurrences} AS xprof_flops,
            {steady_sum of=o.xprof_device_flops / o.occurrences} AS xprof_device_flops,
            sum(o.bytes / o.occurrences) AS bytes, sum(o.hbm_bytes / o.occurrences) AS hbm_bytes
        FROM HloRun r
        JOIN part o ON o.operation_id = r.operation_id
        WHERE r.kind = 'operation' AND NOT o.is_holder
        GROUP BY r.step_id
    ),
    step_row AS (
        SELECT any_value(b.number) AS number, sum(b.duration_ns) AS total_ns,
            any_value(COLUMNS(c.* EXCLUDE (step_id)))
        FROM StepBreakdown b
        JOIN accelerator d ON d.id = b.device_id
        JOIN cost c ON c.step_id = b.step_id
        GROUP BY b.step_id
    )
    SELECT number::VARCHAR AS step, * EXCLUDE (number)
    FROM step_row
    UNION ALL BY NAME
    SELECT 'Average' AS step, avg(total_ns) AS total_ns, {steady_avg of=flops} AS flops, {steady_avg of=compute_s} AS compute_s,
        {steady_avg of=xprof_flops} AS xprof_flops, {steady_avg of=xprof_device_flops} AS xprof_device_flops, avg(bytes) AS bytes,
        avg(hbm_bytes) AS hbm_bytes
    FROM step_row
    HAVING count(*) > 0
)),
rated AS (SELECT o.*, m.devices, m.peak_flops, {rates} FROM listed o, machine m)
SELECT step, rank, category, name AS operation, occurrences, total_ns / 1e3 AS total_time,
    total_ns / 1e3 / occurrences AS avg_time, self_ns / 1e3 AS total_self_time,
    self_ns / 1e3 / occurrences AS avg_self_time, self_ns / nullif(all_ns, 0) AS total_self_time_percent,
    sum(self_ns / nullif(all_ns, 0)) OVER (PARTITION BY include_infeed_outfeed, step ORDER BY rank ROWS
        UNBOUNDED PRECEDING) AS cumulative_total_self_time_percent,
    dma_stall_ns / nullif(total_ns, 0) AS dma_stall_percent, normalized_flop_rate AS measured_flop_rate,
    {bound_by} AS bound_by,
    CASE bound_by
        WHEN 'CMEM Read' THEN cmem_read_operational_intensity
        WHEN 'CMEM Write' THEN cmem_write_operational_intensity
        WHEN 'VMEM Read' THEN vmem_read_operational_intensity
        WHEN 'VMEM Write' THEN vmem_write_operational_intensity
        WHEN 'Unknown' THEN 0
        ELSE hbm_operational_intensity
    END AS bottleneck_operational_intensity,
    total_ns / 1e3 / devices AS total_time_per_core, total_ns / nullif(all_ns, 0) AS total_time_in_percentage,
    normalized_flop_rate / nullif({best_use}, 0) AS optimal_flop_rate, {best_use} AS roofline_efficiency,
    compute_use AS compute_efficiency,
    greatest(hbm_use, cmem_read_use, cmem_write_use, vmem_read_use, vmem_write_use) AS max_mem_bw_utilization,
    program_text AS hlo_module_id, {source_cell} AS source_info, {source_info} AS source,
    100.0 * self_ns / nullif(all_ns, 0) AS percent, 100 * {best_use} AS efficiency,
    100 * compute_use AS compute, 100 * max_mem_bw_utilization AS memory,
    * EXCLUDE (step, rank, category, name, occurrences, total_ns, timed_ns, self_ns, program_text)
FROM rated
ORDER BY include_infeed_outfeed DESC, step <> 'Total', step <> 'Average', try_cast(step AS BIGINT), rank

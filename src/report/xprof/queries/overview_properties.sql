-- Utilization of devices, as XProf's overview states it.
WITH {step_shares},
cost AS (
    SELECT {steady_sum of=compute_s} AS compute_s, sum(hbm_bytes) AS hbm_bytes, coalesce(sum(occurrences), 0) AS op_count
    FROM op
),
on_host AS (
    SELECT coalesce(sum(occurrences), 0) AS host_count, coalesce(sum(self_ns), 0) AS host_self_ns
    FROM host_op
)
SELECT {percent value=half_percent} AS device_compute_16bit_percent,
    {percent value=single_percent} AS device_compute_32bit_percent,
    {percent value=100.0 * idle_ns / nullif(whole_ns, 0)} AS device_idle_time_percent,
    {percent value=100.0 * busy_ns / nullif(whole_ns, 0)} AS device_duty_cycle_percent,
    {percent value=100 * compute_s * 1e9 / nullif(whole_ns, 0)} AS mxu_utilization_percent,
    {percent value=100 * hbm_bytes * 1e9 / nullif(whole_ns, 0) / nullif(hbm_peak, 0)} AS
        hbm_utilization_percent,
    {percent value=100 * compute_s / nullif(greatest(compute_s, hbm_bytes / hbm_peak), 0) * greatest(compute_s, hbm_bytes / hbm_peak) * 1e9 / nullif(whole_ns, 0)}
        AS flop_rate_utilization_relative_to_roofline,
    {percent value=100 * hbm_bytes * 1e9 / nullif(whole_ns, 0) / nullif(hbm_peak, 0)} AS
        memory_bw_utilization_relative_to_hw_limit,
    {percent value=100.0 * op_count / nullif(op_count + host_count, 0)} AS device_tf_op_percent,
    {percent value=100.0 * host_count / nullif(op_count + host_count, 0)} AS host_tf_op_percent,
    '0.0%' AS device_op_time_eager_percent, '0.0%' AS host_op_time_eager_percent, '0' AS host_trace_level,
    '' AS remark_text, '' AS remark_color,
    CASE
        WHEN kind = 'TPU' THEN
            {percent value=coalesce(100.0 * greatest(h.total_ns - host_self_ns, 0) / nullif(h.total_ns, 0), 100)}
    END AS host_idle_time_percent,
    CASE
        WHEN kind = 'TPU' THEN printf('%.6g', idle_ns * 1000.0)
    END AS idle_time_high_confidence_ps,
    CASE
        WHEN kind = 'TPU' THEN {percent value=100.0 * busy_ns / nullif(whole_ns, 0)}
    END AS device_duty_cycle_high_confidence_percent
FROM machine, shares, cost, on_host, host_time h

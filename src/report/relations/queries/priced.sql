-- Operations with the seconds they need at the peaks of their type: products of matrices in the units for
-- them, all else outside.
SELECT o.*, product / CASE
    WHEN compute_type = 'bf16' THEN coalesce(peak_bf16, peak_flops)
    WHEN compute_type = 'f16' THEN coalesce(peak_f16, peak_flops)
    WHEN starts_with(compute_type, 'f8') THEN coalesce(peak_f8, peak_flops)
    WHEN compute_type IN ('s8', 'u8') THEN coalesce(peak_s8, peak_flops)
    WHEN compute_type = 'f64' THEN coalesce(peak_f64, peak_flops)
    WHEN tensor_core_ns = 0 THEN coalesce(peak_f32, peak_flops)
    WHEN compute_type = 'f32' THEN coalesce(peak_tf32, peak_f32, peak_flops)
    ELSE peak_flops
END + (flops - product) / CASE
    WHEN compute_type = 'f64' THEN coalesce(peak_f64, peak_flops)
    ELSE coalesce(peak_f32, peak_flops)
END AS compute_s, coalesce(
    -- Starts and ends of what a TPU does beside its operations take no time of their own.
    d.kind = 'TPU' AND NOT (SELECT is_xprof FROM option) AND
        regexp_matches(category, '-(start|update|done)$|^(send|recv)$'),
        false
) AS is_beside
FROM (SELECT *, least(coalesce(matrix_flops, 0), flops) AS product FROM DeviceOperation) o
JOIN accelerator d ON d.id = o.device_id

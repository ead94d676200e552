-- The peaks of the devices.
SELECT coalesce(model, type) AS name, devices, peak_flops / 1e12 AS tflops, peak_type,
    hbm_peak / 1e9 AS hbm_gb_per_s, cmem_read_peak / 1e9 AS cmem_read_gb_per_s,
    cmem_write_peak / 1e9 AS cmem_write_gb_per_s, vmem_read_peak / 1e9 AS vmem_read_gb_per_s,
    vmem_write_peak / 1e9 AS vmem_write_gb_per_s, peak_flops / nullif(hbm_peak, 0) AS ridge,
    xprof_peak_flops / 1e12 AS xprof_tflops
FROM machine
WHERE devices > 0

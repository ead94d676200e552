-- The peaks of the devices, as XProf states them.
SELECT coalesce(type, '') AS device_type, {six_digits value=peak_flops / 1e9} AS peak_flop_rate,
    {six_digits value=hbm_peak / 1073741824} AS peak_hbm_bw,
    {six_digits value=peak_flops / nullif(hbm_peak, 0)} AS hbm_ridge_point,
    {six_digits value=coalesce(vmem_write_peak, sram_peak) / 1073741824} AS peak_vmem_write_bw,
    {six_digits value=peak_flops / nullif(coalesce(vmem_write_peak, sram_peak), 0)} AS vmem_write_ridge_point,
    {six_digits value=vmem_read_peak / 1073741824} AS peak_vmem_read_bw,
    {six_digits value=peak_flops / nullif(vmem_read_peak, 0)} AS vmem_read_ridge_point,
    {six_digits value=cmem_read_peak / 1073741824} AS peak_cmem_read_bw,
    {six_digits value=peak_flops / nullif(cmem_read_peak, 0)} AS cmem_read_ridge_point,
    {six_digits value=cmem_write_peak / 1073741824} AS peak_cmem_write_bw,
    {six_digits value=peak_flops / nullif(cmem_write_peak, 0)} AS cmem_write_ridge_point,
    CASE WHEN cmem_read_peak > 0 OR cmem_write_peak > 0 THEN '1' ELSE '0' END AS has_cmem,
    CASE WHEN vmem_read_peak > 0 THEN '1' ELSE '0' END AS has_merged_vmem, '0' AS megacore,
    '1' AS time_scale_multiplier, {six_digits value=xprof_peak_flops / 1e9} AS xprof_peak_flop_rate
FROM machine

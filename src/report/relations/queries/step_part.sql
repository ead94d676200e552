-- Steps and their parts, as means over devices. A TPU's input and output are its infeed and outfeed: copies
-- from and to the host's memory are its program's own, as of what it offloads. Of others, a copy from the host
-- is taken for input and one to the host for output.
SELECT b.step_id, any_value(b.number) AS number, avg(b.duration_ns) AS step_ns,
    avg(compute_16_ns) AS compute_16_ns, avg(compute_32_ns) AS compute_32_ns,
    avg(compute_other_ns) AS compute_other_ns, avg(collectives_ns) AS collectives_ns,
    avg(device_to_device_ns) AS between_ns, avg(coalesce(b.outfeed_ns, device_to_host_ns)) AS output_ns,
    avg(coalesce(b.infeed_ns, host_to_device_ns) + input_wait_ns) AS input_ns,
    avg(coalesce(host_to_device_ns + device_to_host_ns - b.infeed_ns - b.outfeed_ns, 0)) AS transfer_ns, avg(host_compute_ns) AS host_ns,
    avg(kernel_launch_ns) AS launch_ns, avg(compile_ns) AS compile_ns, avg(other_ns) AS other_ns,
    avg(b.idle_ns) AS idle_ns, avg(b.infeed_ns) AS infeed_ns, min(b.infeed_ns) AS least_infeed_ns,
    max(b.infeed_ns) AS most_infeed_ns, avg(b.outfeed_ns) AS outfeed_ns,
    avg(compute_16_ns + compute_32_ns + compute_other_ns) AS compute_ns
FROM StepBreakdown b
LEFT JOIN accelerator d ON d.id = b.device_id
WHERE b.device_id IS NULL OR d.id IS NOT NULL
GROUP BY b.step_id

-- Parts of each step on each device, and the largest of them.
SELECT *,
    ['Device compute', 'Device to device', 'Device collective communication', 'Host compute', 'Kernel launch',
        'Input', 'Output', 'Compilation', 'All others', 'Host transfer'][list_position([compute_us,
        device_to_device_us, collectives_us, host_compute_us, kernel_launch_us, input_us, output_us, compile_us,
        other_us, host_transfer_us], greatest(compute_us, device_to_device_us, collectives_us, host_compute_us,
        kernel_launch_us, input_us, output_us, compile_us, other_us, host_transfer_us))] AS bottleneck
FROM (
    SELECT b.step_id, b.number AS step, d.instance_id AS host, coalesce(d.device_idx, d.id) AS device,
        d.id AS core, b.duration_ns / 1e3 AS total_us,
        (compute_16_ns + compute_32_ns + compute_other_ns) / 1e3 AS compute_us,
        device_to_device_ns / 1e3 AS device_to_device_us, collectives_ns / 1e3 AS collectives_us,
        host_compute_ns / 1e3 AS host_compute_us, kernel_launch_ns / 1e3 AS kernel_launch_us,
        (input_wait_ns + coalesce(b.infeed_ns, host_to_device_ns)) / 1e3 AS input_us,
        coalesce(b.outfeed_ns, device_to_host_ns) / 1e3 AS output_us,
        coalesce(host_to_device_ns + device_to_host_ns - b.infeed_ns - b.outfeed_ns, 0) / 1e3 AS
            host_transfer_us,
        compile_ns / 1e3 AS compile_us, other_ns / 1e3 AS other_us
    FROM StepBreakdown b
    JOIN accelerator d ON d.id = b.device_id
)

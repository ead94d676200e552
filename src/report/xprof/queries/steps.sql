-- Parts of each step, as means over devices.
SELECT number::VARCHAR AS stepnum, compute_ns / 1e6 AS deviceComputeTimeMs,
    between_ns / 1e6 AS deviceToDeviceTimeMs, collectives_ns / 1e6 AS deviceCollectivesTimeMs,
    host_ns / 1e6 AS hostComputeTimeMs, launch_ns / 1e6 AS kernelLaunchTimeMs, input_ns / 1e6 AS infeedTimeMs,
    output_ns / 1e6 AS outfeedTimeMs, compile_ns / 1e6 AS compileTimeMs, other_ns / 1e6 AS otherTimeMs,
    (compute_ns + collectives_ns + between_ns) / 1e6 AS tcComputeTimeMs, 0 AS scv0ComputeTimeMs,
    0 AS scv0InfeedTimeMs, coalesce(infeed_ns, input_ns) / 1e6 AS tcInfeedTimeMs,
    coalesce(outfeed_ns, output_ns) / 1e6 AS tcOutfeedTimeMs, idle_ns / 1e6 AS tcIdleTimeMs,
    transfer_ns / 1e6 AS hostTransferTimeMs,
    printf('Step %d, duration: %.2f ms', number, step_ns / 1e6) || chr(10) ||
        printf('-All others: %.2f ms', other_ns / 1e6) || chr(10) ||
        printf('-Compilation: %.2f ms', compile_ns / 1e6) || chr(10) ||
        printf('-Output: %.2f ms', output_ns / 1e6) || chr(10) || printf('-Input: %.2f ms', input_ns / 1e6) ||
        chr(10) || printf('-Kernel launch: %.2f ms', launch_ns / 1e6) || chr(10) ||
        printf('-Host compute: %.2f ms', host_ns / 1e6) || chr(10) ||
        printf('-Device collectives: %.2f ms', collectives_ns / 1e6) || chr(10) ||
        printf('-Device to device: %.2f ms', between_ns / 1e6) || chr(10) ||
        CASE WHEN transfer_ns > 0 THEN printf('-Host transfer: %.2f ms', transfer_ns / 1e6) || chr(10) ELSE '' END ||
        printf('-Device compute: %.2f ms', compute_ns / 1e6) AS tooltip,
    step_ns / 1e6 AS stepTimeMs, 100.0 * infeed_ns / nullif(step_ns, 0) AS infeedPercentAverage,
    100.0 * least_infeed_ns / nullif(step_ns, 0) AS infeedPercentMin,
    100.0 * most_infeed_ns / nullif(step_ns, 0) AS infeedPercentMax, idle_ns / 1e6 AS idle_ms,
    compute_16_ns / 1e6 AS compute_16_ms
FROM step_part
ORDER BY step_id

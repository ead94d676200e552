-- Means and deviations over steps, as XProf states them.
WITH {step_shares}
SELECT (SELECT coalesce(kind, 'CPU_ONLY') FROM machine) AS hardware_type,
    CASE
        WHEN (SELECT kind FROM machine) = 'TPU' THEN
            'stepnum,tcComputeTimeMs,scv0ComputeTimeMs,scv0InfeedTimeMs,tcInfeedTimeMs,tcOutfeedTimeMs,tcIdleTimeMs,hostTransferTimeMs,tooltip'
        ELSE
            'stepnum,deviceComputeTimeMs,deviceToDeviceTimeMs,deviceCollectivesTimeMs,hostComputeTimeMs,kernelLaunchTimeMs,infeedTimeMs,outfeedTimeMs,compileTimeMs,otherTimeMs, tooltip'
    END AS step_time_graph_column_ids,
    {one_digit value=avg(step_ns) / 1e6} AS steptime_ms_average,
    {one_digit value=stddev_samp(step_ns) / 1e6} AS steptime_ms_standard_deviation,
    {one_digit value=min(step_ns) / 1e6} AS steptime_ms_minimum,
    {one_digit value=max(step_ns) / 1e6} AS steptime_ms_maximum,
    {mean_and_deviation column=compute_ns | name=device_compute_time_ms},
    {mean_and_deviation column=between_ns | name=device_to_device_time_ms},
    {mean_and_deviation column=collectives_ns | name=device_collectives_time_ms},
    {mean_and_deviation column=input_ns | name=infeed_time_ms},
    {mean_and_deviation column=output_ns | name=outfeed_time_ms},
    {mean_and_deviation column=host_ns | name=host_compute_time_ms},
    {mean_and_deviation column=launch_ns | name=kernel_launch_time_ms},
    {mean_and_deviation column=compile_ns | name=compile_time_ms},
    {mean_and_deviation column=other_ns | name=other_time_ms},
    (SELECT {input_statement} FROM shares) AS input_conclusion,
    (
        SELECT CASE
            WHEN input_percent >= 5 THEN 'See which operations of the input take the time.'
            ELSE ''
        END
        FROM shares
    ) AS summary_nextstep,
    '' AS all_other_bottleneck, '' AS all_other_statement, '' AS kernel_launch_bottleneck,
    '' AS kernel_launch_statement, '' AS device_collectives_bottleneck, '' AS device_collectives_statement,
    {tpu_mean_ms value=step_ns - idle_ns | name=active_steptime_ms_average},
    {tpu_mean_ms value=compute_ns + collectives_ns + between_ns | name=tc_compute_ms_average},
    {tpu_mean_ms value=step_ns - idle_ns | name=tc_active_ms_average},
    {tpu_mean_ms value=idle_ns | name=tc_idle_ms_average},
    {tpu_mean_ms value=coalesce(infeed_ns, input_ns) | name=tc_infeed_ms_average},
    {tpu_mean_ms value=coalesce(outfeed_ns, output_ns) | name=tc_outfeed_ms_average},
    {tpu_mean_ms value=0 | name=scv0_compute_ms_average}, {tpu_mean_ms value=0 | name=scv0_infeed_ms_average},
    {tpu_mean_ms value=transfer_ns | name=host_transfer_ms_average},
    {infeed_percent function=avg | name=average}, {infeed_percent function=max | name=maximum},
    {infeed_percent function=min | name=minimum},
    {infeed_percent function=stddev_samp | name=standard_deviation},
    CASE WHEN (SELECT kind FROM machine) = 'TPU' THEN '' END AS output_conclusion
FROM step_part

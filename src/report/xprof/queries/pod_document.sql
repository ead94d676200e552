-- Parts of each step by device, as XProf's JSON.
WITH pod AS ({pod_rows}),
per_core AS (
    SELECT step_id, any_value(step) AS step,
        json_group_object(core::VARCHAR, {'hostName': host, 'chipId': device, 'nodeId': 0, 'stepNum': step,
            'totalDurationUs': total_us, 'bottleneck': bottleneck, 'stepBreakdownUs': {'1': compute_us, '2':
            device_to_device_us, '3': collectives_us, '4': host_compute_us, '5': kernel_launch_us, '6':
            input_us, '7': output_us, '8': compile_us, '9': other_us, '10': host_transfer_us}}) AS cores
    FROM pod
    GROUP BY step_id
)
SELECT json_object('podStatsSequence', {'podStatsMap': coalesce((
    SELECT list({'stepNum': step, 'podStatsPerCore': cores, 'channelDb': []::VARCHAR[],
        'coreIdToReplicaIdMap': '{}'::JSON, 'allReduceOpDb': []::VARCHAR[]} ORDER BY step_id)
    FROM per_core
), [])}, 'diagnostics', {'info': []::VARCHAR[], 'warnings': coalesce((
    SELECT list(message)
    FROM Warning
    WHERE category = 'warning'
), []), 'errors': coalesce((SELECT list(message) FROM Warning WHERE category = 'error'), [])},
    'stepBreakdownEvents', list_transform(['Device compute', 'Device to device',
    'Device collective communication', 'Host compute', 'Kernel launch', 'Input', 'Output', 'Compilation',
    'All others', 'Host transfer'], lambda name, i: {'id': i, 'name': name}), 'deviceType', coalesce(type, 'CPU'))
FROM machine

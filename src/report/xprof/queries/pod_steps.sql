-- Parts of each step by device.
{pod_rows}
ORDER BY step_id, host, device

-- No rows: transfers between slices of TPUs are not read.
SELECT '' AS rendezvous_name, '' AS recv_op_name, '' AS send_op_name, '' AS transfer_type, 0 AS slack_time,
    '' AS host_stall, 0 AS observed_duration, 0 AS send_stall, 0 AS send_done_stall, 0 AS recv_stall,
    0 AS recv_done_stall, 0 AS stall_duration, 0 AS total_stall, 0 AS occurrences, 0 AS net_tx_bytes,
    0 AS required_bandwidth
WHERE false

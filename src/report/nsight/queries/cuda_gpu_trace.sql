-- Each kernel, copy and memset, by start.
SELECT w.start_ts AS "Start (ns)", w.duration_ns AS "Duration (ns)", w.correlation_id AS "CorrId",
    k.grid_x AS "GrdX", k.grid_y AS "GrdY", k.grid_z AS "GrdZ", k.block_x AS "BlkX", k.block_y AS "BlkY",
    k.block_z AS "BlkZ", k.registers_per_thread AS "Reg/Trd", k.static_shared_bytes / 1e6 AS "StcSMem (MB)",
    k.dynamic_shared_bytes / 1e6 AS "DymSMem (MB)", c.size_bytes / 1e6 AS "Bytes (MB)",
    c.size_bytes * 1e3 / nullif(c.duration_ns, 0) AS "Throughput (MB/s)", c.source_kind AS "SrcMemKd",
    c.destination_kind AS "DstMemKd", w.device_idx AS "Device", w.context_id AS "Ctx", w.stream_id AS "Strm",
    w.operation AS "Name"
FROM work w
LEFT JOIN GpuKernel k ON k.id = w.id
LEFT JOIN GpuCopy c ON c.id = w.id
ORDER BY w.start_ts, w.id

-- No rows: requests of model servers are not read.
SELECT '' AS percentile, '' AS request_id, 0 AS latency_ms, 0 AS host_preprocessing, 0 AS host_runtime,
    0 AS data_transfer_h2d, 0 AS data_transfer_d2h, 0 AS device_compute, 0 AS host_postprocess,
    0 AS "idle time", '' AS trace_viewer_url
WHERE false

-- No rows: command lines of hosts are not recorded.
SELECT '' AS host_id, '' AS command_line, '' AS start_time, '' AS bns_address
WHERE false

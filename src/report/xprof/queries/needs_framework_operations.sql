-- What framework_op_stats needs: operations of devices or of the host, or idle time of devices.
SELECT 1
FROM op
UNION ALL
SELECT 1
FROM host_type
UNION ALL
SELECT 1
FROM machine
WHERE idle_ns > 0

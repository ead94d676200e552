-- What op_profile needs: operations of devices, or their idle time.
SELECT 1
FROM op
UNION ALL
SELECT 1
FROM machine
WHERE idle_ns > 0

-- Hosts, devices, and whether the program trains.
SELECT (SELECT count(*) FROM host)::VARCHAR AS host_count,
    (SELECT count(*) FROM host) || ' (num tasks per host = 1)' AS task_count,
    coalesce(type, 'CPU') AS device_type, devices::VARCHAR AS device_core_count,
    coalesce((SELECT is_training FROM training)::VARCHAR, '') AS is_training
FROM machine

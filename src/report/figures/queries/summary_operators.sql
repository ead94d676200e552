-- Operators of the framework and annotations: calls, and the time of what they launched.
SELECT name, kind, call_count AS count, host_time_ns AS host_ns, host_self_time_ns AS host_self_ns, device_event_count,
    device_self_time_ns AS device_self_ns, device_time_ns AS device_ns,
    device_time_with_backward_ns AS device_with_backward_ns, device_self_time_percent / 100 AS share
FROM OperatorSummary

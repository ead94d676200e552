-- Collectives that ranks wait in most.
SELECT communicator, operation, group_size AS ranks, bytes, skew_ns AS median_skew_ns, max_skew_ns,
    CAST(waited_ns AS DOUBLE) / steps AS waited_per_step_ns
FROM Communicator
WHERE matches > 0
ORDER BY waited_per_step_ns DESC, communicator, operation
LIMIT 8

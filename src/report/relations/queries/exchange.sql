-- Collectives of GPUs as they run on devices. Sizes are those of nccl-tests: the larger of what a rank gives
-- and gets. Those that only the name of a kernel reveals have the size of their HLO operation, if there is
-- one.
SELECT id, name, lower(replace(replace(operation, '_', ''), '-', '')) AS operation, communicator, ranks,
    size_bytes, data_type, duration_ns
FROM (
    SELECT id, name, operation, communicator, group_size AS ranks, bytes AS size_bytes, data_type, duration_ns
    FROM RankCollective
    UNION ALL
    SELECT k.id, k.name, c.operation,
        coalesce(c.group_description, c.group_name) || coalesce(' ' || c.group_ranks, ''),
        c.group_size, coalesce(
            greatest(c.input_elements, c.output_elements) *
            -- Of PyTorch's types, and of NCCL's.
            CASE
                WHEN lower(c.data_type) IN ('byte', 'char', 'bool', 'int8', 'uint8') OR lower(c.data_type)
                    LIKE 'float8%' THEN 1
                WHEN lower(c.data_type) IN ('half', 'bfloat16', 'short', 'float16') THEN 2
                WHEN lower(c.data_type) IN ('float', 'int', 'float32', 'int32', 'uint32', 'complexhalf') THEN
                    4
                WHEN lower(c.data_type) IN ('double', 'long', 'float64', 'int64', 'uint64', 'complexfloat')
                    THEN 8
                WHEN lower(c.data_type) = 'complexdouble' THEN 16
            END,
                greatest(o.bytes_read, o.bytes_written)
        ), c.data_type, k.duration_ns
    FROM GpuKernel k
    JOIN Collective c ON c.id = k.id
    LEFT JOIN HloOperation o ON o.id = k.operation_id
    WHERE NOT EXISTS (SELECT 1 FROM RankCollective)
)
WHERE (SELECT host FROM option) IS NULL OR id IN (
    SELECT id
    FROM SystemProfileEvents
    WHERE instance_id = (SELECT host FROM option)
)

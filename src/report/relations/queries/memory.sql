-- Allocations and frees, as XProf numbers them: those without a step are of the one after the last that is
-- known. XLA's and TensorFlow's allocators have a stack beside the heap and say how much is free. PyTorch and
-- CUDA reserve blocks, of which the heap is the part in use; they have no stack, and what is free is not
-- recorded.
SELECT * EXCLUDE (known_step),
    coalesce(known_step, coalesce(last_value(known_step IGNORE NULLS) OVER in_order, -1) + 1) AS step,
    row_number() OVER in_order - 1 AS position
FROM (
    SELECT a.id,
        CASE
            WHEN (SELECT count(*) FROM host) > 1 THEN e.instance_id || '/'
            ELSE ''
        END || coalesce(a.allocator_name, CASE WHEN a.device_idx < 0 THEN 'host' END, a.device_idx::VARCHAR,
            '') AS memory_id,
        a.timestamp * 1000 + e.start_fraction_ps AS time_ps, s.id AS known_step,
        a.name NOT ILIKE '%dealloc%' AND coalesce(a.allocation_bytes, 0) >= 0 AS is_allocation,
        a.requested_bytes AS requested, coalesce(a.allocation_bytes, 0) AS allocated,
        coalesce(a.address, 0) AS address, coalesce(a.bytes_allocated, 0) AS heap,
        CASE
            WHEN a.bytes_available IS NULL THEN 0
            ELSE coalesce(a.bytes_reserved, 0)
        END AS stack,
        CASE WHEN a.bytes_available IS NULL THEN nullif(a.bytes_reserved, 0) END AS reserved,
        a.bytes_available AS free, a.peak_bytes_in_use AS lifetime_peak,
        -- XLA writes 0 as a whole number, which the column of fractions does not take.
        coalesce(a.fragmentation, json_extract(e.extra_attributes_json, '$.fragmentation')::DOUBLE) AS
            fragmentation,
        coalesce(json_extract_string(e.extra_attributes_json, '$.tf_op'), '') AS tf_op,
        coalesce(json_extract_string(e.extra_attributes_json, '$.region_type'), '') AS region,
        coalesce(json_extract_string(e.extra_attributes_json, '$.shape'), '') AS shape,
        a.data_type AS type_number
    FROM MemoryAllocation a
    JOIN SystemProfileEvents e ON e.id = a.id
    LEFT JOIN Step s ON s.id = e.step_id AND s.origin <> 'guessed'
    WHERE {on_host column=e.instance_id}
)
WINDOW in_order AS (PARTITION BY memory_id ORDER BY time_ps, id ROWS UNBOUNDED PRECEDING)

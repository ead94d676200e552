-- Operations of all devices together, as XProf has them. Bytes that are moved beside them are those of the
-- start, not once more those of the end.
SELECT program_id,
    CASE
        WHEN program_id < 0 THEN program_id + 18446744073709551616::HUGEINT
        ELSE coalesce(program_id, 0)
    END::VARCHAR AS program_text,
    name, core_type, any_value(category) AS category, coalesce(any_value(expression), name) AS expression,
    any_value(framework_op) AS framework_op, any_value(framework_type) AS framework_type,
    any_value(source_file) AS source_file, any_value(source_line) AS source_line,
    any_value(operation_id) AS operation_id, any_value(deduplicated_name) AS deduplicated_name,
    any_value(parent_name) AS parent_name, any_value(attribution) AS attribution,
    any_value(module_id) AS module_id, sum(occurrence_count) AS occurrences, sum(kernel_count) AS kernels,
    sum(total_ns) AS total_ns, sum(self_ns) AS self_ns, sum(tensor_core_ns) AS tensor_core_ns,
    {steady_sum of=flops} AS flops, {steady_sum of=compute_s} AS compute_s, {steady_sum of=xprof_flops} AS xprof_flops,
    {steady_sum of=xprof_device_flops} AS xprof_device_flops,
    CASE WHEN NOT bool_or(is_beside) THEN sum(total_ns) END AS timed_ns,
    sum(bytes_accessed) FILTER ({counted}) AS bytes,
    sum(coalesce(hbm_bytes, bytes_accessed)) FILTER ({counted}) AS hbm_bytes,
    sum(cmem_read_bytes) AS cmem_read_bytes, sum(cmem_write_bytes) AS cmem_write_bytes,
    sum(vmem_read_bytes) AS vmem_read_bytes, sum(vmem_write_bytes) AS vmem_write_bytes,
    sum(dma_stall_ns) AS dma_stall_ns, min(first_event_id) AS first_event_id
FROM priced
GROUP BY program_id, name, core_type

-- Rows of operations and one of the whole: the time of the devices, the costs of operations that hold no
-- others.
SELECT 'Total' AS step, 0 AS rank, 'Program' AS category, 'Program' AS name, '0' AS program_text,
    1 AS occurrences, {whole_ns condition={condition}} AS total_ns,
    {whole_ns condition={condition}} AS timed_ns, 0 AS self_ns, any_value(m.whole_ns) AS all_ns,
    NULL AS source_file, NULL AS source_line, sum(dma_stall_ns) AS dma_stall_ns,
    {steady_sum of=o.flops} FILTER ({condition} AND NOT is_holder) AS flops,
    {steady_sum of=o.compute_s} FILTER ({condition} AND NOT is_holder) AS compute_s,
    {steady_sum of=o.xprof_flops} FILTER ({condition} AND NOT is_holder) AS xprof_flops,
    {steady_sum of=o.xprof_device_flops} FILTER ({condition} AND NOT is_holder) AS xprof_device_flops,
    sum(o.bytes) FILTER ({condition} AND NOT is_holder) AS bytes,
    sum(o.hbm_bytes) FILTER ({condition} AND NOT is_holder) AS hbm_bytes,
    sum(o.cmem_read_bytes) FILTER ({condition} AND NOT is_holder) AS cmem_read_bytes,
    sum(o.cmem_write_bytes) FILTER ({condition} AND NOT is_holder) AS cmem_write_bytes,
    sum(o.vmem_read_bytes) FILTER ({condition} AND NOT is_holder) AS vmem_read_bytes,
    sum(o.vmem_write_bytes) FILTER ({condition} AND NOT is_holder) AS vmem_write_bytes,
    {is_included} AS include_infeed_outfeed
FROM machine m
LEFT JOIN part o ON true
UNION ALL BY NAME
SELECT 'Total' AS step, place AS rank, category, name, program_text, occurrences, total_ns, timed_ns, self_ns,
    all_ns, source_file, source_line, dma_stall_ns, flops, compute_s, xprof_flops, xprof_device_flops, bytes,
    hbm_bytes, cmem_read_bytes, cmem_write_bytes, vmem_read_bytes, vmem_write_bytes,
    {is_included} AS include_infeed_outfeed
FROM (
    SELECT o.*, m.whole_ns AS all_ns, row_number() OVER (ORDER BY self_ns DESC, name, program_id) AS place
    FROM part o, machine m
    WHERE {condition}
)
WHERE place <= 1000

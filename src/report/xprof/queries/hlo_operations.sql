-- HLO operations by self time, with rates and what bounds them.
WITH rated AS (SELECT o.*, m.whole_ns, {rates} FROM op o, machine m WHERE occurrences > 0)
SELECT row_number() OVER ranked AS rank, program_text AS program_id, name AS hlo_op_name,
    expression AS hlo_op_expression, framework_op || ':' AS tf_op_name, total_ns / 1e3 AS total_time,
    total_ns / 1e3 / occurrences AS avg_time, self_ns / 1e3 AS total_self_time,
    self_ns / 1e3 / occurrences AS avg_self_time,
    100.0 * self_ns / nullif(whole_ns, 0) AS total_self_time_percent,
    sum(100.0 * self_ns / nullif(whole_ns, 0)) OVER ranked AS cumulative_total_self_time_percent,
    dma_stall_ns / nullif(total_ns, 0) AS dma_stall_percent, * EXCLUDE (program_id, name, expression),
    {bound_by} AS bound_by,
    CASE
        WHEN contains(split_part(expression, '=', 1), '.remat') OR
            contains(framework_op, 'rematted_computation') THEN 'Yes'
        ELSE 'No'
    END AS hlo_rematerialization,
    CASE
        WHEN regexp_matches(framework_op, 'XlaSendToHost|XlaRecvFromHost') THEN 'Yes'
        ELSE 'No'
    END AS outside_compilation,
    'No' AS autotuned, {source_cell} AS source_info, parent_name AS parent_op_name, 0 AS vdd_energy,
    {source_info} AS source
FROM rated
WINDOW ranked AS (ORDER BY self_ns DESC, name, program_id ROWS UNBOUNDED PRECEDING)
ORDER BY rank

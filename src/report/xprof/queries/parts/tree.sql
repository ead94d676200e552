-- The tree of op_profile. Nodes have a list of names as their path; those of operations have a kind. With
-- parts, operations that are the same are below a node of theirs, and instructions below their fusion: with
-- the FLOPs of one execution, as nothing of their time is known. Operations that hold others have no place
-- below their program, as their time is that of the others. The root has the time of the devices; operations
-- that run beside each other add up to more. What is not known of operations is NULL.
WITH base AS (
    SELECT * EXCLUDE (category), coalesce(category, 'unknown') AS category,
        category IN ('call', 'conditional', 'while', 'megacore fusion') AND total_ns > self_ns AS is_outer
    FROM (
        SELECT o.*, coalesce(m.label, 'main') AS program
        FROM op o
        LEFT JOIN HloModule m ON m.id = o.module_id
    )
),
located AS (
    SELECT *,
        CASE (SELECT group_by FROM option)
            WHEN 'category' THEN [category]
            WHEN 'provenance' THEN list_concat([program], list_filter(string_split(coalesce(framework_op, ''), '/'),
                lambda part: part <> ''), [category])
            WHEN 'source' THEN CASE
                WHEN source_file IS NULL THEN ['(no source)', category]
                ELSE [source_file, {source_info}]
            END
            ELSE [program, category]
        END AS place
    FROM base
),
compared AS (
    SELECT *, min(name) OVER same <> max(name) OVER same AS has_duplicates,
        first_value(name) OVER (PARTITION BY place, is_outer, coalesce(deduplicated_name, name) ORDER BY
            self_ns DESC, name) || ' and its duplicate(s)' AS same_name
    FROM located
    WINDOW same AS (PARTITION BY place, is_outer, coalesce(deduplicated_name, name))
),
leaf AS (
    SELECT *, false AS is_idle,
        CASE
            WHEN is_outer THEN CASE
                WHEN (SELECT group_by FROM option) IN ('program', 'provenance') THEN [program]
                ELSE []
            END
            WHEN NOT has_duplicates THEN list_append(place, name)
            WHEN {has_parts} THEN list_concat(place, [same_name, name])
            ELSE list_append(place, same_name)
        END AS path
    FROM compared
    UNION ALL BY NAME
    SELECT ['IDLE'] AS path, 'IDLE' AS name, 'IDLE' AS category, idle_ns AS self_ns, 0 AS occurrences,
        true AS is_idle
    FROM machine
    WHERE idle_ns > 0
),
fused AS (
    SELECT list_append(l.path, i.name) AS path, len(l.path) + 1 AS depth, 0 AS ns, 1 AS occurrences,
        any_value(i.flops) AS flops, 'instruction' AS node_kind, false AS is_idle,
        any_value(i.expression) AS expression, any_value(i.op_name) AS framework_op,
        any_value(i.category) AS category, any_value(l.program_text) AS program_text,
        any_value(i.source_file) AS source_file, any_value(i.source_line) AS source_line,
        min(i.id) AS position
    FROM (
        SELECT l.path, l.program_text, f.module_id, unnest(f.called) AS body
        FROM leaf l
        JOIN HloOperation f ON f.id = l.operation_id
        WHERE f.opcode = 'fusion' AND {has_parts}
    ) l
    JOIN HloOperation i ON i.module_id = l.module_id AND i.computation = l.body
    WHERE i.opcode NOT IN ('parameter', 'tuple')
    GROUP BY l.path, i.name
),
node AS (
    SELECT path[1:depth] AS path, depth, sum(self_ns) AS ns, sum(occurrences) AS occurrences,
        {steady_sum of=flops} AS flops, {steady_sum of=compute_s} AS compute_s, sum(hbm_bytes) AS hbm_bytes,
        sum(hbm_bytes) FILTER (timed_ns IS NOT NULL OR depth < len(path) - 1) AS timed_bytes,
        CASE
            WHEN bool_or(depth > 0 AND depth = len(path) AND (len(path) > 1 OR is_idle)) THEN 'operation'
            WHEN bool_and(has_duplicates AND {has_parts} AND depth = len(path) - 1) THEN 'duplicates'
        END AS node_kind,
        bool_and(is_idle) AS is_idle, arg_max(expression, self_ns) AS expression,
        arg_max(framework_op, self_ns) AS framework_op, any_value(category) AS category,
        any_value(program_text) AS program_text, any_value(source_file) AS source_file,
        any_value(source_line) AS source_line, 0 AS position
    FROM (SELECT *, unnest(range(0, len(path) + 1)) AS depth FROM leaf)
    GROUP BY 1, 2
    UNION ALL BY NAME
    SELECT *
    FROM fused
),
numbered AS (
    SELECT * REPLACE (CASE WHEN depth = 0 THEN (SELECT whole_ns FROM machine) ELSE ns END AS ns),
        row_number() OVER (ORDER BY depth, ns DESC, CASE WHEN node_kind = 'instruction' THEN flops END DESC
            NULLS LAST, position, path) - 1 AS number
    FROM node
)
SELECT n.*, p.number AS parent, m.devices, m.whole_ns, m.idle_ns AS whole_idle_ns,
    CASE WHEN n.is_idle THEN 0 ELSE n.compute_s * 1e9 / nullif(n.ns, 0) END AS compute_use,
    CASE WHEN n.is_idle THEN 0 ELSE n.timed_bytes * 1e9 / nullif(n.ns, 0) / nullif(m.hbm_peak, 0) END AS hbm_use,
    n.compute_s * m.peak_flops AS normalized_flops
FROM numbered n
LEFT JOIN numbered p ON p.depth = n.depth - 1 AND p.path = n.path[1:n.depth - 1], machine m

-- input_op: stages that programs annotate, tf.data's iterators, PyTorch's loaders, copies to devices.
input_event AS (
    SELECT e.name, e.duration_ns, e.self_ns,
        CASE
            WHEN stage IS NOT NULL THEN CASE lower(stage)
                WHEN 'enqueue' THEN 'Enqueue'
                WHEN 'read' THEN 'Demanded file read'
                WHEN 'preprocessing' THEN 'Preprocessing'
                ELSE 'Other'
            END
            WHEN regexp_matches(e.name, '^(InfeedEnqueue|MemcpyHToD)') THEN 'Enqueue'
            WHEN regexp_matches(e.name, '::(TFRecord|TextLine|FixedLengthRecord|SSTable|RecordIO|ArrayRecord)')
                THEN CASE
                    WHEN regexp_matches(e.name,
                        '::(MemoryReader|MemoryWriter|Interleave|Prefetch|ParallelMap)') THEN
                        'Advanced file read'
                    ELSE 'Demanded file read'
                END
            ELSE 'Preprocessing'
        END AS category
    FROM (
        SELECT e.*, json_extract_string(e.extra_attributes_json, '$._ipl_stage_cat') AS stage
        FROM SystemProfileEvents e
        JOIN (
            SELECT id, regexp_matches(name, '^(Iterator::|InfeedEnqueue|MemcpyHToD)|DataLoader') AS is_input
            FROM EventType
        ) t ON t.id = e.event_type_id
        WHERE e.trace_event_source NOT LIKE '%hw' AND
            coalesce(e.instance_id = (SELECT host FROM option), true) AND (is_input OR
            contains(e.extra_attributes_json, '_ipl_stage_cat'))
    ) e
),
input_op AS (
    SELECT name AS opName, category, count(*) AS count, sum(duration_ns) AS total_ns, sum(self_ns) AS self_ns
    FROM input_event
    GROUP BY ALL
)

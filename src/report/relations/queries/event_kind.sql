-- What events are, which is a property of their types. Names of calls have the graph in brackets in captures
-- of JAX. What has no category is an annotation, unless it is something else.
SELECT *,
    NOT is_call AND coalesce(category IN ('user_annotation', 'nvtx'), name[1] <> '$' AND name NOT IN ('<UNKNOWN>',
        'BUFFER_FLUSH', 'MemoryAllocation', 'MemoryDeallocation')) AS is_span,
    category IS NULL AS is_guessed
FROM (
    SELECT id, name, category, regexp_replace(name, ' \(.*\)$', '') AS call_name,
        coalesce(category IN ('cuda_runtime', 'cuda_driver', 'Runtime'),
            regexp_matches(name, '^(cuda|cu|hip)[A-Z]')) AS is_call,
        regexp_matches(name, '^(cuda|hip)(Device|Stream|Event)Synchronize') OR
            regexp_matches(name, '^cu(Ctx|Stream|Event)Synchronize') AS is_wait,
        regexp_matches(name, '^(cuda|cu|hip)Mem(cpy|set)') AND NOT contains(name, 'Async') AS is_blocking_copy
    FROM (SELECT id, name, json_extract_string(attributes_json, '$.cat') AS category FROM EventType)
)

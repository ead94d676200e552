-- Operations of the host: events named "name:Type", those of tf.data, and operators of PyTorch.
SELECT id, name,
    CASE
        WHEN starts_with(name, 'Iterator::') THEN 'Dataset'
        WHEN regexp_matches(name, '^Memcpy(HToD|DToH|DToD|HToH)') THEN name
        WHEN is_operator THEN regexp_extract(name, '([^:]*)$', 1)
        ELSE regexp_extract(name, ':([A-Za-z_]\w*)?(\[.*\])?$', 1)
    END AS type,
    CASE
        WHEN is_operator OR starts_with(name, 'Iterator::') THEN name
        ELSE split_part(name, ':', 1)
    END AS operation
FROM (
    SELECT *, coalesce(json_extract_string(attributes_json, '$.cat') = 'cpu_op', false) AS is_operator
    FROM EventType
)
WHERE is_operator OR starts_with(name, 'Iterator::') OR regexp_matches(name, '^Memcpy(HToD|DToH|DToD|HToH)')
    OR regexp_matches(name, '^[^:]+:([A-Za-z_]\w*)?(\[.*\])?$')

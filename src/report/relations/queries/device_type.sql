-- What distinguishes operations of devices, and which are collectives.
SELECT id,
    coalesce({last_of path=json_extract_string(attributes_json, '$.tf_op')}, display_name, name) AS name,
    {before_of path=json_extract_string(attributes_json, '$.tf_op')} AS layer,
    {without_layout shape=json_extract_string(attributes_json, '$.shape_with_layout')} AS shape,
    coalesce(regexp_matches(json_extract_string(attributes_json, '$.hlo_category'),
        '^(all-|reduce-scatter|collective-)'), false) AS is_collective
FROM EventType

-- Attributes that are numbers: of events, and of their types, which all events of a type have.
SELECT tbl, id, name, try_cast(json_extract_string(attributes, '/' || replace(replace(name, '~', '~0'), '/', '~1')) AS DOUBLE) AS number
FROM (
    SELECT 'SystemProfileEvents' AS tbl, id, extra_attributes_json AS attributes, unnest(json_keys(extra_attributes_json)) AS name
    FROM SystemProfileEvents
    UNION ALL
    SELECT 'EventType', id, attributes_json, unnest(json_keys(attributes_json))
    FROM EventType
)

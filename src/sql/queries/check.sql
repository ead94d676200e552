-- Why a query cannot be parsed, how many statements it has, and a function that it must not call.
WITH parsed AS (SELECT json_serialize_sql({QUERY}) AS tree),
called AS (SELECT unnest(json_extract_string(tree, '$..function_name')) AS name FROM parsed)
SELECT tree->>'error_type', CAST(json_array_length(tree, '$.statements') AS VARCHAR),
    (
        SELECT min(name)
        FROM called
        WHERE regexp_full_match(name,
            '(en|dis)able_.*|query|json_execute_serialized_sql|(force_)?checkpoint|truncate_duckdb_logs|write_log',
            'i')
    )
FROM parsed

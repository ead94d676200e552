-- Columns of all tables.
SELECT table_name, column_name, data_type
FROM duckdb_columns()
WHERE NOT internal
ORDER BY lower(table_name), table_name, column_index

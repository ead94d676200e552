-- The module that was asked for, else the one whose operations take most time.
WITH labeled AS (
    SELECT *,
        CASE
            WHEN program_id < 0 THEN program_id + 18446744073709551616::HUGEINT
            ELSE program_id
        END::VARCHAR AS program_text
    FROM HloModule
)
SELECT m.label, m.file, m.file_offset, m.file_size,
    (SELECT module FROM option) IS NULL OR (SELECT module FROM option) IN (m.label, m.name, m.program_text) AS
        is_wanted
FROM labeled m
LEFT JOIN (SELECT module_id, sum(self_ns) AS ns FROM DeviceOperation GROUP BY module_id) o ON o.module_id =
    m.id
WHERE m.file IS NOT NULL
ORDER BY is_wanted DESC, o.ns DESC NULLS LAST, m.operation_count DESC, m.id
LIMIT 1

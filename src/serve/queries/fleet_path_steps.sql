-- Steps whose critical path is known.
SELECT DISTINCT step
FROM CriticalPath
ORDER BY step
LIMIT {LIMIT}

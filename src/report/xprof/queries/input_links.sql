-- Findings about input.
SELECT statement || coalesce(' ' || advice, '') AS link
FROM Finding
WHERE contains(rule, 'input')
ORDER BY id

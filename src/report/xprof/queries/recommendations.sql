-- Findings, as XProf's tips.
SELECT CASE WHEN regexp_matches(rule, 'host|input|python|launch') THEN 'host' ELSE 'device' END AS tip_type,
    statement || coalesce(' ' || advice, '') AS link, title AS description
FROM Finding
ORDER BY id

-- How many flows end and begin at each event.
SELECT tbl, id, count(*) FILTER (WHERE NOT is_cause) AS predecessor_count, count(*) FILTER (WHERE is_cause) AS successor_count,
    count(*) FILTER (WHERE is_cause AND dependency_type = 'launch') AS launch_count
FROM (
    SELECT if(out_table = 'HloRun', out_table, 'SystemProfileEvents') AS tbl, out_id AS id, false AS is_cause, dependency_type
    FROM Flow
    UNION ALL
    SELECT if(in_table = 'HloRun', in_table, 'SystemProfileEvents'), in_id, true, dependency_type
    FROM Flow
)
GROUP BY tbl, id

-- Flows between events: from the end of the cause to the start of the effect.
SELECT DISTINCT if(in_table = 'HloRun', in_table, 'SystemProfileEvents') AS in_tbl, in_id,
    if(out_table = 'HloRun', out_table, 'SystemProfileEvents') AS out_tbl, out_id, dependency_type AS type,
    gap_time AS gap_ns, -gap_time AS overlap_ns
FROM Flow

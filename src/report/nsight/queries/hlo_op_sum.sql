-- Kernels, by HLO operation of XLA, with the line of the program.
SELECT {share time=duration_ns}, count(*) AS "Instances", {spread_ns time=duration_ns}, hlo_module AS "Module",
    hlo AS "Operation", opcode AS "Opcode", source AS "Source"
FROM (
    SELECT k.duration_ns, k.hlo_module, coalesce(o.name, k.hlo_op) AS hlo, o.opcode,
        CASE WHEN o.source_line > 0 THEN o.source_file || ':' || o.source_line END AS source
    FROM kernel k
    LEFT JOIN HloOperation o ON o.id = k.operation_id
)
WHERE hlo IS NOT NULL
GROUP BY hlo_module, hlo, opcode, source
ORDER BY "Total Time (ns)" DESC, hlo_module, hlo, opcode, source

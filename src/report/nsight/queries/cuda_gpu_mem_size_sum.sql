-- Copies and memsets, by kind: their bytes, in millions.
SELECT "Total B" / 1e6 AS "Total (MB)", "Count", "Avg B" / 1e6 AS "Avg (MB)", "Med B" / 1e6 AS "Med (MB)",
    "Min B" / 1e6 AS "Min (MB)", "Max B" / 1e6 AS "Max (MB)", "StdDev B" / 1e6 AS "StdDev (MB)", operation AS "Operation"
FROM (
    SELECT operation, sum(size_bytes) AS "Total B", count(*) AS "Count", {spread value=size_bytes | unit=B | prefix=}
    FROM copy
    WHERE size_bytes IS NOT NULL
    GROUP BY operation
)
ORDER BY "Total B" DESC, operation

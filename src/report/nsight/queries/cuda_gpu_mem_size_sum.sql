-- Copies and memsets, by kind: their bytes, in millions.
SELECT sum(size_bytes / 1e6) AS "Total (MB)", count(*) AS "Count",
    {spread value=size_bytes / 1e6 | unit=(MB) | prefix=}, operation AS "Operation"
FROM copy
WHERE size_bytes IS NOT NULL
GROUP BY operation
ORDER BY "Total (MB)" DESC, operation

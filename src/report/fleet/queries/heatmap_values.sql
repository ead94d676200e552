-- The measures of each lane and step, with the positions of these.
WITH lanes AS (
    SELECT rank, device_idx, row_number() OVER (ORDER BY rank, device_idx) - 1 AS lane
    FROM RankSummary
),
steps AS (SELECT step, row_number() OVER (ORDER BY step) - 1 AS position FROM Step)
SELECT l.lane, s.position, {MEASURES}
FROM ({measured}) AS measured
JOIN lanes AS l USING (rank, device_idx)
JOIN steps AS s USING (step)

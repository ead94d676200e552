-- The steps whose collectives are matched: all of them, or evenly chosen ones, so that there are
-- about 20 million rows at most.
WITH size AS (
  SELECT CAST(ceil(sum(collectives) / 20000000.0) AS BIGINT) AS stride FROM Lane
)
SELECT s.step, s.number
FROM (SELECT step, CAST(row_number() OVER (ORDER BY step) AS BIGINT) - 1 AS number FROM Step) AS s
CROSS JOIN size
WHERE s.number % greatest(size.stride, 1) = 0

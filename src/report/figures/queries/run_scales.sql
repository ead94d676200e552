-- Where the colors of each measure begin and end: ten robust standard deviations below and above its median, but not beyond its
-- smallest and largest value. What deviates from zero to both sides has both ends at the same distance.
WITH measures AS (
    UNPIVOT (SELECT CAST(COLUMNS(* EXCLUDE (rank, device_idx, step)) AS DOUBLE) FROM ({measured}))
    ON COLUMNS(*)
    INTO NAME measure VALUE value
),
centers AS (
    SELECT measure, median(value) AS center, min(value) AS lowest, max(value) AS highest
    FROM measures
    GROUP BY measure
),
reaches AS (
    SELECT measure, 10 * 1.4826 * median(abs(value - center)) AS reach
    FROM measures
    JOIN centers USING (measure)
    GROUP BY measure
),
ends AS (
    SELECT measure, CASE WHEN reach > 0 THEN greatest(lowest, center - reach) ELSE lowest END AS low,
        CASE WHEN reach > 0 THEN least(highest, center + reach) ELSE highest END AS high
    FROM centers
    JOIN reaches USING (measure)
)
SELECT measure, CASE measure WHEN 'excess' THEN -greatest(abs(low), abs(high)) ELSE low END AS low_ns,
    CASE measure WHEN 'excess' THEN greatest(abs(low), abs(high)) ELSE high END AS high_ns
FROM ends

-- Steps of both sides by their start, and which are left out as the program warms up: the first ones, as long as
-- they take longer than the median by 3 standard deviations and by a tenth; at most half.
side_step AS (
    SELECT 'a' AS side, *
    FROM a_step
    UNION ALL
    SELECT 'b', *
    FROM b_step
),
limited AS (
    SELECT side, count(*) AS steps,
        median("step time") + greatest(3 * 1.4826 * mad("step time"), 0.1 * median("step time")) AS most_ns
    FROM side_step
    GROUP BY side
),
judged_step AS (
    SELECT s.side, s.id, s.devices, s."step time" AS step_ns, steps >= 4 AND
        row_number() OVER earlier <= steps // 2 AND bool_and(s."step time" > most_ns) OVER earlier AS is_left_out
    FROM side_step s
    JOIN limited USING (side)
    WINDOW earlier AS (PARTITION BY s.side ORDER BY s.start, s.id ROWS UNBOUNDED PRECEDING)
),
kept AS (SELECT side, count(*) AS steps FROM judged_step WHERE NOT is_left_out GROUP BY side),
basis AS (SELECT count(*) = 2 AS is_per_step FROM kept)

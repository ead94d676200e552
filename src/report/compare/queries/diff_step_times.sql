-- Steps of both sides, by position.
WITH {compared_steps}
SELECT side, row_number() OVER (PARTITION BY side ORDER BY start, id) - 1 AS position, "step time" AS step_ns
FROM side_step
ORDER BY side, position

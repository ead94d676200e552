-- The step time of both sides, over the steps that count.
WITH {compared_rows}
SELECT any_value(d.a) AS a_ns, any_value(d.b) AS b_ns, any_value(d.difference) AS difference_ns,
    any_value(d.ratio) AS ratio, any_value(d.ratio) - 1 AS change,
    median(step_ns) FILTER (side = 'a') AS median_a_ns, median(step_ns) FILTER (side = 'b') AS median_b_ns
FROM diff_row d
CROSS JOIN judged_step s
WHERE d.name = 'step time' AND NOT s.is_left_out

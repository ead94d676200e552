-- Steps and devices of both sides.
WITH {compared_steps}
SELECT d.side, count(s.id) AS steps, count(s.id) FILTER (is_left_out) AS left_out, any_value(d.count) AS devices
FROM (SELECT 'a' AS side, count FROM a_device UNION ALL SELECT 'b', count FROM b_device) d
LEFT JOIN judged_step s ON s.side = d.side
GROUP BY d.side
ORDER BY d.side

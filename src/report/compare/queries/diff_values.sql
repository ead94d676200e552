-- What each row has in each step that counts, per device: what is tested.
WITH {compared_rows},
step_sum AS (
    SELECT r.kind, r.matched, r.match_key, p.side, p.known_step, sum(p.amount / p.devices) AS amount
    FROM placed p
    JOIN matched_row r USING (kind, side, name, layer, shape)
    WHERE p.is_kept
    GROUP BY ALL
)
SELECT d.name, d.layer, d.shape, d.matched, s.side, s.id AS step, coalesce(v.amount, 0) AS value
FROM diff_row d
CROSS JOIN judged_step s
LEFT JOIN step_sum v ON v.kind = d.kind AND v.matched = d.matched AND v.match_key = d.match_key AND
    v.side = s.side AND v.known_step = s.id
WHERE d.is_in_steps AND NOT s.is_left_out
ORDER BY ALL

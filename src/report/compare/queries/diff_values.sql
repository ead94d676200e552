-- What each row has in each step that counts, per device: what is tested.
WITH {compared_rows}
SELECT d.name, d.layer, d.shape, d.matched, s.side, s.id AS step,
    coalesce(sum(p.amount / p.devices) FILTER (r.name IS NOT NULL), 0) AS value
FROM diff_row d
CROSS JOIN judged_step s
LEFT JOIN placed p ON p.kind = d.kind AND p.side = s.side AND p.known_step = s.id
LEFT JOIN matched_row r ON r.kind = d.kind AND r.matched = d.matched AND r.match_key = d.match_key AND
    r.side = p.side AND r.name = p.name AND r.layer = p.layer AND r.shape = p.shape
WHERE d.is_in_steps AND NOT s.is_left_out
GROUP BY ALL
ORDER BY ALL

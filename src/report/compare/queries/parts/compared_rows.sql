-- Rows of both sides: matched by all that distinguishes them, then without shapes, then as the names that are
-- alike say; and compared, per step and device, or of the whole captures where nothing of a row is in a step.
{compared_steps},
side_value AS (
    SELECT 'a' AS side, *
    FROM a_value
    UNION ALL
    SELECT 'b', *
    FROM b_value
),
placed AS (
    SELECT v.*, s.id AS known_step, NOT s.is_left_out AS is_kept,
        CASE WHEN kind = 'steps' THEN 1 ELSE s.devices END AS devices
    FROM side_value v
    LEFT JOIN judged_step s ON s.side = v.side AND s.id = v.step
    WHERE kind <> 'steps' OR (step IS NOT NULL) = (SELECT is_per_step FROM basis)
),
side_row AS (
    SELECT kind, side, name, layer, shape, sum(count) AS total_count, sum(amount) AS total,
        sum(inclusive) AS inclusive, bool_or(is_communication) AS is_communication,
        count(known_step) > 0 AS is_in_steps, sum(count / devices) FILTER (is_kept) AS step_count,
        sum(amount / devices) FILTER (is_kept) AS step_amount
    FROM placed
    GROUP BY ALL
),
exact AS (SELECT kind, name, layer, shape FROM side_row GROUP BY ALL HAVING count(*) = 2),
reshaped AS (
    SELECT kind, name, layer
    FROM side_row
    ANTI JOIN exact USING (kind, name, layer, shape)
    GROUP BY ALL
    HAVING count(DISTINCT side) = 2
),
matched_row AS (
    SELECT r.*, CASE
        WHEN exact.kind IS NOT NULL THEN 'exact'
        WHEN reshaped.kind IS NOT NULL THEN 'shapes differ'
        WHEN alike.number IS NOT NULL THEN 'names alike'
        ELSE 'none'
    END AS matched, CASE matched
        WHEN 'exact' THEN [r.name, r.layer, r.shape]
        WHEN 'shapes differ' THEN [r.name, r.layer]
        WHEN 'names alike' THEN [alike.number::VARCHAR]
        ELSE [r.side, r.name, r.layer, r.shape]
    END AS match_key
    FROM side_row r
    LEFT JOIN exact USING (kind, name, layer, shape)
    LEFT JOIN reshaped ON reshaped.kind = r.kind AND reshaped.name = r.name AND reshaped.layer = r.layer
    LEFT JOIN alike ON alike.kind = r.kind AND alike.side = r.side AND alike.name = r.name AND
        alike.layer = r.layer AND alike.shape = r.shape
),
summed AS (
    SELECT kind, matched, match_key, first(name ORDER BY {largest_first}) AS name,
        first(layer ORDER BY {largest_first}) AS layer, CASE
            WHEN matched = 'exact' OR count(*) FILTER (side = 'b') = 1 OR max(side) = 'a' AND count(*) = 1
                THEN first(shape ORDER BY {largest_first})
            ELSE ''
        END AS shape, first(is_communication ORDER BY {largest_first}) AS is_communication,
        bool_or(is_in_steps AND (SELECT is_per_step FROM basis)) AS is_in_steps, {side_sums side=a},
        {side_sums side=b}
    FROM matched_row
    GROUP BY kind, matched, match_key
),
diff_row AS (
    SELECT *, CASE
        WHEN kind <> 'steps' OR a IS NOT NULL AND b IS NOT NULL THEN coalesce(b, 0) - coalesce(a, 0)
    END AS difference, CASE WHEN a > 0 THEN coalesce(b, 0) / a END AS ratio
    FROM (SELECT *, {side_figures side=a}, {side_figures side=b} FROM summed)
)

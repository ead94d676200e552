-- Why the sides are not comparable: other devices, or less than half of the time of one of them in operators
-- and in kernels that both have; on hosts alone, in operators of the host.
WITH {compared_rows},
device AS (
    SELECT a.count AS count_a, b.count AS count_b, a.name AS name_a, b.name AS name_b
    FROM a_device a, b_device b
),
common AS (
    SELECT kind, sum(total_a) FILTER (matched <> 'none') / nullif(sum(total_a), 0) AS a,
        sum(total_b) FILTER (matched <> 'none') / nullif(sum(total_b), 0) AS b
    FROM diff_row
    WHERE total_a > 0 OR total_b > 0
    GROUP BY kind
),
known AS (
    SELECT coalesce(a, 0) AS a, coalesce(b, 0) AS b,
        CASE kind WHEN 'host' THEN 'host operators' ELSE kind END AS noun,
        list_position(['operators', 'kernels', 'host'], kind) AS place
    FROM common
    WHERE EXISTS (SELECT 1 FROM diff_row d WHERE d.kind = common.kind AND total_a > 0) AND
        EXISTS (SELECT 1 FROM diff_row d WHERE d.kind = common.kind AND total_b > 0)
)
SELECT CASE
    WHEN (count_a > 0) <> (count_b > 0) THEN 'Only ' || CASE WHEN count_a > 0 THEN 'A' ELSE 'B' END || ' has devices.'
    ELSE 'The devices differ: A ran on ' || name_a || ', B on ' || name_b || '.'
END AS text
FROM device
WHERE (count_a > 0) <> (count_b > 0) OR name_a <> '' AND name_b <> '' AND name_a <> name_b
UNION ALL
SELECT 'The numbers of devices differ: A has ' || count_a || ', B has ' || count_b || '.'
FROM device
WHERE count_a <> count_b AND count_a > 0 AND count_b > 0
UNION ALL
SELECT first(printf('The programs differ: %.0f %% of A''s and %.0f %% of B''s time in %s is in %s that both have.', 100 * a,
    100 * b, noun, noun) ORDER BY place)
FROM known
WHERE place < 3 OR (SELECT count(*) FROM known) = 1
HAVING max(least(a, b)) < 0.5

-- Rows of a kind of both sides, compared.
WITH {compared_rows}
SELECT name, layer, shape, matched, a, b, difference, ratio, count_a, count_b, total_a, total_b, total_count_a,
    total_count_b, inclusive_a, inclusive_b
FROM diff_row
ORDER BY abs(difference) DESC NULLS LAST, name, layer, shape, matched

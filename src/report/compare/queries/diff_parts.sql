-- Parts that the step time consists of, and how far rows that do their work explain their differences.
WITH {compared_rows},
told(part, name) AS (
    VALUES ('computation', 'computation in 16 bits'), ('computation', 'computation in 32 bits'),
        ('computation', 'other computation'), ('exposed collectives', 'exposed collectives'),
        ('copies', 'copies on and between devices'), ('copies', 'copies to the host'),
        ('copies', 'copies from the host'), ('input wait', 'input wait'), ('host computation', 'host computation'),
        ('kernel launch', 'kernel launch'), ('compilation', 'compilation'), ('other', 'other')
),
part AS (
    SELECT part, sum(a) AS a_ns, sum(b) AS b_ns, sum(difference) AS difference_ns
    FROM told
    JOIN diff_row USING (name)
    WHERE kind = 'steps'
    GROUP BY part
),
cause AS (
    SELECT *, row_number() OVER (PARTITION BY kind ORDER BY abs(difference) DESC, name, layer, shape) AS rank
    FROM diff_row
    WHERE is_in_steps AND (kind = 'collectives' OR kind IN ('operators', 'kernels', 'copies') AND NOT is_communication)
),
explained AS (
    SELECT kind, sum(difference) AS rows_ns, coalesce(sum(difference) FILTER (rank > 6), 0) AS others_ns
    FROM cause
    GROUP BY kind
)
SELECT part, a_ns, b_ns, difference_ns, others_ns, difference_ns - rows_ns AS rest_ns
FROM part
LEFT JOIN explained ON kind = CASE part
    WHEN 'computation'
        THEN CASE WHEN EXISTS (SELECT 1 FROM cause WHERE kind = 'kernels') THEN 'kernels' ELSE 'operators' END
    WHEN 'exposed collectives' THEN 'collectives'
    WHEN 'copies' THEN 'copies'
END

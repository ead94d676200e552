-- Positions of lanes in the heat map, in an order that was asked for.
WITH numbered AS (SELECT *, row_number() OVER (ORDER BY rank, device_idx) - 1 AS lane FROM {lanes_table})
SELECT lane
FROM numbered
ORDER BY {ORDER}

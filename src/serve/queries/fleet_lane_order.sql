-- Positions of lanes in the heat map, in an order that was asked for.
SELECT by_rank AS lane
FROM ({ordered_lane})
ORDER BY by_{ORDER}

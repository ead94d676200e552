-- Sums over the rows of a side.
sum(total) FILTER (side = '{side}') AS total_{side}, sum(total_count) FILTER (side = '{side}') AS total_count_{side},
    sum(inclusive) FILTER (side = '{side}') AS inclusive_{side},
    coalesce(sum(step_amount) FILTER (side = '{side}'), 0) AS step_amount_{side},
    coalesce(sum(step_count) FILTER (side = '{side}'), 0) AS step_count_{side}

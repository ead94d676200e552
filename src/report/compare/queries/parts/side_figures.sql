-- Figures of a side per step, where they are; none where the side does not have the row.
CASE
    WHEN is_in_steps AND total_{side} IS NOT NULL
        THEN step_amount_{side} / (SELECT steps FROM kept WHERE side = '{side}')
    ELSE total_{side}
END AS {side}, CASE
    WHEN is_in_steps AND total_{side} IS NOT NULL
        THEN step_count_{side} / (SELECT steps FROM kept WHERE side = '{side}')
    ELSE total_count_{side}
END AS count_{side}

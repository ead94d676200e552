-- Share of steps that TPUs wait for infeed.
CASE
    WHEN (SELECT kind FROM machine) = 'TPU' THEN
        {one_digit value={function}(100.0 * infeed_ns / nullif(step_ns, 0))}
END AS infeed_percent_{name}

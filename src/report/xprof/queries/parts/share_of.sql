-- Share of a part of the step time.
100.0 * sum({part}_ns) / nullif(sum(step_ns), 0) AS {part}_percent

-- shares, one row: shares of step time, as input_percent; step_count is 0 without steps.
shares AS (
    SELECT count(*) AS step_count, (SELECT count(*) FROM Step) AS known_count,
        quantile_cont(step_ns, 0.5) / 1e6 AS step_ms, avg(step_ns) / 1e6 AS mean_ms,
        min(step_ns) / 1e6 AS least_ms, max(step_ns) / 1e6 AS most_ms, {share_of part=compute},
        {share_of part=between}, {share_of part=collectives}, {share_of part=host}, {share_of part=launch},
        {share_of part=input}, {share_of part=output}, {share_of part=compile}, {share_of part=other},
        100.0 * sum(compute_16_ns) / nullif(sum(compute_ns), 0) AS half_percent,
        100.0 * sum(compute_32_ns) / nullif(sum(compute_ns), 0) AS single_percent
    FROM step_part
)

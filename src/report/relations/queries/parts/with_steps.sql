-- The rows of {table} with the step they belong to, or, where that is not known as their launch is not, the
-- step in whose time they begin (see step_window). Rows whose step is known need no sorting by time.
(
    SELECT *, step_id AS step
    FROM {table}
    WHERE step_id IS NOT NULL
    UNION ALL
    SELECT alone.*, CASE WHEN start_ts < window_end THEN window_step END AS step
    FROM (SELECT * FROM {table} WHERE step_id IS NULL) alone
    ASOF LEFT JOIN step_window ON alone.start_ts >= window_start
)

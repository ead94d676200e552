-- Share of a memory's peak bandwidth.
CASE WHEN timed_ns IS NOT NULL THEN coalesce(({bytes}) * 1e9 / nullif(timed_ns, 0) / nullif({peak}, 0), 0) END

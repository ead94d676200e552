-- The part of a critical path that a link of it takes.
(end_ns - start_ns) / nullif(max(end_ns) OVER (PARTITION BY step) - min(start_ns) OVER (PARTITION BY step), 0)

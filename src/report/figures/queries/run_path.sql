-- Critical paths of steps that were replayed.
SELECT *, end_ns - start_ns AS length_ns, {path_share} AS share
FROM CriticalPath

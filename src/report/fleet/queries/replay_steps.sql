-- Steps that are replayed, and for whom.
SELECT step, role, rank, device_idx
FROM ReplayStep
ORDER BY step, role, rank, device_idx

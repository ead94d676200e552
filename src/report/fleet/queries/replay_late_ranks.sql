-- Lanes whose late steps are replayed.
SELECT DISTINCT rank, device_idx
FROM ReplayStep
WHERE role = 'late'
ORDER BY rank, device_idx

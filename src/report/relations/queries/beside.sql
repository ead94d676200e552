-- Lanes of what CUPTI reports for a process and not for a thread.
SELECT id
FROM Track
WHERE role = 'async' AND name IN ('CUDA synchronization', 'CUPTI overhead', 'CUDA memory', 'GPU windows')

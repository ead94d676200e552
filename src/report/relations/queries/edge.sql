-- How much work is under way, as changes at the starts and ends of work.
SELECT instance_id, device_idx, category, is_nccl, is_collective, start_ts AS ts, 1 AS change
FROM work
UNION ALL
SELECT instance_id, device_idx, category, is_nccl, is_collective, end_ts, -1
FROM work

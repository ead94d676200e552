-- Traffic of HBM by its cause.
SELECT rank, cause, bytes, bytes / nullif(sum(bytes) OVER (PARTITION BY rank), 0) AS share
FROM (
    SELECT rank, 'Read' AS cause, hbm_read_bytes - spill_reload_bytes AS bytes
    FROM Summary
    UNION ALL
    SELECT rank, 'Spill reload', spill_reload_bytes
    FROM Summary
    UNION ALL
    SELECT rank, 'Written', hbm_write_bytes - spill_save_bytes
    FROM Summary
    UNION ALL
    SELECT rank, 'Spill save', spill_save_bytes
    FROM Summary
)

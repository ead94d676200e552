-- The length of a slice of time, for joining by slices.
SELECT greatest((max(end_ts) - min(start_ts)) // 4096, 1) AS ns
FROM span

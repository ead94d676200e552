-- peak: where most memory is in use, the last time, which is XProf's peak.
peak AS (
    SELECT m.*, stack + heap AS used
    FROM memory m
    JOIN (
        SELECT memory_id, max({bytes_in_use_first} + position) % 1099511627776 AS position
        FROM memory
        GROUP BY memory_id
    ) USING (memory_id, position)
)

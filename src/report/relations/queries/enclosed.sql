-- Calls that launched work and the ranges around them, on the same thread. Joined by slices of time, as all
-- ranges and calls of a thread are too many pairs.
SELECT s.id AS span_id, c.call_id
FROM (
    SELECT id, track_id, start_ts, end_ts, unnest(range(start_ts // ns, end_ts // ns + 1)) AS slice
    FROM span, slice
) s
JOIN (
    SELECT DISTINCT call_id, call_track, call_start, call_start // ns AS slice
    FROM launched, slice
) c ON c.call_track = s.track_id AND c.slice = s.slice AND c.call_start >= s.start_ts AND c.call_start <
    s.end_ts

-- How the times of each lane become times of the run: aligned = base_ns + rate * ts, relative to
-- Run.origin_ns.
SELECT l.instance, l.rank, l.device_idx, l.program,
  CAST(l.epoch_ns AS DOUBLE) + coalesce(c.offset_ns, 0)
    + coalesce(c.drift_ppm, 0) * 1e-6 * CAST(l.epoch_ns - (coalesce(c.reference_ns, r.origin_ns) - r.origin_ns) AS DOUBLE) AS base_ns,
  1 + coalesce(c.drift_ppm, 0) * 1e-6 AS rate
FROM Lane AS l
CROSS JOIN Run AS r
LEFT JOIN Clock AS c ON c.instance = l.instance

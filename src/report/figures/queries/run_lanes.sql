-- Lanes over all their steps.
SELECT *, device_idx AS device
FROM ({ordered_lane})

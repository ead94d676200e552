-- Copies and memsets on streams of devices, by name.
WITH {lane_event}
{ranked_events self=duration_ps / 1e3 | which=source_role = 'device' AND lane_role = 'stream' AND id IN (SELECT id FROM GpuCopy)}

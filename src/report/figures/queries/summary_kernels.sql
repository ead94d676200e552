-- Kernels, by name: what ran on streams of devices but copies and memsets.
WITH {lane_event}
{ranked_events self=duration_ps / 1e3 | which=source_role = 'device' AND lane_role = 'stream' AND id NOT IN (SELECT id FROM GpuCopy)}

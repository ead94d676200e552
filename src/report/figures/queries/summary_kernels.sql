-- What ran on streams of devices: kernels, copies and memsets, by name.
WITH {lane_event}
{ranked_events self=duration_ps / 1e3 | which=source_role = 'device' AND lane_role = 'stream'}

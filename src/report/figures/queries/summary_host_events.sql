-- Events of hosts, by name.
WITH {lane_event}
{ranked_events self=self_ns | which=source_role = 'host'}

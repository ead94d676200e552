-- Groups of lanes.
{lane_group}

-- Groups of lanes that behave alike.
{lane_group}

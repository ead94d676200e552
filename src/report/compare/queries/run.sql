-- What the run is: ranks, world size, device, lanes.
SELECT ranks, greatest(world_size, ranks), device_name, (SELECT count(*) FROM Lane)
FROM Run

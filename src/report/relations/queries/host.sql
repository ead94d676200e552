-- Hosts of the profile, or the one that was asked for.
SELECT DISTINCT instance_id
FROM Track
WHERE {on_host column=instance_id}

-- Lanes of devices of the host that was asked for.
SELECT t.id, t.name, t.number, d.name AS device, t.instance_id,
    try_cast(regexp_extract(d.name, '([0-9]+)$', 1) AS BIGINT) AS chip
FROM Track t
JOIN Track d ON d.id = t.parent_id AND d.role = 'device'
WHERE {on_host column=t.instance_id}

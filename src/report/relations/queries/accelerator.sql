-- Devices of one kind: those that XProf would take, an accelerator if there is one.
SELECT *
FROM Device
WHERE {on_host column=instance_id}
QUALIFY {of_one_kind}

-- Devices of one kind: those that XProf would take, an accelerator if there is one.
SELECT *
FROM Device
WHERE {on_host column=instance_id}
QUALIFY kind = first_value(kind) OVER (ORDER BY list_position(['TPU', 'GPU', 'Neuron', 'other', 'CPU'], kind),
    id)

-- Devices of one kind: those that XProf would take, an accelerator if there is one. They take the time from
-- their first work to their last, or that of all their operations, where streams overlap.
SELECT *, greatest(span_ns, op_ns) AS total_ns
FROM Device
WHERE {on_host column=instance_id}
QUALIFY kind = first_value(kind) OVER (ORDER BY list_position(['TPU', 'GPU', 'Neuron', 'other', 'CPU'], kind),
    id)

-- Event types as records of Neuron Explorer.
SELECT to_json({event_type: id, name: name, display_name: display_name, args: attributes_json::JSON})
FROM EventType
WHERE id > 0
ORDER BY id

-- Tracks as records of Neuron Explorer; a label is converted back to its name.
SELECT to_json({track: id, parent: parent_id, level: kind, name: if(role = 'counter' AND
    starts_with(name, 'CPU '), substr(name, 5), name), display_name:
    if(role = 'counter' AND starts_with(name, 'CPU '), name, NULL), role: role, id: number, sort_key:
    sort_key, args: attributes_json::JSON})
FROM Track
WHERE event_table IS NULL OR event_table = 'SystemProfileEvents'
ORDER BY id

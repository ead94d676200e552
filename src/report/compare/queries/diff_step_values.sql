-- Parts of steps as rows, and for captures without steps how long devices are busy.
SELECT 'steps' AS kind, name, '' AS layer, '' AS shape, id AS step, 1 AS count, amount, NULL AS inclusive,
    false AS is_communication
FROM (
    UNPIVOT {SIDE}_step
    ON COLUMNS(* EXCLUDE (id, number, start, devices))
    INTO NAME name VALUE amount
)
UNION ALL
SELECT 'steps', part, 'whole capture', '', NULL, count, amount, NULL, false
FROM (
    UNPIVOT {SIDE}_device
    ON COLUMNS(* EXCLUDE (count, name))
    INTO NAME part VALUE amount
)
WHERE count > 0

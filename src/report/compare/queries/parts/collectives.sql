-- Collectives of a run with the kind of their communicator, its name without numbers and ranks ("mesh_tp:3
-- [0, 1]" is mesh_tp), where ranks end them together. Where an operation has many sizes, as if chosen by data, it is one row.
named AS (
    SELECT *,
        coalesce(nullif(regexp_replace(regexp_replace(communicator, '\s*[\[{(].*$', ''), '[^a-zA-Z]*[0-9]+$',
            ''), ''), 'group') || ' of ' || group_size AS layer
    FROM CollectiveMatch
    WHERE ends_together
),
sizes AS (SELECT operation, layer, count(DISTINCT bytes) AS sizes FROM named GROUP BY ALL),
collective AS (
    SELECT named.*, CASE WHEN sizes > 16 OR bytes IS NULL THEN '' ELSE format_bytes(bytes) END AS shape
    FROM named
    JOIN sizes USING (operation, layer)
)

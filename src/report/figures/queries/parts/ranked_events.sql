-- Events of a kind by name: how often, how long, and their share of the self time of all.
SELECT label AS name, sum(coalesce(occurrence_count, 1)) AS count, sum(duration_ps) / 1e3 AS total_ns,
    sum({self}) AS self_ns, min(duration_ps) / 1e3 AS min_ns, max(duration_ps) / 1e3 AS max_ns,
    sum({self}) / nullif(sum(sum({self})) OVER (), 0) AS share
FROM lane_event
WHERE {which} AND coalesce(lane_role, '') <> 'counter' AND (occurrence_count IS NOT NULL AND is_own IS NOT NULL OR NOT is_own)
GROUP BY label

-- The memory profile as XProf's JSON. 64-bit numbers are text in JSON of protocol buffers.
WITH
-- Frees take what the allocation of the same address says, if any says something: JAX's do not.
told AS (
    SELECT coalesce(bool_or(tf_op <> '' OR region <> '' OR shape <> '' OR type_number <> 0), false) AS is_any
    FROM memory
),
freed AS (
    SELECT id, before.* EXCLUDE (is_allocation)
    FROM (
        SELECT id, is_allocation,
            lag({'is_allocation': is_allocation, 'before_op': tf_op, 'before_region': region, 'before_shape':
                shape, 'before_type': type_number}) OVER (PARTITION BY memory_id, address ORDER BY position)
                AS before
        FROM memory
        WHERE (SELECT is_any FROM told)
    )
    WHERE NOT is_allocation AND before.is_allocation
), {peak_memory},
-- Of the peak's step, up to the peak.
during AS (
    SELECT f.*,
        coalesce(lag(f.is_allocation) OVER (PARTITION BY f.memory_id, f.address ORDER BY f.position), false)
            AS is_alive_before,
        lead(f.id) OVER (PARTITION BY f.memory_id, f.address ORDER BY f.position) IS NULL AS is_last
    FROM
        {filled_frees events=SELECT m.* FROM memory m JOIN peak p ON p.memory_id = m.memory_id AND m.time_ps <= p.time_ps AND m.step = p.step}
        f
),
unmapped AS (
    SELECT p.memory_id, p.step, p.stack,
        p.heap - coalesce(sum(CASE
            WHEN d.is_allocation THEN d.allocated
            WHEN d.is_alive_before THEN -d.allocated
            ELSE 0
        END), 0) AS bytes
    FROM peak p
    LEFT JOIN during d USING (memory_id)
    GROUP BY p.memory_id, p.step, p.stack, p.heap
),
special AS (
    SELECT memory_id, step, tf_op, region, bytes,
        row_number() OVER (PARTITION BY memory_id ORDER BY place) - 1 AS special_index
    FROM (
        SELECT memory_id, step, 'unused preallocated device memory' AS tf_op, 'persist/dynamic' AS region,
            bytes, 0 AS place
        FROM unmapped
        WHERE bytes > 0
        UNION ALL
        SELECT memory_id, step, 'stack', 'stack', stack, 1
        FROM unmapped
        WHERE stack > 0
    )
),
active AS (
    SELECT memory_id, allocated, requested, tf_op, region, type_number, shape, count(*) AS occurrences,
        min(position) AS position, NULL::BIGINT AS special_index
    FROM during
    WHERE is_last AND is_allocation
    GROUP BY ALL
    UNION ALL
    SELECT memory_id, bytes, bytes, tf_op, region, 0, 'unknown', 1, NULL, special_index
    FROM special
),
listed AS (
    SELECT *,
        row_number() OVER (PARTITION BY memory_id, special_index IS NULL ORDER BY allocated DESC, requested
            DESC, tf_op, region, type_number, shape) - 1 AS number,
        row_number() OVER (PARTITION BY memory_id ORDER BY allocated DESC, requested DESC, tf_op, region,
            type_number, shape) AS place
    FROM active
),
-- At most 1,000 events: the one with most memory in use of each of as many boxes.
box AS (
    SELECT memory_id, count(*) AS events, greatest(count(*) // 1000, 1) AS width,
        1000 * (greatest(count(*) // 1000, 1) + 1) - count(*) AS narrow
    FROM memory
    GROUP BY memory_id
),
chosen AS (
    SELECT memory_id,
        (1099511627776 - max({bytes_in_use_first} - position) % 1099511627776) % 1099511627776 AS position
    FROM (
        SELECT memory_id, stack, heap, position,
            CASE
                WHEN b.events <= 1000 THEN position
                WHEN position < b.width * b.narrow THEN position // b.width
                ELSE b.narrow + (position - b.width * b.narrow) // (b.width + 1)
            END AS box_number
        FROM memory
        JOIN box b USING (memory_id)
    )
    GROUP BY memory_id, box_number
),
sampled AS {filled_frees events=SELECT m.* FROM memory m JOIN chosen USING (memory_id, position)},
snapshots AS (
    SELECT memory_id, list({memory_snapshot} ORDER BY number) AS items
    FROM (
        SELECT f.*, l.number
        FROM listed l
        JOIN during f ON f.memory_id = l.memory_id AND f.position = l.position
    )
    GROUP BY memory_id
),
timeline AS (
    SELECT memory_id, list({memory_snapshot} ORDER BY position) AS items
    FROM sampled
    GROUP BY memory_id
),
actives AS (
    SELECT memory_id,
        list({'snapshotIndex': (CASE WHEN special_index IS NULL THEN number ELSE -1 END)::VARCHAR,
            'specialIndex': (coalesce(special_index, -1))::VARCHAR, 'numOccurrences': (occurrences)::VARCHAR}
            ORDER BY place) AS items
    FROM listed
    GROUP BY memory_id
),
specials AS (
    SELECT memory_id, list({allocation_metadata} ORDER BY special_index) AS items
    FROM (
        SELECT *, true AS is_allocation, bytes AS requested, bytes AS allocated, 0 AS address,
            0 AS type_number, 'unknown' AS shape
        FROM special
    )
    GROUP BY memory_id
),
lifetime AS (SELECT memory_id, coalesce(max(lifetime_peak), 0) AS bytes FROM memory GROUP BY memory_id),
summaries AS (
    SELECT memory_id,
        {'peakBytesUsageLifetime': (l.bytes)::VARCHAR, 'peakStats': {allocator_stats peak=used},
            'peakStatsTimePs': (time_ps)::VARCHAR, 'memoryCapacity': (coalesce(used + free, 0))::VARCHAR} AS item
    FROM peak
    JOIN lifetime l USING (memory_id)
),
allocators AS (
    SELECT memory_id,
        {'memoryProfileSnapshots': coalesce(s.items, []), 'profileSummary': summaries.item,
            'activeAllocations': coalesce(a.items, []), 'specialAllocations': coalesce(p.items, []),
            'sampledTimelineSnapshots': coalesce(t.items, [])} AS item
    FROM summaries
    LEFT JOIN snapshots s USING (memory_id)
    LEFT JOIN actives a USING (memory_id)
    LEFT JOIN specials p USING (memory_id)
    LEFT JOIN timeline t USING (memory_id)
),
module_run AS (
    SELECT e.name, e.start_ts * 1000 + e.start_fraction_ps AS start_ps,
        e.duration_ns * 1000 + e.duration_fraction_ps AS ps, substr(d.name, 9) AS plane,
        row_number() OVER (ORDER BY d.sort_key, d.id, e.id) - 1 AS number
    FROM SystemProfileEvents e
    JOIN Track t ON t.id = e.track_id AND t.name = 'XLA Modules'
    JOIN Track d ON d.id = t.parent_id AND d.name LIKE '/device:TPU:%'
)
SELECT json_object('memoryProfilePerAllocator', coalesce((
    SELECT json_group_object(memory_id, item)
    FROM allocators
), '{}'::JSON), 'numHosts', 1, 'memoryIds', coalesce((
    SELECT list(memory_id ORDER BY memory_id)
    FROM allocators
), []), 'version', 1, 'hloModules', coalesce((
    SELECT list({'name': name, 'startTimePs': (start_ps)::VARCHAR, 'endTimePs': (start_ps + ps)::VARCHAR,
        'id': (number)::VARCHAR, 'planeName': plane} ORDER BY number)
    FROM module_run
), []))

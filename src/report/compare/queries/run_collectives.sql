-- Transfers of collectives, and waiting in them.
WITH {collectives},
sums AS (
    SELECT operation, layer, shape, step, sum(ranks) AS count, sum(ranks * transfer_ns) AS transfer_ns,
        sum(waited_ns) AS waited_ns
    FROM collective
    GROUP BY ALL
)
SELECT operation, layer, shape, step, count, transfer_ns, NULL, false
FROM sums
UNION ALL
SELECT 'waiting in ' || operation, layer, shape, step, count, waited_ns, NULL, true
FROM sums

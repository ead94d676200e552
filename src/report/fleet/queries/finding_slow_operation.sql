-- Operations that are slow everywhere, and how much a replay without the slowness saves.
SELECT o.operation, o.communicators, o.bus_bandwidth, o.best_bandwidth, o.best_operation, o.excess_ns,
    w.saved_ns
FROM Operation AS o
LEFT JOIN WhatIf AS w ON w.kind = 'operation' AND w.operation = o.operation
WHERE o.is_slow
ORDER BY o.excess_ns DESC, o.operation

-- Slow operations of communicators, and how much a replay without the slowness saves.
SELECT c.communicator, c.operation, c.sender, c.receiver, c.bytes, c.group_size, c.machines, c.transfer_ns,
    c.usual_ns, c.peers, c.bus_bandwidth, c.matches, c.steps, w.saved_ns
FROM Communicator AS c
LEFT JOIN WhatIf AS w ON w.kind = 'communicator' AND w.communicator = c.communicator AND w.operation =
    c.operation
WHERE c.is_slow
ORDER BY (c.transfer_ns - c.usual_ns) * c.matches / c.steps DESC, c.communicator, c.operation, c.sender
LIMIT 32

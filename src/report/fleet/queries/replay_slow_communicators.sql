-- Slow operations of communicators, and how fast they are elsewhere.
SELECT communicator, operation, max(usual_ns / transfer_ns)
FROM Communicator
WHERE is_slow
GROUP BY communicator, operation
ORDER BY sum((transfer_ns - usual_ns) * matches) DESC, communicator, operation
LIMIT 8

-- What costs time.
SELECT id, rule, title, cost_ns, share
FROM Finding

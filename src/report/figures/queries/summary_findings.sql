-- What costs time.
SELECT id, rule, title, statement, cost_ns, share
FROM Finding

-- Operations of the host that provide input, by self time.
WITH {input_ops}
SELECT opName, count, total_ns / 1e6 AS timeInMs, total_ns / nullif(sum(self_ns) OVER (), 0) AS timeInPercent,
    self_ns / 1e6 AS selfTimeInMs, self_ns / nullif(sum(self_ns) OVER (), 0) AS selfTimeInPercent,
    100.0 * self_ns / nullif(sum(self_ns) OVER (), 0) AS percent, category
FROM input_op
ORDER BY self_ns DESC, opName

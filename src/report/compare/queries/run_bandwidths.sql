-- Skew and bus bandwidth of collectives, over the steps that count.
WITH {collectives}
SELECT operation, layer, shape, median(skew_ns), median(bus_bandwidth)
FROM collective
WHERE step IN (SELECT step FROM kept)
GROUP BY ALL

-- Clocks that differ most from the mean.
SELECT instance AS machine, offset_ns, drift_ppm, error_ns, samples, component
FROM Clock
ORDER BY abs(offset_ns) DESC, instance
LIMIT 8

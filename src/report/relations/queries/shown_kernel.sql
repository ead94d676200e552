-- Kernels under their names as they are recorded, symbols of C++ as names.
SELECT k.*, coalesce(s.readable, k.name) AS shown_name
FROM GpuKernel k
LEFT JOIN {readable_symbols} s ON s.symbol = k.name

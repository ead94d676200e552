-- Kernels under their names without return type, namespaces, template arguments and parameters.
SELECT k.*,
    regexp_extract(regexp_replace(replace(coalesce(s.readable, k.name), '(anonymous namespace)::', ''), '[<(].*$',
        ''), '([^: ]+) *$', 1) AS shown_name
FROM GpuKernel k
LEFT JOIN {readable_symbols} s ON s.symbol = k.name

-- Kernels under their names without return type, namespaces, template arguments and parameters.
SELECT k.*,
    regexp_extract(regexp_replace(replace(k.name, '(anonymous namespace)::', ''), '[<(].*$', ''), '([^: ]+) *$',
        1) AS shown_name
FROM GpuKernel k

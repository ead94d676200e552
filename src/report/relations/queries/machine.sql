-- One row: the kind of the devices, their peaks and their time, added up: from their first work to the end of
-- their last; of that, while they work on any stream (busy_ns) and while they do not (idle_ns). Self times of
-- operations (op_ns) are more than busy_ns where operations run beside each other.
SELECT count(*) AS devices, first(kind ORDER BY id) AS kind,
    first(coalesce(type, name, kind) ORDER BY id) AS type, first(name ORDER BY id) AS model,
    first(peak_flops ORDER BY id) AS peak_flops, first(peak_type ORDER BY id) AS peak_type,
    first(xprof_peak_flops ORDER BY id) AS xprof_peak_flops, first(hbm_bytes_per_s ORDER BY id) AS hbm_peak,
    first(sram_read_bytes_per_s ORDER BY id) AS sram_peak,
    first(cmem_read_bytes_per_s ORDER BY id) AS cmem_read_peak,
    first(cmem_write_bytes_per_s ORDER BY id) AS cmem_write_peak,
    first(vmem_read_bytes_per_s ORDER BY id) AS vmem_read_peak,
    first(vmem_write_bytes_per_s ORDER BY id) AS vmem_write_peak, sum(span_ns) AS whole_ns,
    sum(op_ns) AS op_ns, sum(busy_ns) AS busy_ns, sum(idle_ns) AS idle_ns
FROM accelerator

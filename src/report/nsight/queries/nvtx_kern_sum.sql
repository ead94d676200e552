-- Ranges by name, with the kernels launched inside them.
SELECT s.name AS "NVTX Range", 'PushPop' AS "Style", s.process_id AS "PID", s.thread_id AS "TID",
    count(DISTINCT s.id) AS "NVTX Inst", count(*) AS "Kern Inst", sum(w.duration_ns) AS "Total Time (ns)",
    {spread_ns time=w.duration_ns}, w.operation AS "Kernel Name"
{work_in_spans}
WHERE w.category = 'CUDA_KERNEL'
GROUP BY s.name, s.process_id, s.thread_id, w.operation
ORDER BY "Total Time (ns)" DESC, s.name, s.process_id, s.thread_id, w.operation

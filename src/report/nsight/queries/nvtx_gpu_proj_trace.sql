-- Each range of the host with work on the GPU launched inside it.
SELECT s.name AS "Name", min(w.start_ts) AS "Projected Start (ns)",
    max(w.end_ts) - min(w.start_ts) AS "Projected Duration (ns)", s.start_ts AS "Orig Start (ns)",
    s.duration_ns AS "Orig Duration (ns)", 'PushPop' AS "Style", s.process_id AS "PID", s.thread_id AS "TID",
    count(*) AS "NumGPUOps", s.id AS "RangeId"
{work_in_spans}
GROUP BY s.id, s.name, s.start_ts, s.duration_ns, s.process_id, s.thread_id
ORDER BY "Projected Start (ns)", "RangeId"

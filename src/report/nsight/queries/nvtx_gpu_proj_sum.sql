-- Ranges by name, from the first to the last work on the GPU launched inside them.
SELECT name AS "Range", 'PushPop' AS "Style", sum(projected_ns) AS "Total Proj Time (ns)",
    sum(duration_ns) AS "Total Range Time (ns)", count(*) AS "Range Instances",
    {spread value=projected_ns | unit=(ns) | prefix=Proj }, sum(ops) AS "Total GPU Ops",
    avg(ops) AS "Avg GPU Ops"
FROM (
    SELECT s.id, s.name, s.duration_ns, count(*) AS ops,
        max(w.end_ts) - min(w.start_ts) AS projected_ns
    {work_in_spans}
    GROUP BY s.id, s.name, s.duration_ns
)
GROUP BY name
ORDER BY "Total Proj Time (ns)" DESC, name

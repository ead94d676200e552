-- How many devices there are, and how long they are busy on average.
SELECT count(*) AS count, any_value(name) AS name, avg(span_ns), avg(busy_ns), avg(idle_ns)
FROM Device
WHERE kind <> 'CPU'

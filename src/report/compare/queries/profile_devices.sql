-- How many devices there are, and how long they are busy on average.
SELECT count(*) AS count, any_value(name) AS name, avg(span_ns) AS "time from first to last work",
    avg(busy_ns) AS "device busy", avg(idle_ns) AS "device idle"
FROM Device
WHERE kind <> 'CPU'

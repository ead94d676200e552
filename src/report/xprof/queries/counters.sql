-- Mean and range of each hardware counter.
SELECT host, device, counter, count(*) AS samples, avg(value) AS mean, min(value) AS least, max(value) AS most
FROM counter
GROUP BY ALL
ORDER BY host, device, counter

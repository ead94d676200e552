-- Samples of hardware counters, as XProf lists them.
SELECT host AS Host, chip AS Chip, lane AS Kernel, line AS Sample, lower(counter) AS Counter, value AS Value,
    description AS Description, set_name AS "Set", time_ns
FROM counter
ORDER BY host, chip, line, time_ns, counter

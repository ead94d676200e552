-- Machines with several stragglers.
SELECT instance
FROM Straggler
GROUP BY instance
HAVING count(*) > 1
ORDER BY sum(mean_excess_ns) DESC, instance
LIMIT 8

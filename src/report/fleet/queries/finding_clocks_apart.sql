-- Whether no collective connects some machines.
SELECT count(DISTINCT component) AS components, count(*) AS machines
FROM Clock
HAVING count(DISTINCT component) > 1

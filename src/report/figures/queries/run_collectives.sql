-- Collectives that ranks took part in together.
SELECT *
FROM CollectiveMatch
WHERE ranks > 1

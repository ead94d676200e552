-- Ranks of the world that are not in the dataset.
WITH added AS (SELECT ranks + (SELECT count(*) FROM DamagedRank) AS ranks, world_size FROM Run)
SELECT world_size, ranks,
    (
        SELECT list(number ORDER BY number)[1:20]
        FROM (SELECT unnest(range(world_size)) AS number FROM Run)
        WHERE number NOT IN (SELECT rank FROM Lane) AND number NOT IN (SELECT rank FROM DamagedRank)
    ) AS missing
FROM added
WHERE world_size > ranks

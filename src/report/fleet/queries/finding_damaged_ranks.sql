-- Ranks that are left out, because one of their files cannot be read.
SELECT count(*) AS ranks, list(rank ORDER BY rank)[1:20] AS numbers, min(rank) AS first_rank,
    string_agg(concat('rank ', rank, ', ', file, ': ', reason), '; ' ORDER BY rank) FILTER (position <= 5) AS
        files
FROM (SELECT *, row_number() OVER (ORDER BY rank) AS position FROM DamagedRank)
HAVING count(*) > 0

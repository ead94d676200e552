-- Ranks whose steps lack the program's numbers.
SELECT guessed_ranks, ranks
FROM Run
WHERE guessed_ranks > 0

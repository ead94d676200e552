-- Ranks whose steps have no numbers of the program.
SELECT guessed_ranks, ranks
FROM Run
WHERE guessed_ranks > 0

-- Steps over all lanes.
SELECT *
FROM Step

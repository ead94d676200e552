-- Lanes, steps, and how many pairs of these there are.
SELECT (SELECT count(*) FROM RankSummary), (SELECT count(*) FROM Step), (SELECT count(*) FROM LaneStep)

-- How much a part of a step is of a problem, by XProf's thresholds.
CASE WHEN {share} >= 15 THEN 'high' WHEN {share} >= 3 THEN 'moderate' ELSE 'no' END

-- How serious a part of a step is, by XProf's thresholds.
CASE WHEN {share} >= 15 THEN 'high' WHEN {share} >= 3 THEN 'moderate' ELSE 'no' END

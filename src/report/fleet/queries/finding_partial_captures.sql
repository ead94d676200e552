-- Lanes that do not have all steps of the run.
WITH whole AS (SELECT min(first_step) AS first_step, max(last_step) AS last_step FROM Lane)
SELECT count(*) AS lanes, min(l.rank) AS rank,
    max_by(l.first_step, l.first_step - w.first_step + w.last_step - l.last_step) AS first_step,
    max_by(l.last_step, l.first_step - w.first_step + w.last_step - l.last_step) AS last_step,
    max_by(l.rank, l.first_step - w.first_step + w.last_step - l.last_step) AS worst_rank,
    list(l.rank ORDER BY l.rank)[1:20] AS ranks, min(w.first_step) AS run_first_step,
    max(w.last_step) AS run_last_step
FROM Lane AS l
CROSS JOIN whole AS w
WHERE l.first_step > w.first_step OR l.last_step < w.last_step
HAVING count(*) > 0

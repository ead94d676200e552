-- A sentence about a part of the steps, where it is large enough to matter.
CASE WHEN {part}_percent >= 3 THEN printf('{what} %.1f %% of the step time.', {part}_percent) ELSE '' END

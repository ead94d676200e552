-- What changes would save.
SELECT change, steps, before_ns, after_ns, saved_ns, saved_ns / nullif(before_ns, 0) AS saved_share, replay_error_ns
FROM WhatIf
ORDER BY saved_ns DESC, change

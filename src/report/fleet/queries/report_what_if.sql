-- What changes would save.
SELECT change, steps, before_ns, after_ns, saved_ns, saved_ns / before_ns AS saved_share, replay_error_ns
FROM WhatIf
ORDER BY saved_ns DESC, change

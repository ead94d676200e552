-- Whether an operation's bytes are counted: once, at the start of what a TPU does beside its operations.
NOT (is_beside AND category NOT LIKE '%-start' AND category NOT IN ('send', 'recv'))

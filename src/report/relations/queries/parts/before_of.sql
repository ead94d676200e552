-- The scope of an operation's path: all but its last name.
coalesce(nullif(regexp_extract({path}, '^(.*)/[^/]+$', 1), ''), '')

-- The last name of an operation's path; NULL if there is none.
nullif(regexp_extract({path}, '[^/]+$'), '')

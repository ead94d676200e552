-- Whether a row is of the host that was asked for.
coalesce({column} = (SELECT host FROM option), true)

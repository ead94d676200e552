-- Mean over steps in ms, of TPUs alone.
CASE
    WHEN (SELECT kind FROM machine) = 'TPU' THEN printf('%.2f', coalesce(avg({value})::DOUBLE / 1e6, 0))
END AS {name}

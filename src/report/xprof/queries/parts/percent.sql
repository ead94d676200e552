-- A percentage as XProf writes it.
printf('%.1f%%', coalesce(({value})::DOUBLE, 0))

-- A number as XProf writes it: one digit behind the point.
printf('%.1f', coalesce(({value})::DOUBLE, 0))

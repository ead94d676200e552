-- A number as XProf writes it: six digits.
printf('%.6g', coalesce(({value})::DOUBLE, 0))

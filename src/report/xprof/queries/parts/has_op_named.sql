-- Whether an operation of the framework has a word in its name.
coalesce(bool_or(framework_op LIKE '%{pattern}%'), false)

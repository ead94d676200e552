-- Self time of a category of input operations, in us.
printf('%.3f', coalesce(sum(self_ns) FILTER (category = '{kind}'), 0) / 1e3)

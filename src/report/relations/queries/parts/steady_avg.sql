-- The mean of fractions, as steady_sum.
avg({of} ORDER BY {of})

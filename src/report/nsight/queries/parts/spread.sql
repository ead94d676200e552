-- Spread of {value}, a whole number, with columns titled with {prefix} and {unit}. Sums of whole numbers are
-- exact; the deviation adds fractions, in a fixed order so that its last digits are always the same.
avg({value}) AS "{prefix}Avg {unit}", median({value}) AS "{prefix}Med {unit}",
    min({value}) AS "{prefix}Min {unit}", max({value}) AS "{prefix}Max {unit}",
    coalesce(stddev_samp({value} ORDER BY {value}), 0) AS "{prefix}StdDev {unit}"

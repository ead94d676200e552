-- Spread of {value}, with columns titled with {prefix} and {unit}.
avg({value}) AS "{prefix}Avg {unit}", median({value}) AS "{prefix}Med {unit}",
    min({value}) AS "{prefix}Min {unit}", max({value}) AS "{prefix}Max {unit}",
    coalesce(stddev_samp({value}), 0) AS "{prefix}StdDev {unit}"

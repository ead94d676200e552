-- Spread of {value}, a whole number, with columns titled with {prefix} and {unit}. Sums of whole numbers are
-- exact; the deviation adds fractions, in a fixed order so that its last digits are always the same;
-- a single value deviates by 0, as in Nsight Systems.
avg({value}) AS "{prefix}Avg {unit}", median({value}) AS "{prefix}Med {unit}",
    min({value}) AS "{prefix}Min {unit}", max({value}) AS "{prefix}Max {unit}",
    CASE count({value}) WHEN 1 THEN 0 ELSE stddev_samp({value} ORDER BY {value}) END AS "{prefix}StdDev {unit}"

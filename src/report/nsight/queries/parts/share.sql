-- Share and total of a column of nanoseconds.
100.0 * sum({time}) / nullif(sum(sum({time})) OVER (), 0) AS "Time (%)", sum({time}) AS "Total Time (ns)"

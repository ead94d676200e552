-- Spread of a column of nanoseconds.
{spread value={time} | unit=(ns) | prefix=}

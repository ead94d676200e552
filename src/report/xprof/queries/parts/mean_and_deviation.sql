-- Mean and standard deviation over steps, in ms.
{one_digit value=avg({column}) / 1e6} AS {name}_avg,
    {one_digit value=stddev_samp({column}) / 1e6} AS {name}_sdv

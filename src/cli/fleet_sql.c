/*
 * kymo fleet sql
 */
#include "cli/fleet_options.h"

#include <stdio.h>

int fleet_sql(const struct fleet_options *options)
{
    fprintf(stderr, "%s: %s: is not there yet\n", program_name(), options->dataset);
    return EXIT_FAILED;
}

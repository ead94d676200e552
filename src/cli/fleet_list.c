/*
 * kymo fleet list
 */
#include "cli/fleet_options.h"

#include <stdio.h>

int fleet_list(const struct fleet_options *options)
{
    fprintf(stderr, "%s: %s: is not there yet\n", program_name(), options->dataset);
    return EXIT_FAILED;
}

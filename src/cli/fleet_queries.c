/*
 * kymo fleet queries: prints the queries of the analysis.
 */
#include "cli/fleet_options.h"
#include "report/fleet/fleet.h"

int fleet_print_queries(const struct fleet_options *options)
{
    struct output out;
    struct error err;
    bool ok = output_open(&out, options->file, &err);
    if (ok) {
        fleet_queries(&out);
        ok = output_commit(&out, &err);
    }
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

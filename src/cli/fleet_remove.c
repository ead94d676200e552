/*
 * kymo fleet remove: removes a run, or one of its ranks, from a dataset.
 */
#include "cli/fleet_options.h"
#include "report/fleet/fleet.h"

#include <stdio.h>

int fleet_remove(const struct fleet_options *options)
{
    struct error err;
    size_t removed;
    if (!options->run) {
        fprintf(stderr, "%s fleet remove: name the run to remove with --run\n", program_name());
        return EXIT_USAGE;
    }
    bool is_all = options->rank == NOT_GIVEN;
    int64_t rank = is_all || options->rank > INT32_MAX ? -1 : (int64_t)options->rank;
    if (!is_all && rank < 0) {
        fprintf(stderr, "%s fleet remove: --rank must be at most %d\n", program_name(), INT32_MAX);
        return EXIT_USAGE;
    }
    if (!dataset_remove(options->dataset, options->run, rank, &removed, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    printf("Removed %zu rank%s of run \"%s\"\n", removed, removed == 1 ? "" : "s", options->run);
    return finish_printing();
}

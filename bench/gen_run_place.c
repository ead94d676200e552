/*
 * Where a synthetic rank is in its dataset, escaped as for any other. A file of its own, as names
 * of the model are others in the program.
 */
#include "report/fleet/place.h"

#include <stdio.h>

char *rank_directory(const char *run, uint64_t machine, uint64_t rank);

char *rank_directory(const char *run, uint64_t machine, uint64_t rank)
{
    char instance[32];
    snprintf(instance, sizeof instance, "node%llu", (unsigned long long)machine);
    const struct rank_place place = {.run = run, .instance = instance, .rank = (int64_t)rank};
    return place_path(&place);
}

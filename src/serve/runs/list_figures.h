/*
 * Inside runs: what the list of profiles says about one, from its stored summary and index.
 */
#ifndef KYMO_SERVE_RUNS_LIST_FIGURES_H
#define KYMO_SERVE_RUNS_LIST_FIGURES_H

#include "base/wire/wire.h"

struct list_figures {
    char *format;
    char *dropped; /* a note on dropped events, or NULL */
    char *model;   /* of its first device that has one, or NULL */
    char *step_ns; /* median time from the start of a step to that of the next: digits, or NULL */
    char *finding; /* the costliest, as JSON, or NULL */
    uint64_t devices, events;
    int64_t duration_ps;
};

struct list_figures figures_read(const char *directory);
struct list_figures figures_copy(const struct list_figures *figures);
void figures_free(struct list_figures *figures);

#endif

/*
 * Inside runs: what the list of profiles says about one, from its stored summary: the figures that
 * summary.sql finds, and the costliest finding.
 */
#ifndef KYMO_SERVE_RUNS_LIST_FIGURES_H
#define KYMO_SERVE_RUNS_LIST_FIGURES_H

#include "base/wire/wire.h"

struct list_figures {
    char *format;
    char *dropped;                    /* a note on dropped events, or NULL */
    char *model;                      /* of its first device that has one, or NULL */
    char *events, *span_ns, *step_ns; /* digits, or NULL */
    char *finding;                    /* the costliest, as JSON, or NULL */
    bool has_devices;                 /* the summary says how many */
    uint64_t devices;
};

struct list_figures figures_read(const char *directory);
struct list_figures figures_copy(const struct list_figures *figures);
void figures_free(struct list_figures *figures);

#endif

/*
 * runner: executes a NEFF through a runtime library, libnrt.so.1, with given inputs, and takes
 * profiles of it. Workers, the ranks of collectives, are processes with a core each, on one node or
 * several. Only the published interface is used, so that any runtime will do.
 */
#ifndef KYMO_NEURON_RUN_RUNNER_RUNNER_H
#define KYMO_NEURON_RUN_RUNNER_RUNNER_H

#include "neuron/run/runner/library.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum runner_mode { RUNNER_SYNC, RUNNER_ASYNC, RUNNER_ASYNC_WAIT };
enum runner_rewrite { REWRITE_NONE, REWRITE_ALIAS, REWRITE_ALL };

struct runner_input {
    const char *name, *path; /* .npy, or the tensor's bytes */
};

struct runner_inputs {
    const struct runner_input *items;
    size_t count;
};

struct runner_options {
    const char *library; /* NULL: Kymo's own */
    const char *neff, *session_file;
    uint64_t executions;
    uint64_t profile_nth; /* 0: none */
    bool trace;           /* the system trace instead of device profiles */
    const char *const *event_filters;
    size_t event_filter_count;
    enum runner_mode mode;
    bool ignore_errors;
    bool dge_notifications;
    bool single_io;
    uint64_t single_io_threshold;
    bool save_raw, save_npy;
    uint64_t save_nth; /* 0: every one */
    bool check_determinism;
    enum runner_rewrite rewrite;
    uint32_t workers_per_node, worker_count, worker_start; /* 0: as the NEFF says */
    int64_t profile_rank;                                  /* -1: all */
    const struct runner_inputs *inputs; /* one entry for all, or of each worker of this
                                           node, or of all nodes */
    size_t input_sets;
    /* Called with a line for the user. */
    void (*say)(const char *line);
};

/* Runs all executions. err: the first thing that failed. */
bool runner_run(const struct runner_options *options, struct error *err);

/* Starts the runtime's system trace of these event types, or of all if count is 0; on the first
 * `cores` cores even if a variable excludes them. */
bool runner_start_trace(const struct library *library, const char *const *types, size_t count,
                        uint32_t cores, struct error *err);

/* The event types that the runtime knows; free each and the list with free(). */
bool runner_event_types(const char *library, const char ***types, size_t *count, struct error *err);

#endif

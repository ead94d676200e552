/*
 * A child process that imports a capture with `kymo view --ingest-only`; internal to serve.
 */
#ifndef KYMO_SERVE_CHILDREN_H
#define KYMO_SERVE_CHILDREN_H

#include "serve/server.h"

#include <sys/types.h>

struct child_task {
    const char *source, *name, *data_path;
    const char *folder; /* for its log file */
    bool force;
    unsigned threads;
};

struct child {
    pid_t id;
    int progress; /* pipe; the child writes lines with its percentage */
    int status;
    char *log;
};

bool child_start(struct child *child, const struct child_task *task, struct error *err);
/* Updates *percent without blocking; false once the child has exited. */
bool child_poll(struct child *child, unsigned *percent);
/* Sends SIGTERM. */
void child_terminate(const struct child *child);
/* Returns why the exited child failed (free with mem_free) or NULL, and releases the child. */
char *child_failure(struct child *child);

#endif

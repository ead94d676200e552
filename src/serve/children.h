/*
 * Inside serve: a child process that makes a profile, as `kymo view --ingest-only` does.
 */
#ifndef KYMO_SERVE_CHILDREN_H
#define KYMO_SERVE_CHILDREN_H

#include "serve/server.h"

#include <sys/types.h>

struct child_task {
    const char *source, *name, *data_path;
    const char *folder; /* where its messages are kept */
    bool force;
    unsigned threads;
};

struct child {
    pid_t id;
    int progress; /* it writes a line with the percentage now and then */
    int status;
    char *log;
};

bool child_start(struct child *child, const struct child_task *task, struct error *err);
/* How far it is; false when it has ended. */
bool child_poll(struct child *child, unsigned *percent);
/* Asks it to end. */
void child_terminate(const struct child *child);
/* Why it failed, NULL when it did not; to be freed. Frees the child, which has ended. */
char *child_failure(struct child *child);

#endif

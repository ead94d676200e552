/*
 * Child processes that run Kymo's own commands: `kymo view --ingest-only` imports a capture, `kymo
 * capture --connect` takes one, others
 * write a profile in another format. Internal to serve.
 */
#ifndef KYMO_SERVE_JOBS_CHILDREN_H
#define KYMO_SERVE_JOBS_CHILDREN_H

#include "serve/http/server.h"

#include <sys/types.h>

struct child_task {
    const char *source, *name, *data_path;
    const char *folder;      /* for its log file */
    const char *source_root; /* uploaded source files; or NULL */
    bool force;
    unsigned threads;
    const struct processing_limits *limits;
};

struct child {
    pid_t id;
    int progress;   /* pipe; the child writes lines with its percentage, and what it does */
    char doing[64]; /* the last of these; may be empty */
    char line[128]; /* the beginning of the next */
    size_t line_size;
    struct processing_limits limits;
    bool is_over_output;
    int status;
    char *log;
};

struct child_capture {
    const char *addresses, *settings; /* settings may be NULL */
    uint64_t duration_ms;
    const char *directory;
    const char *folder; /* for its log file */
    const struct processing_limits *limits;
};

bool child_start(struct child *child, const struct child_task *task, struct error *err);
/* `kymo capture --connect`. */
bool child_start_capture(struct child *child, const struct child_capture *capture,
                         struct error *err);
/* Runs a command to its end, or until `is_over` says so. Returns why it failed (free with
 * mem_free), or NULL. `folder` is for its log file. */
char *child_run(const char *const *arguments, const char *folder,
                bool (*is_over)(const struct request *request), const struct request *request);
/* The same, and calls progress whenever the child has told how far it is. */
struct child_watch {
    bool (*is_over)(const struct request *request);
    const struct request *request;
    void (*progress)(void *context, unsigned percent, const char *doing); /* or NULL */
    void *context;
};
char *child_run_watched(const char *const *arguments, const char *folder,
                        const struct child_watch *watch);
/* Updates *percent without blocking; false once the child has exited. */
bool child_poll(struct child *child, unsigned *percent);
/* Sends SIGTERM. */
void child_terminate(const struct child *child);
/* Returns why the exited child failed (free with mem_free) or NULL, and releases the child. */
char *child_failure(struct child *child);

#endif

/*
 * Runs an untrusted query in a child process. DuckDB can allocate past its memory limit, may not
 * react to an interrupt and can crash; a process can be limited and killed.
 */
#ifndef KYMO_SQL_CHILD_H
#define KYMO_SQL_CHILD_H

#include "base/base.h"

struct sql_result;

/* Limits of the engine; 0 for none. */
struct sql_limits {
    size_t memory_bytes; /* beyond this DuckDB spills to disk */
    unsigned threads;
    uint64_t spill_bytes;  /* of spilled files */
    size_t value_bytes;    /* of a single value in a result */
    const char *temporary; /* directory for spilled files; NULL to create one */
};

/* Limits of the child process. engine.temporary is ignored: each child has its own. */
struct sql_child_limits {
    struct sql_limits engine;
    size_t address_bytes;
    unsigned seconds;
};

struct sql_task {
    const char *directory; /* profile directory */
    const char *query;     /* NULL for the list of tables */
    struct text format;    /* output format, passed to the child's sql_write */
    struct sql_child_limits limits;
    uint64_t answer_bytes; /* 0 for no limit */
};

enum sql_outcome {
    SQL_DONE,
    SQL_FAILED,     /* error in the query, or a limit exceeded */
    SQL_UNREADABLE, /* the profile cannot be opened */
    SQL_TIMED_OUT,
    SQL_STOPPED, /* by is_stopped, or the output failed */
};

/* A child process with DuckDB loaded, waiting for its only task. NULL on failure. */
struct sql_child;
struct sql_child *sql_child_start(const struct sql_child_limits *limits, struct error *err);
bool sql_child_is_alive(struct sql_child *child);
void sql_child_end(struct sql_child *child);

/* Runs the task in the given child (started with the same limits), or in a new one if NULL, and
 * appends its output to answer. Consumes the child. Polls is_stopped every few milliseconds and
 * kills the child when it returns true. Sets err unless SQL_DONE or SQL_STOPPED. */
enum sql_outcome sql_task_run(const struct sql_task *task, struct sql_child *child,
                              struct output *answer, bool (*is_stopped)(void *context),
                              void *context, struct error *err);

/* The internal subcommand that is the child; returns the exit code. */
#define SQL_CHILD_COMMAND "sql-child"
typedef bool sql_write(struct sql_result *result, struct text format, struct output *out,
                       struct error *err);
int sql_child_main(sql_write *write);

#endif

/*
 * A query of somebody else, in a process of its own. DuckDB can allocate past its memory limit,
 * does not always react to an interrupt and can crash; a process can be limited, killed and lost.
 */
#ifndef KYMO_SQL_CHILD_H
#define KYMO_SQL_CHILD_H

#include "base/base.h"

struct sql_result;

/* What the engine may take; 0 for as much as it likes. */
struct sql_limits {
    size_t memory_bytes; /* what needs more goes to files */
    unsigned threads;
    uint64_t spill_bytes;  /* of those files */
    size_t value_bytes;    /* of one value of a result */
    const char *temporary; /* the directory for those files; NULL for one of the engine's own */
};

/* Of the process; the engine's without a temporary directory, as each child has its own. */
struct sql_child_limits {
    struct sql_limits engine;
    size_t address_bytes;
    unsigned seconds;
};

struct sql_task {
    const char *directory; /* of the profile */
    const char *query;     /* NULL: the list of tables */
    struct text format;    /* how to write the answer: bytes for the child's sql_write */
    struct sql_child_limits limits;
    uint64_t answer_bytes; /* 0: any size */
};

enum sql_outcome {
    SQL_DONE,
    SQL_FAILED,     /* a mistake in the query, or more than it may take */
    SQL_UNREADABLE, /* the profile cannot be opened */
    SQL_TIMED_OUT,
    SQL_STOPPED, /* is_stopped said so, or the answer's output failed */
};

/* A child that has DuckDB ready and waits for its task; NULL when it cannot be started. It takes
 * one task. */
struct sql_child;
struct sql_child *sql_child_start(const struct sql_child_limits *limits, struct error *err);
bool sql_child_is_alive(struct sql_child *child);
void sql_child_end(struct sql_child *child);

/* Runs the task in a child with the task's limits, or in a new one where it is NULL, which ends
 * with it; and appends its answer to the output. is_stopped is asked every few milliseconds; when
 * it says so, the child is killed. err is set but for SQL_DONE and SQL_STOPPED. */
enum sql_outcome sql_task_run(const struct sql_task *task, struct sql_child *child,
                              struct output *answer, bool (*is_stopped)(void *context),
                              void *context, struct error *err);

/* The command of the program that is the child, and what it does; returns the exit code. */
#define SQL_CHILD_COMMAND "sql-child"
typedef bool sql_write(struct sql_result *result, struct text format, struct output *out,
                       struct error *err);
int sql_child_main(sql_write *write);

#endif

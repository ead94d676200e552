/*
 * What parent and child of a query tell each other, in one nameless file: the request, and behind
 * it the child's report if the query failed. Both are the same program, so structs are written as
 * they are.
 */
#ifndef KYMO_SQL_CHILD_REQUEST_H
#define KYMO_SQL_CHILD_REQUEST_H

#include "sql/sql.h"

#include <sys/types.h>

#define CHILD_MAGIC UINT64_C(0x646c696863207164)

/* Followed by directory, temporary and query, each terminated, and the format. */
struct child_request {
    uint64_t magic;
    pid_t parent;
    struct sql_limits limits; /* temporary is not set */
    size_t address_bytes;
    unsigned seconds;
    bool is_list;
    size_t directory_size, temporary_size, query_size, format_size; /* with the terminators */
};

struct child_report {
    uint64_t magic;
    enum sql_outcome outcome;
    struct error error;
};

#endif

/*
 * The protocol between the parent and child of a query: a memfd, the child's standard input, with
 * the setup, the request and, if the query failed, the child's report. Both run the same binary, so
 * structs are written as they are. A byte on a socket signals that the request is complete; its end
 * of file, that the parent is gone.
 */
#ifndef KYMO_SQL_CHILD_REQUEST_H
#define KYMO_SQL_CHILD_REQUEST_H

#include "sql/sql.h"

#include <sys/types.h>

#define CHILD_MAGIC UINT64_C(0x646c696863207164)

enum { CHILD_CONTROL = 3 }; /* the socket */

struct child_setup {
    uint64_t magic;
    struct sql_child_limits limits; /* engine.temporary is not set */
    char temporary[ERROR_FILE_SIZE];
};

/* Followed by directory and query, both NUL-terminated, and the format. */
struct child_request {
    bool is_list;
    size_t directory_size, query_size, format_size; /* including NUL */
};

struct child_report {
    uint64_t magic;
    enum sql_outcome outcome;
    struct error error;
};

#endif

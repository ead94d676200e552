/*
 * What parent and child of a query tell each other, in one nameless file that is the child's
 * standard input: how to get ready, the request, and behind it the child's report if the query
 * failed. Both are the same program, so structs are written as they are. A socket tells the child
 * when the request is there, and by its end that the parent is gone.
 */
#ifndef KYMO_SQL_CHILD_REQUEST_H
#define KYMO_SQL_CHILD_REQUEST_H

#include "sql/sql.h"

#include <sys/types.h>

#define CHILD_MAGIC UINT64_C(0x646c696863207164)

enum { CHILD_CONTROL = 3 }; /* the socket */

struct child_setup {
    uint64_t magic;
    struct sql_child_limits limits; /* the engine's temporary is not set */
    char temporary[ERROR_FILE_SIZE];
};

/* Followed by directory and query, both terminated, and the format. */
struct child_request {
    bool is_list;
    size_t directory_size, query_size, format_size; /* with the terminators */
};

struct child_report {
    uint64_t magic;
    enum sql_outcome outcome;
    struct error error;
};

#endif

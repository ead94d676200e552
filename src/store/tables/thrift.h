/*
 * Thrift compact protocol writer: the part Parquet headers and footers need.
 */
#ifndef KYMO_STORE_TABLES_THRIFT_H
#define KYMO_STORE_TABLES_THRIFT_H

#include "base/base.h"

enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12,
};

enum { THRIFT_MAX_DEPTH = 8 };

struct thrift {
    struct output *out;
    int last_field[THRIFT_MAX_DEPTH]; /* by nesting depth of structs */
    unsigned depth;
};

void thrift_begin(struct thrift *thrift, struct output *out);
void thrift_int(struct thrift *thrift, int field, int64_t value, enum thrift_type type);
void thrift_binary(struct thrift *thrift, int field, const void *data, size_t size);
/* A struct as a field or, with field 0, as the next item of a list. */
void thrift_open(struct thrift *thrift, int field);
/* Also ends the outermost struct. */
void thrift_close(struct thrift *thrift);
void thrift_list(struct thrift *thrift, int field, size_t count, enum thrift_type type);
/* List items. */
void thrift_item_int(struct thrift *thrift, int64_t value);
void thrift_item_binary(struct thrift *thrift, const void *data, size_t size);

#endif

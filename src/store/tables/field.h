/*
 * What describes a table: its columns, their types and meaning.
 */
#ifndef KYMO_STORE_TABLES_FIELD_H
#define KYMO_STORE_TABLES_FIELD_H

#include "base/base.h"

enum field_type {
    FIELD_INT64,
    FIELD_INT32,
    FIELD_FLOAT32,
    FIELD_FLOAT64,
    FIELD_BOOL,
    FIELD_NAME,       /* text that repeats: an index in the catalog's strings, or any text */
    FIELD_TEXT,       /* text that rarely repeats */
    FIELD_TEXT_LIST,  /* NULL if empty */
    FIELD_INT64_LIST, /* the same */
};

struct field {
    const char *name;
    enum field_type type;
    bool required;
    const char *unit; /* "" for none */
    const char *meaning, *example;
    const char *choices; /* possible values, comma-separated; NULL: any */
};

static inline bool field_is_list(const struct field *field)
{
    return field->type == FIELD_TEXT_LIST || field->type == FIELD_INT64_LIST;
}

struct table_schema {
    const char *name, *meaning;
    const struct field *fields;
    size_t field_count;
};

#endif

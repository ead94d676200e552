/*
 * Text tables: columns as wide as their widest cell, numbers right-aligned. If a line would be too
 * long, the widest flexible columns shrink.
 */
#ifndef KYMO_EXPORT_TABLE_H
#define KYMO_EXPORT_TABLE_H

#include "export/export.h"

struct column {
    const char *title;
    bool is_text;     /* left-aligned; numbers are right-aligned */
    bool is_flexible; /* may be truncated if the table is too wide */
};

struct table {
    const struct column *columns;
    size_t column_count;
    ARRAY(char *) cells; /* row by row; NULL: no value */
};

struct table table_begin(const struct column *columns, size_t count);
void table_text(struct table *table, struct text text);
void table_format(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A cell without a value. */
void table_null(struct table *table);
/* Cells for a number with thousands separators, a time, a fraction, a size in bytes. */
void table_count(struct table *table, uint64_t count);
void table_ps(struct table *table, double ps);
void table_share(struct table *table, double share);
/* Writes the table and frees it. */
void table_end(struct table *table, const struct text_style *style, struct output *out);

/* Rows of a ranking that are shown, and a line about the others. */
size_t rows_shown(size_t count, const struct text_style *style);
void put_omitted(size_t shown, size_t count, struct output *out);

/* Text from a file, with control characters replaced by spaces. */
void put_printable(struct output *out, struct text text);

/* A line with a label and a text from a file. */
void put_labelled(struct output *out, const char *label, const char *value);

/* The messages of the capture, if any. */
void put_messages_text(const struct catalog *catalog, const struct text_style *style,
                       struct output *out);

/* A highlighted heading. */
void put_heading(struct output *out, const struct text_style *style, const char *heading);

#endif

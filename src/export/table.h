/*
 * Text tables: columns as wide as their widest cell, numbers right-aligned. If a line would be too
 * long, the widest flexible columns shrink.
 */
#ifndef KYMO_EXPORT_TABLE_H
#define KYMO_EXPORT_TABLE_H

#include "base/base.h"

/* Which numbers of queries have their digits in groups: 1,234,567. */
enum digit_groups { DIGITS_PLAIN, DIGITS_OF_UNITS /* "Total (ns)" */, DIGITS_OF_ALL };

struct text_style {
    bool colored;
    size_t width; /* of a line, in characters */
    size_t top;   /* rows shown of a ranking */
    enum digit_groups digits;
    bool has_blank_nulls; /* of queries: nothing instead of NULL */
};

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
/* The same as Markdown. Cells of flexible columns, which are names, may be code, so that * and _
 * stay what they are. */
struct markdown_style {
    bool has_code;
    bool has_blank_rule; /* | --- | instead of |---| */
};
void table_end_markdown(struct table *table, const struct markdown_style *style,
                        struct output *out);

/* Text from a file, with control characters replaced by spaces. */
void put_printable(struct output *out, struct text text);

#endif

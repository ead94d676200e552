/*
 * Inside store: a table filled row by row by one thread, from the catalog and the analysis.
 */
#ifndef KYMO_STORE_TABLES_FILL_H
#define KYMO_STORE_TABLES_FILL_H

#include "store/tables/make.h"

enum { NUMBER_SIZE = 24 };

/* Rows that may be needed again: see fill_mark_begin. */
struct fill_mark {
    uint64_t group;
    size_t first, count;
    size_t *nulls; /* by column: before the first */
};

struct filler {
    struct profile_maker *maker;
    const struct catalog *catalog;
    enum table_number table;
    struct parquet_encoder *encoder;
    struct rows rows;
    record_list records; /* not converted to rows yet */
    size_t text_bytes;   /* of words in the rows */
    uint64_t groups;
    struct fill_mark mark;
    struct error *err;
    bool failed;
};

struct filler fill_begin(struct profile_maker *maker, enum table_number table, struct error *err);
/* With the encoder of a caller that fills several tables; ends with fill_free. */
struct filler fill_with(struct profile_maker *maker, enum table_number table,
                        struct parquet_encoder *encoder);
void fill_free(struct filler *filler);
/* Call between rows; false after an error. */
bool fill_continue(struct filler *filler);
/* Writes the rows so far as a group; false after an error. */
bool fill_group(struct filler *filler);
bool fill_end(struct filler *filler);

/* The rows between these two calls, those of an execution for example, can be put again by
 * fill_repeat, column by column, while they are not written: as many as fill_repeatable says. */
void fill_mark_begin(struct filler *filler);
void fill_mark_end(struct filler *filler);
size_t fill_repeatable(struct filler *filler);
void fill_repeat(struct filler *filler, size_t column);

/* A new row as a record without values; for tables filled only this way. */
struct record *fill_record(struct filler *filler);

/* A value of the current row. */
void fill_word(struct filler *filler, size_t column, struct text text);
void fill_number_text(struct filler *filler, size_t column, uint64_t number);
/* A string, or NULL if empty. */
void fill_string(struct filler *filler, size_t column, uint32_t string);
/* A number, or NULL if not present. */
void fill_index(struct filler *filler, size_t column, bool present, uint64_t index);
void fill_double(struct filler *filler, size_t column, double number); /* NULL if it is NaN */
/* Args as JSON, or NULL if there are none. */
void fill_args(struct filler *filler, size_t column, const struct arg_list *args);
/* Start, end and duration, in consecutive columns. */
void fill_span(struct filler *filler, size_t column, int64_t start_ps, int64_t duration_ps);

#endif

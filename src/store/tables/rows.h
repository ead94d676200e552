/*
 * Rows of a table before encoding, stored by column. The caller adds the same number of rows to
 * every column; rows_count checks that.
 */
#ifndef KYMO_STORE_TABLES_ROWS_H
#define KYMO_STORE_TABLES_ROWS_H

#include "store/tables/schema.h"

struct row_column {
    const struct field *field;
    size_t rows, nulls;
    size_t same; /* number of values if all equal same_value; then the next two are empty */
    int64_t same_value;
    ARRAY(int64_t) numbers; /* of all numeric types; floats as their bits */
    ARRAY(uint32_t) names;  /* see ROWS_OWN_NAME */
    ARRAY(char) bytes;      /* texts and list items, concatenated */
    ARRAY(uint32_t) ends;   /* end offset of each */
    ARRAY(uint8_t) present; /* by row, 0 for NULL; empty if all or none are NULL */
    ARRAY(uint32_t) items;  /* lists: number of items per row */
};

/* A name is the index of a string of the catalog or, with this bit, of own_names. */
#define ROWS_OWN_NAME 0x80000000u

struct rows {
    const struct table_schema *schema;
    struct row_column *columns;
    struct intern own_names;
    uint32_t last_own_name; /* neighbors often share it; 0 is the empty string */
};

void row_column_free(struct row_column *column);
bool row_column_equal(const struct row_column *a, const struct row_column *b);
/* False, and nothing copied, where it has own names, which mean something in its rows alone. */
bool row_column_copy(struct row_column *to, const struct row_column *from);

void rows_init(struct rows *rows, const struct table_schema *schema);
void rows_free(struct rows *rows);
void rows_clear(struct rows *rows);
size_t rows_count(const struct rows *rows);
/* Total size of the text. */
size_t rows_text_bytes(const struct rows *rows);
enum { GROUP_TEXT = 64 << 20 }; /* a row group with more text than this ends early */

/* Room for the values of that many rows, none of them NULL. */
int64_t *rows_numbers(struct rows *rows, size_t column, size_t count);
uint32_t *rows_names(struct rows *rows, size_t column, size_t count);
/* The same value in that many rows. */
void rows_fill(struct rows *rows, size_t column, int64_t value, size_t count);
void rows_fill_name(struct rows *rows, size_t column, uint32_t name, size_t count);
void rows_nulls(struct rows *rows, size_t column, size_t count);
/* Numbers, NULL where the byte in `present` is 0. */
void rows_maybe(struct rows *rows, size_t column, const int64_t *values, const uint8_t *present,
                size_t count);
/* Rows of the column again, which are in it already: a number of them, the first of which has so
 * many NULLs before it. Of lists and texts, only where all are NULL. */
void rows_repeat(struct rows *rows, size_t column, size_t first, size_t nulls_before, size_t count);

/* Rows as records, for tables of numbers and names with up to 40 columns. */
enum { RECORD_COLUMNS = 40, RECORDS_TOGETHER = 128 }; /* few enough to stay in the cache */
struct record {
    uint64_t present; /* bitmask of columns; the others are NULL */
    int64_t values[RECORD_COLUMNS];
};
static inline void record_put(struct record *record, size_t column, int64_t value)
{
    record->values[column] = value;
    record->present |= (uint64_t)1 << column;
}
typedef ARRAY(struct record) record_list;
/* At most RECORDS_TOGETHER at a time. */
void rows_records(struct rows *rows, const struct record *records, size_t count);

/* Adds one row's value. Invalid UTF-8 is replaced with U+FFFD. */
void rows_int(struct rows *rows, size_t column, int64_t value);
void rows_double(struct rows *rows, size_t column, double value);
void rows_name(struct rows *rows, size_t column, uint32_t name);
void rows_text(struct rows *rows, size_t column, struct text text);
void rows_item(struct rows *rows, size_t column, struct text text);
void rows_number_item(struct rows *rows, size_t column, int64_t value);
/* Ends rows of a list column: each takes the given number of the items added since. */
void rows_end_lists(struct rows *rows, size_t column, const uint32_t *items, size_t count);
/* Ends rows of a text column: rows whose byte is not 0 take the items added since, in order. */
void rows_end_texts(struct rows *rows, size_t column, const uint8_t *present, size_t count);
/* The id of a name missing in the catalog; for rows_name and rows_names. */
uint32_t rows_own_name(struct rows *rows, struct text text);

#endif

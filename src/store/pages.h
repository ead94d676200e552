/*
 * Inside store: from rows to the pages of a row group.
 */
#ifndef KYMO_STORE_PAGES_H
#define KYMO_STORE_PAGES_H

#include "store/parquet.h"

/* Numbers of the format. */
enum {
    TYPE_BOOLEAN = 0,
    TYPE_INT32 = 1,
    TYPE_INT64 = 2,
    TYPE_FLOAT = 4,
    TYPE_DOUBLE = 5,
    TYPE_BYTES = 6
};
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };

int physical_type(enum field_type type);

/* Encodes the rows, column by column; chunks get an entry a column, with offsets from the start of
 * the result, which stays until the next call. */
struct text encode_rows(struct parquet_encoder *encoder, const struct rows *rows,
                        struct parquet_chunk *chunks);

#endif

/*
 * Inside store: encodes rows as the pages of a row group.
 */
#ifndef KYMO_STORE_TABLES_PAGES_H
#define KYMO_STORE_TABLES_PAGES_H

#include "store/tables/rows.h"

struct parquet_chunk {
    uint64_t offset;          /* of its first page */
    uint64_t dictionary_size; /* of the dictionary page before the data; 0 if there is none */
    uint64_t packed_size, plain_size;
    uint64_t values, nulls;
    int encoding;
    bool has_range;
    int64_t least, most;
};

/* Constants of the format. */
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

/* State of one encoding thread; names are indexes in strings. */
struct parquet_encoder;
struct parquet_encoder *parquet_encoder_create(const struct intern *strings);
void parquet_encoder_free(struct parquet_encoder *encoder);

/* Encodes the rows, column by column; chunks has one entry per column, with offsets from the start
 * of the result, which is valid until the next call. */
struct text encode_rows(struct parquet_encoder *encoder, const struct rows *rows,
                        struct parquet_chunk *chunks);

#endif

/*
 * Parquet files, written as rows come. Encoders turn rows into a row group in memory, side by side
 * on all cores; the file takes the finished groups in any order and lists them by their number.
 *
 * Columns: numbers as DELTA_BINARY_PACKED (one value alone: as a dictionary), names through a
 * dictionary, texts and floating numbers PLAIN; every page zstd with a checksum of its content, so
 * that damage shows.
 */
#ifndef KYMO_STORE_PARQUET_H
#define KYMO_STORE_PARQUET_H

#include "store/pages.h"

struct parquet_group {
    uint64_t number; /* place among the groups */
    uint64_t rows;
    struct parquet_chunk *chunks; /* by column */
};

struct parquet_file {
    const struct table_schema *schema;
    struct output out;
    pthread_mutex_t lock;
    uint64_t size, rows;
    ARRAY(struct parquet_group) groups;
};

bool parquet_open(struct parquet_file *file, const struct table_schema *schema, const char *path,
                  struct error *err);
/* Adds the rows as one group; from several threads at once, each with its own encoder. */
bool parquet_add(struct parquet_file *file, struct parquet_encoder *encoder,
                 const struct rows *rows, uint64_t number, struct error *err);
/* Writes the footer and puts the file in its place. */
bool parquet_commit(struct parquet_file *file, struct error *err);
void parquet_discard(struct parquet_file *file);

#endif

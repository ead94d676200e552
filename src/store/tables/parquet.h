/*
 * Parquet writer. Encoders turn rows into row groups in memory, concurrently; the file takes
 * finished groups in any order and lists them by number.
 *
 * Encodings: integers DELTA_BINARY_PACKED (a dictionary if all are equal), names dictionary, other
 * text and floats PLAIN; every page is compressed with zstd, with a content checksum to detect
 * damage.
 */
#ifndef KYMO_STORE_TABLES_PARQUET_H
#define KYMO_STORE_TABLES_PARQUET_H

#include "store/tables/pages.h"

struct parquet_group {
    uint64_t number; /* position among the groups */
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
/* Adds the rows as one group. Thread-safe, with one encoder per thread. */
bool parquet_add(struct parquet_file *file, struct parquet_encoder *encoder,
                 const struct rows *rows, uint64_t number, struct error *err);
/* Writes the footer and renames the file into place. */
bool parquet_commit(struct parquet_file *file, struct error *err);
void parquet_discard(struct parquet_file *file);

#endif

/*
 * The files of a profile's tables: opened with the first rows, shared by whoever fills a table.
 */
#include "store/tables/make.h"

#include <stdio.h>

enum { MAX_PATH = 4096 };

bool maker_open(struct profile_maker *maker, enum table_number table, struct error *err)
{
    struct parquet_file *file = &maker->files[table];
    bool ok = true;
    pthread_mutex_lock(&maker->lock);
    if (!file->schema) {
        char path[MAX_PATH];
        snprintf(path, sizeof path, "%s/%s.parquet", maker->directory, table_schemas[table].name);
        ok = parquet_open(file, &table_schemas[table], path, err);
    }
    pthread_mutex_unlock(&maker->lock);
    return ok;
}

bool maker_add(struct profile_maker *maker, enum table_number table,
               struct parquet_encoder *encoder, struct rows *rows, uint64_t number,
               struct error *err)
{
    if (rows_count(rows) == 0)
        return true;
    bool ok = maker_open(maker, table, err) &&
              parquet_add(&maker->files[table], encoder, rows, number, err);
    rows_clear(rows);
    return ok;
}

bool maker_close(struct profile_maker *maker, bool ok, struct error *err)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (!maker->files[i].schema)
            continue;
        if (ok)
            ok = parquet_commit(&maker->files[i], err);
        else
            parquet_discard(&maker->files[i]);
    }
    return ok;
}

/*
 * The tables of a directory: each is one file, Name.parquet, or several that continue each other,
 * Name_0.parquet, Name_1.parquet and so on. Other files are none of our business.
 */
#ifndef KYMO_SQL_TABLES_H
#define KYMO_SQL_TABLES_H

#include "base/base.h"

struct sql_file {
    char *path;
    char *table;
    uint64_t number; /* TABLE_WHOLE when the file is the whole table */
};
#define TABLE_WHOLE UINT64_MAX

struct sql_table {
    const char *name; /* of the first file */
    const struct sql_file *files;
    size_t file_count;
    struct error *problem; /* why it cannot be used, NULL when it can */
};

struct sql_tables {
    ARRAY(struct sql_file) files;   /* by table, those of one table in their order */
    ARRAY(struct sql_table) tables; /* by name */
};

/* The directory is an absolute path. Gaps and doubles in a table's files become its problem. */
bool tables_find(struct sql_tables *tables, const char *directory, struct error *err);
void table_set_problem(struct sql_table *table, const struct error *problem);
void tables_free(struct sql_tables *tables);

#endif

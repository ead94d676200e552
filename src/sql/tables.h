/*
 * The tables of a directory: each is a file Name.parquet, or consecutive parts Name_0.parquet,
 * Name_1.parquet and so on. Other files are ignored. In a dataset, a directory with the file
 * DATASET_MARK, each is a directory Name with files of ranks.
 */
#ifndef KYMO_SQL_TABLES_H
#define KYMO_SQL_TABLES_H

#include "base/base.h"

#define DATASET_MARK "_dataset.json"

struct sql_file {
    char *path;
    char *table;
    uint64_t number;     /* TABLE_WHOLE if not split */
    bool is_partitioned; /* the directory of a table of a dataset */
};
#define TABLE_WHOLE UINT64_MAX

struct sql_table {
    const char *name; /* of the first file */
    const struct sql_file *files;
    size_t file_count;
    struct error *problem; /* why it cannot be used, or NULL */
};

struct sql_tables {
    ARRAY(struct sql_file) files;   /* sorted by table and part */
    ARRAY(struct sql_table) tables; /* sorted by name */
};

/* directory must be absolute. For a query, only tables that it names: see sql_open_for. Missing or
 * duplicate parts become the table's problem. */
bool tables_find(struct sql_tables *tables, const char *directory, const char *query,
                 struct error *err);
void table_set_problem(struct sql_table *table, const struct error *problem);
void tables_free(struct sql_tables *tables);

#endif

/*
 * Finds the tables of a directory by its file names.
 */
#include "sql/tables.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_DIGITS = 9 };
#define SUFFIX ".parquet"

static char *join_path(const char *directory, const char *name)
{
    size_t size = strlen(directory) + 1 + strlen(name) + 1;
    char *path = mem_alloc(size);
    snprintf(path, size, "%s/%s", directory, name);
    return path;
}

/* "Name_12" is part 12 of Name; returns the size of the table name. */
static size_t split_number(struct text stem, uint64_t *number)
{
    size_t digits = 0;
    while (digits < stem.size && isdigit((unsigned char)stem.data[stem.size - 1 - digits]))
        digits++;
    *number = TABLE_WHOLE;
    if (digits == 0 || digits > MAX_DIGITS || digits + 1 >= stem.size ||
        stem.data[stem.size - digits - 1] != '_')
        return stem.size;
    *number = strtoull(stem.data + stem.size - digits, NULL, 10);
    return stem.size - digits - 1;
}

static void add_file(struct sql_tables *tables, const char *directory, const char *name)
{
    struct text stem = text_of(name);
    if (name[0] == '.' || !text_ends(stem, TEXT(SUFFIX)) ||
        text_utf8_prefix(name, stem.size) != stem.size)
        return;
    stem.size -= sizeof SUFFIX - 1;
    char *path = join_path(directory, name);
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        mem_free(path);
        return;
    }
    uint64_t number;
    size_t size = split_number(stem, &number);
    *array_push(&tables->files) =
        (struct sql_file){.path = path, .table = mem_copy_text(stem.data, size), .number = number};
}

/* Names that differ only in case, which SQL ignores, become adjacent. */
static int compare_files(const void *a, const void *b)
{
    const struct sql_file *left = a, *right = b;
    int order = strcasecmp(left->table, right->table);
    if (order == 0)
        order = strcmp(left->table, right->table);
    if (order == 0)
        order = (left->number > right->number) - (left->number < right->number);
    return order ? order : strcmp(left->path, right->path);
}

void table_set_problem(struct sql_table *table, const struct error *problem)
{
    table->problem = mem_alloc(sizeof *problem);
    *table->problem = *problem;
}

/* Whether the files are one unsplit table, or all parts of one. */
static bool check_files(const struct sql_table *table, struct error *err)
{
    const struct sql_file *files = table->files, *last = &files[table->file_count - 1];
    if (table->file_count > 1 && last->number == TABLE_WHOLE)
        return error_in_file(err, last->path, "exists beside parts of the same table");
    for (size_t i = 0; i < table->file_count && last->number != TABLE_WHOLE; i++) {
        if (files[i].number > i)
            return error_in_file(err, files[i].path, "part %zu before it is missing", i);
        if (files[i].number < i)
            return error_in_file(err, files[i].path, "another part has the same number");
    }
    return true;
}

static bool check_name(const struct sql_table *table, const struct sql_table *other,
                       struct error *err)
{
    if (strcasecmp(table->name, other->name) != 0)
        return true;
    return error_set(err, "the names of tables %s and %s differ only in case, which SQL ignores",
                     table->name, other->name);
}

static void check_tables(struct sql_tables *tables)
{
    for (size_t i = 0; i < tables->tables.count; i++) {
        struct sql_table *table = &tables->tables.items[i];
        bool is_first = i == 0, is_last = i + 1 == tables->tables.count;
        struct error problem;
        if (!check_files(table, &problem) ||
            (!is_first && !check_name(table, table - 1, &problem)) ||
            (!is_last && !check_name(table, table + 1, &problem)))
            table_set_problem(table, &problem);
    }
}

static void group_files(struct sql_tables *tables)
{
    const struct sql_file *files = tables->files.items;
    for (size_t i = 0, end; i < tables->files.count; i = end) {
        for (end = i + 1; end < tables->files.count; end++)
            if (strcmp(files[end].table, files[i].table) != 0)
                break;
        struct sql_table *table = array_push(&tables->tables);
        *table = (struct sql_table){files[i].table, files + i, end - i, NULL};
    }
}

/* Tables of a dataset are directories; names that begin with '_' or '.' are skipped. */
static void add_directory(struct sql_tables *tables, const char *directory, const char *name)
{
    if (name[0] == '.' || name[0] == '_' || text_utf8_prefix(name, strlen(name)) != strlen(name))
        return;
    char *path = join_path(directory, name);
    if (!file_is_directory(path)) {
        mem_free(path);
        return;
    }
    *array_push(&tables->files) = (struct sql_file){.path = path,
                                                    .table = mem_copy_text(name, strlen(name)),
                                                    .number = TABLE_WHOLE,
                                                    .is_partitioned = true};
}

static bool is_dataset(const char *directory)
{
    struct stat status;
    char *mark = join_path(directory, DATASET_MARK);
    bool is_there = stat(mark, &status) == 0;
    mem_free(mark);
    return is_there;
}

/* Omits a dataset's tables that a query does not name, unless it names none. */
static void keep_named(struct sql_tables *tables, const char *query)
{
    size_t named = 0, kept = 0;
    for (size_t i = 0; i < tables->files.count; i++)
        named += strcasestr(query, tables->files.items[i].table) != NULL;
    for (size_t i = 0; i < tables->files.count && named > 0; i++) {
        struct sql_file file = tables->files.items[i];
        if (strcasestr(query, file.table) || strcmp(file.table, "Rank") == 0) {
            tables->files.items[kept++] = file;
        } else {
            mem_free(file.path);
            mem_free(file.table);
        }
    }
    tables->files.count = named > 0 ? kept : tables->files.count;
}

bool tables_find(struct sql_tables *tables, const char *directory, const char *query,
                 struct error *err)
{
    *tables = (struct sql_tables){0};
    DIR *folder = opendir(directory);
    if (!folder)
        return error_in_file(err, directory, "cannot open: %s", strerror(errno));
    bool is_partitioned = is_dataset(directory);
    for (const struct dirent *entry; (entry = readdir(folder));)
        (is_partitioned ? add_directory : add_file)(tables, directory, entry->d_name);
    closedir(folder);
    if (tables->files.count == 0 && is_partitioned)
        return error_in_file(err, directory, "the dataset has no ranks yet");
    if (tables->files.count == 0)
        return error_in_file(err, directory, "not a profile: no Parquet files found");
    if (is_partitioned && query)
        keep_named(tables, query);
    qsort(tables->files.items, tables->files.count, sizeof *tables->files.items, compare_files);
    group_files(tables);
    check_tables(tables);
    return true;
}

void tables_free(struct sql_tables *tables)
{
    struct sql_file *file;
    array_each (file, &tables->files) {
        mem_free(file->path);
        mem_free(file->table);
    }
    struct sql_table *table;
    array_each (table, &tables->tables)
        mem_free(table->problem);
    array_free(&tables->files);
    array_free(&tables->tables);
}

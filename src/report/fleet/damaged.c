#include "report/fleet/damaged.h"

#include "report/fleet/place.h"
#include "report/fleet/rank_tables.h"

#include <stdlib.h>
#include <unistd.h>

/* Files that are read by one query; where that fails, each of them is read alone. */
enum { FILES_AT_ONCE = 64 };

/* Reads all columns of some ranks' files of a table; those that have none are skipped. */
static bool read_files(struct fleet_analysis *analysis, const struct table_schema *schema,
                       size_t first, size_t end, struct error *err)
{
    struct output sql;
    size_t count = 0;
    output_memory(&sql);
    output_text(&sql, "SELECT bit_xor(hash(");
    for (size_t i = 0; i < schema->field_count; i++)
        output_format(&sql, "%sCAST(%s AS %s)", i ? ", " : "", schema->fields[i].name,
                      field_sql_type(schema->fields[i].type));
    output_text(&sql, ")) FROM read_parquet([");
    for (size_t i = first; i < end; i++) {
        char *path = rank_path(analysis, schema, &analysis->files.ranks.items[i]);
        if (access(path, F_OK) == 0) {
            output_text(&sql, count++ ? ", " : "");
            sql_put_path(&sql, path);
        }
        mem_free(path);
    }
    output_text(&sql, "], hive_partitioning = false)");
    output_char(&sql, '\0');
    bool ok = count == 0 || sql_run(analysis->connection, sql.data, err);
    output_discard(&sql);
    return ok;
}

static bool is_interrupted(const struct error *err)
{
    return strstr(err->text, "interrupted") != NULL;
}

/* The first line, without the path, which is told beside it. */
static void note_reason(struct rank_file *rank, const char *path, const char *reason)
{
    const char *end = reason + strcspn(reason, "\n"), *at = strstr(reason, path);
    const char *before = at && at < end ? at : end;
    const char *after = at && at < end ? at + strlen(path) : end;
    while (before > reason && strchr(" '\"", before[-1]))
        before--;
    after += strspn(after, "'\"");
    rank->damage =
        path_format("%.*s%.*s", (int)(before - reason), reason, (int)(end - after), after);
}

static bool check_table(struct fleet_analysis *analysis, const struct table_schema *schema,
                        struct error *err)
{
    size_t count = analysis->files.ranks.count;
    for (size_t first = 0; first < count; first += FILES_AT_ONCE) {
        size_t end = first + FILES_AT_ONCE < count ? first + FILES_AT_ONCE : count;
        if (read_files(analysis, schema, first, end, err))
            continue;
        for (size_t i = first; i < end && !is_interrupted(err); i++) {
            struct rank_file *rank = &analysis->files.ranks.items[i];
            if (rank->damage || read_files(analysis, schema, i, i + 1, err) || is_interrupted(err))
                continue;
            char *path = rank_path(analysis, schema, rank);
            note_reason(rank, path, err->text);
            rank->damaged_table = schema->name;
            mem_free(path);
        }
        if (is_interrupted(err))
            return false;
    }
    return true;
}

bool damaged_find(struct fleet_analysis *analysis, size_t *damaged, struct error *err)
{
    const struct rank_file *rank, *first = NULL;
    for (size_t i = 0; i < RANK_TABLES; i++)
        if (!check_table(analysis, &table_schemas[rank_tables[i]], err))
            return false;
    *damaged = 0;
    array_each (rank, &analysis->files.ranks)
        if (rank->damage) {
            first = first ? first : rank;
            ++*damaged;
        }
    if (*damaged < analysis->files.ranks.count)
        return true;
    return error_in_file(err, analysis->dataset,
                         "no rank of run %s can be read: %s/%s/%s/" PART_FILE
                         ": %.300s; add the ranks again with --force",
                         analysis->run, first->damaged_table, analysis->files.folder, first->place,
                         first->damage);
}

/* The instance of a rank, from its place. */
static char *machine_of(const struct rank_file *rank)
{
    const char *start = rank->place + strlen("instance="), *end = strchr(start, '/');
    char *escaped = mem_copy_text(start, (size_t)(end - start));
    char *instance = hive_unescape(escaped);
    mem_free(escaped);
    return instance;
}

bool stage_damaged(struct fleet_analysis *analysis, struct error *err)
{
    static const char *const columns[][2] = {
        {"rank", "BIGINT"}, {"instance", "VARCHAR"}, {"file", "VARCHAR"}, {"reason", "VARCHAR"}};
    struct values values;
    const struct rank_file *rank;
    values_begin(&values, columns, sizeof columns / sizeof *columns);
    array_each (rank, &analysis->files.ranks) {
        if (!rank->damage)
            continue;
        char *instance = machine_of(rank);
        char *file = path_format("%s/%s/%s/" PART_FILE, rank->damaged_table, analysis->files.folder,
                                 rank->place);
        values_put_integer(&values, (int64_t)rank->rank);
        values_put_text(&values, instance);
        values_put_text(&values, file);
        values_put_text(&values, rank->damage);
        mem_free(file);
        mem_free(instance);
    }
    return values_end(&values, analysis, "DamagedRank", err);
}

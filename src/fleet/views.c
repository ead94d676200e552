/*
 * Tables of a run's ranks as views.
 */
#include "fleet/place.h"
#include "fleet/work.h"

#include <unistd.h>

bool run_statement(struct fleet_analysis *analysis, struct output *sql, struct error *err)
{
    output_char(sql, '\0');
    bool ok = sql_run(analysis->connection, sql->data, err);
    output_discard(sql);
    return ok;
}

/* A table that no rank has, with its columns. */
static void put_empty(struct output *sql, const struct table_schema *schema)
{
    static const char *const types[] = {
        [FIELD_INT64] = "BIGINT",       [FIELD_INT32] = "INTEGER",
        [FIELD_FLOAT32] = "FLOAT",      [FIELD_FLOAT64] = "DOUBLE",
        [FIELD_BOOL] = "BOOLEAN",       [FIELD_NAME] = "VARCHAR",
        [FIELD_TEXT] = "VARCHAR",       [FIELD_TEXT_LIST] = "VARCHAR[]",
        [FIELD_INT64_LIST] = "BIGINT[]"};
    output_text(sql, "SELECT ");
    for (size_t i = 0; i < schema->field_count; i++)
        output_format(sql, "CAST(NULL AS %s) AS %s, ", types[schema->fields[i].type],
                      schema->fields[i].name);
    output_text(sql, "'' AS run, '' AS instance, CAST(0 AS BIGINT) AS rank WHERE false");
}

void rank_table_put(const struct fleet_analysis *analysis, const struct table_schema *schema,
                    const uint64_t *chosen, size_t chosen_count, struct output *sql)
{
    size_t count = 0, next = 0;
    const struct rank_file *rank;
    struct output files;
    output_memory(&files);
    array_each (rank, &analysis->files.ranks) {
        while (chosen && next < chosen_count && chosen[next] < rank->rank)
            next++;
        if (chosen && (next == chosen_count || chosen[next] != rank->rank))
            continue;
        char *path = path_format("%s/%s/%s/%s/" PART_FILE, analysis->dataset, schema->name,
                                 analysis->files.folder, rank->place);
        if (access(path, F_OK) == 0) {
            output_text(&files, count++ ? ", " : "");
            sql_put_path(&files, path);
        }
        mem_free(path);
    }
    if (count == 0) {
        put_empty(sql, schema);
    } else {
        output_text(sql, "FROM read_parquet([");
        output_write(sql, files.data, files.size);
        output_text(sql, "], hive_partitioning = true, hive_types = "
                         "{'run': VARCHAR, 'instance': VARCHAR, 'rank': BIGINT})");
    }
    output_discard(&files);
}

void fleet_advise(struct error *err)
{
    struct error inner = *err;
    if (strstr(inner.text, "/" PART_FILE))
        error_set(err,
                  "a file of a rank cannot be read; add the rank again with --force, or remove it: "
                  "%.400s",
                  inner.text);
}

/* The numbers of at most so many ranks, evenly over the run. */
static uint64_t *choose_ranks(const struct run_files *files, size_t count)
{
    uint64_t *chosen = mem_zeroed(count, sizeof *chosen);
    for (size_t i = 0; i < count; i++)
        chosen[i] = files->ranks.items[i * files->ranks.count / count].rank;
    return chosen;
}

bool fleet_view_table(struct fleet_analysis *analysis, const struct table_schema *table,
                      size_t max_ranks, struct error *err)
{
    bool is_part = max_ranks > 0 && max_ranks < analysis->files.ranks.count;
    uint64_t *chosen = is_part ? choose_ranks(&analysis->files, max_ranks) : NULL;
    struct output sql;
    output_memory(&sql);
    output_format(&sql, "CREATE OR REPLACE VIEW ranks.%s AS ", table->name);
    rank_table_put(analysis, table, chosen, max_ranks, &sql);
    mem_free(chosen);
    if (sql_run(analysis->connection, "CREATE SCHEMA IF NOT EXISTS ranks", err))
        return run_statement(analysis, &sql, err);
    output_discard(&sql);
    return false;
}

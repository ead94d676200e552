#include "report/fleet/rank_tables.h"

#include "report/fleet/place.h"
#include "report/fleet/spark.h"

#include <unistd.h>

const enum table_number rank_tables[RANK_TABLES] = {TABLE_RANK_INFO, TABLE_RANK_STEPS,
                                                    TABLE_RANK_COLLECTIVES, TABLE_RANK_KERNELS};

char *rank_path(const struct fleet_analysis *analysis, const struct table_schema *schema,
                const struct rank_file *rank)
{
    return path_format("%s/%s/%s/%s/" PART_FILE, analysis->dataset, schema->name,
                       analysis->files.folder, rank->place);
}

/* A table that no rank has, with its columns. */
static void put_empty(struct output *sql, const struct table_schema *schema)
{
    output_text(sql, "SELECT ");
    for (size_t i = 0; i < schema->field_count; i++)
        output_format(sql, "CAST(NULL AS %s) AS %s, ", field_sql_type(schema->fields[i].type),
                      schema->fields[i].name);
    output_text(sql, "'' AS run, '' AS instance, CAST(0 AS BIGINT) AS rank WHERE false");
}

/* The files of a table, of all ranks or of chosen ones; some may have none. */
static void put_table(const struct fleet_analysis *analysis, const struct table_schema *schema,
                      const uint64_t *chosen, size_t chosen_count, struct output *sql)
{
    size_t count = 0, next = 0;
    const struct rank_file *rank;
    struct output files;
    output_memory(&files);
    array_each (rank, &analysis->files.ranks) {
        while (chosen && next < chosen_count && chosen[next] < rank->rank)
            next++;
        if (rank->damage || (chosen && (next == chosen_count || chosen[next] != rank->rank)))
            continue;
        char *path = rank_path(analysis, schema, rank);
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

struct rank_numbers {
    ARRAY(uint64_t) items;
};

/* Spark finds the ranks itself, unless some are left out. */
static bool make_spark_table(struct fleet_analysis *analysis, const struct table_schema *schema,
                             const uint64_t *chosen, size_t count, struct error *err)
{
    struct rank_numbers whole = {0};
    const struct rank_file *rank;
    bool is_all = true;
    array_each (rank, &analysis->files.ranks) {
        is_all &= !rank->damage;
        if (!rank->damage)
            *array_push(&whole.items) = rank->rank;
    }
    if (!chosen && !is_all) {
        chosen = whole.items.items;
        count = whole.items.count;
    }
    bool ok = spark_table(analysis->spark, schema, analysis->dataset, analysis->files.folder,
                          chosen, count, err);
    array_free(&whole.items);
    return ok;
}

bool rank_tables_open(struct fleet_analysis *analysis, const uint64_t *chosen, size_t count,
                      struct error *err)
{
    bool ok = true;
    for (size_t i = 0; i < RANK_TABLES && ok; i++) {
        const struct table_schema *schema = &table_schemas[rank_tables[i]];
        struct output sql;
        if (analysis->spark) {
            ok = make_spark_table(analysis, schema, chosen, count, err);
            continue;
        }
        output_memory(&sql);
        output_format(&sql, "CREATE OR REPLACE VIEW %s AS ", schema->name);
        put_table(analysis, schema, chosen, count, &sql);
        ok = run_statement(analysis, &sql, err);
    }
    return ok;
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

/* The numbers of up to a given number of ranks, evenly over the run. */
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
    put_table(analysis, table, chosen, max_ranks, &sql);
    mem_free(chosen);
    if (sql_run(analysis->connection, "CREATE SCHEMA IF NOT EXISTS ranks", err))
        return run_statement(analysis, &sql, err);
    output_discard(&sql);
    return false;
}

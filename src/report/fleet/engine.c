/*
 * Runs the stages of an analysis: queries, and C between them. Each makes a Parquet file, which the
 * later ones read as a table of its name. state.json, written last, says of which ranks they
 * were made.
 */
#include "base/directory.h"
#include "base/wire/wire.h"
#include "report/fleet/damaged.h"
#include "report/fleet/embedded_queries.h"
#include "report/fleet/heatmap.h"
#include "report/fleet/rank_tables.h"
#include "report/fleet/spark.h"
#include "report/fleet/work.h"
#include "store/tables/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Raised whenever results that C made before would no longer do. */
enum { RESULTS_VERSION = 4 };

#define QUERY(name_) .name = #name_, .sql = fleet_sql_##name_, .purpose = fleet_purpose_##name_

/* A stage is a query or C. */
static const struct stage {
    const char *name, *purpose;
    const char *sql;
    stage_task *make;
    bool is_narrow;     /* reads the compared ranks alone */
    bool has_own_names; /* of its results, which are not one of the stage's name */
    const char *results[2];
} stages[] = {
    {.name = "DamagedRank",
     .make = stage_damaged,
     .purpose = "Ranks that are left out because one of their files cannot be read."},
    {QUERY(Run)},
    {QUERY(Lane)},
    {QUERY(ClockSample)},
    {.name = "Clock",
     .make = stage_clocks,
     .purpose = "Offset and drift of each machine's clock, by least squares over ClockSample; the "
                "error is the robust standard deviation of the residuals."},
    {QUERY(LaneClock)},
    {QUERY(LaneStep)},
    {QUERY(Step)},
    {QUERY(Drift)},
    {QUERY(MatchedStep)},
    {QUERY(Arrival)},
    {QUERY(CollectiveMatch)},
    {QUERY(Communicator)},
    {QUERY(Operation)},
    {QUERY(LaneWait)},
    {QUERY(RankSummary)},
    {.name = "HeatMap",
     .make = stage_heatmap,
     .purpose =
         "The measures of LaneStep as matrices, for pictures: " HEATMAP_FILE ", not a table.",
     .has_own_names = true},
    {.name = "LaneCluster",
     .make = stage_clusters,
     .purpose = "Groups of lanes whose excess over steps is alike, the slowest first."},
    {QUERY(LateLane)},
    {QUERY(ComparedLane)},
    {QUERY(StragglerWork), .is_narrow = true},
    {QUERY(KernelDifference), .is_narrow = true},
    {QUERY(Straggler)},
    {QUERY(ReplayStep)},
    {QUERY(ReplayLane)},
    {.name = "Replay",
     .make = stage_replays,
     .purpose =
         "Replays of steps: CriticalPath, the longest chain of work and transfers of a step, "
         "and WhatIf, how long steps would take with a change.",
     .has_own_names = true,
     .results = {"CriticalPath", "WhatIf"}},
    {.name = "RunFinding",
     .make = stage_findings,
     .purpose = "Findings: what costs the run time, the costliest first."},
};
enum { STAGES = sizeof stages / sizeof *stages };

/* Changes with each query and stage. */
static uint64_t stages_version(void)
{
    uint64_t version = RESULTS_VERSION;
    for (size_t i = 0; i < STAGES; i++) {
        version = hash_content(stages[i].name, strlen(stages[i].name), version);
        if (stages[i].sql)
            version = hash_content(stages[i].sql, strlen(stages[i].sql), version);
    }
    return version;
}

void fleet_queries(struct output *out)
{
    struct json json;
    json_begin(&json, out, true);
    json_open(&json, '[');
    for (size_t i = 0; i < STAGES; i++) {
        json_open(&json, '{');
        json_put_text(&json, "name", text_of(stages[i].name));
        json_put_text(&json, "purpose", text_of(stages[i].purpose));
        if (stages[i].sql)
            json_put_text(&json, "sql", text_of(stages[i].sql));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    output_char(out, '\n');
}

static char *result_path(const struct fleet_analysis *analysis, const char *name)
{
    return path_format("%s/%s.parquet", analysis->directory, name);
}

static bool make_result_view(struct fleet_analysis *analysis, const char *name, struct error *err)
{
    char *path = result_path(analysis, name);
    struct output sql;
    output_memory(&sql);
    output_format(&sql, "CREATE OR REPLACE VIEW %s AS FROM read_parquet(", name);
    sql_put_path(&sql, path);
    output_text(&sql, ", hive_partitioning = false)");
    mem_free(path);
    return run_statement(analysis, &sql, err);
}

/* The nth result of a stage, NULL after the last. */
static const char *result_name(const struct stage *stage, size_t n)
{
    if (!stage->has_own_names)
        return n == 0 ? stage->name : NULL;
    return n < sizeof stage->results / sizeof *stage->results ? stage->results[n] : NULL;
}

/* Results of C, for the queries after it. */
static bool share_results(struct fleet_analysis *analysis, const struct stage *stage,
                          struct error *err)
{
    bool ok = true;
    const char *name;
    for (size_t i = 0; ok && (name = result_name(stage, i)); i++) {
        char *path = result_path(analysis, name);
        ok = make_result_view(analysis, name, err) &&
             (!analysis->spark || spark_result(analysis->spark, name, path, err));
        mem_free(path);
    }
    return ok;
}

static bool run_query(struct fleet_analysis *analysis, const struct stage *stage, struct error *err)
{
    char *path = result_path(analysis, stage->name);
    struct output sql;
    if (analysis->spark) {
        bool ok = spark_query(analysis->spark, stage->name, stage->sql, path, err);
        mem_free(path);
        return ok && make_result_view(analysis, stage->name, err);
    }
    output_memory(&sql);
    output_format(&sql, "COPY (\n%s\n) TO ", stage->sql);
    sql_put_quoted(&sql, '\'', path);
    output_text(&sql, " (FORMAT parquet, COMPRESSION zstd)");
    mem_free(path);
    return run_statement(analysis, &sql, err) && make_result_view(analysis, stage->name, err);
}

struct rank_numbers {
    ARRAY(uint64_t) items;
};

static bool add_rank_number(void *context, const struct sql_result *result, size_t row)
{
    struct rank_numbers *numbers = context;
    *array_push(&numbers->items) = (uint64_t)row_integer(result, row, 0);
    return true;
}

/* Has tables read the files of the compared ranks alone. */
static bool narrow(struct fleet_analysis *analysis, struct error *err)
{
    struct rank_numbers numbers = {0};
    bool ok = each_row(analysis, "SELECT DISTINCT rank FROM ComparedLane ORDER BY rank",
                       add_rank_number, &numbers, err);
    *array_push(&numbers.items) = UINT64_MAX; /* so that none is not all */
    ok = ok && rank_tables_open(analysis, numbers.items.items, numbers.items.count, err);
    array_free(&numbers.items);
    return ok;
}

static bool run_stages(struct fleet_analysis *analysis,
                       const struct fleet_analysis_options *options, struct error *err)
{
    bool ok = rank_tables_open(analysis, NULL, 0, err);
    for (size_t i = 0; i < STAGES && ok; i++) {
        const struct stage *stage = &stages[i];
        bool was_narrow = i > 0 && stages[i - 1].is_narrow;
        if (options->progress)
            options->progress(options->context, stage->name, i, STAGES);
        if (stage->is_narrow && !was_narrow)
            ok = narrow(analysis, err);
        else if (was_narrow && !stage->is_narrow)
            ok = rank_tables_open(analysis, NULL, 0, err);
        ok = ok && (stage->sql ? run_query(analysis, stage, err)
                               : stage->make(analysis, err) && share_results(analysis, stage, err));
        if (!ok) {
            struct error inner = *err;
            error_set(err, "%s: %.400s", stage->name, inner.text);
            fleet_advise(err);
        }
    }
    return ok;
}

/* A stage that fails may do so by a file that cannot be read: then once more, without its rank. */
static bool run_readable(struct fleet_analysis *analysis,
                         const struct fleet_analysis_options *options, struct error *err)
{
    struct error failure;
    size_t damaged;
    if (run_stages(analysis, options, &failure))
        return true;
    if (!damaged_find(analysis, &damaged, err))
        return false;
    if (damaged > 0)
        return run_stages(analysis, options, err);
    *err = failure;
    return false;
}

/* What results were made of. */
static void put_state(const struct fleet_analysis *analysis, struct output *out)
{
    struct json json;
    const struct rank_file *rank;
    json_begin(&json, out, true);
    json_open(&json, '{');
    json_put_uint(&json, "version", stages_version());
    json_put_text(&json, "dataset", text_of(analysis->dataset));
    json_put_text(&json, "run", text_of(analysis->run));
    json_key(&json, "ranks");
    json_open(&json, '[');
    array_each (rank, &analysis->files.ranks) {
        json_open_row(&json, '{');
        json_put_text(&json, "path", text_of(rank->place));
        json_put_uint(&json, "size", rank->size);
        json_put_int(&json, "changed_ns", rank->changed_ns);
        json_close_row(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    output_char(out, '\n');
}

static char *state_path(const struct fleet_analysis *analysis)
{
    return path_format("%s/state.json", analysis->directory);
}

static bool is_up_to_date(const struct fleet_analysis *analysis)
{
    char *path = state_path(analysis);
    struct output expected;
    struct file file;
    struct error ignored;
    output_memory(&expected);
    put_state(analysis, &expected);
    bool same = false;
    if (file_open(&file, path, &ignored)) {
        same = file.size == expected.size && memcmp(file.data, expected.data, file.size) == 0;
        file_close(&file);
    }
    output_discard(&expected);
    mem_free(path);
    return same;
}

static bool write_state(const struct fleet_analysis *analysis, struct error *err)
{
    char *path = state_path(analysis);
    struct output out;
    bool ok = output_open(&out, path, err);
    if (ok) {
        put_state(analysis, &out);
        ok = output_commit(&out, err);
    }
    mem_free(path);
    return ok;
}

/* Queries run in this process, unless Spark is named. */
static bool start_engine(struct fleet_analysis *analysis, const char *engine, struct error *err)
{
    return !engine || strcmp(engine, ENGINE_LOCAL) == 0 ||
           spark_start(&analysis->spark, engine, err);
}

static bool make_results(struct fleet_analysis *analysis,
                         const struct fleet_analysis_options *options, struct error *err)
{
    char *path = state_path(analysis);
    bool ok = unlink(path) == 0 || errno == ENOENT ||
              error_in_file(err, path, "cannot remove: %s", strerror(errno));
    mem_free(path);
    ok = ok && start_engine(analysis, options->engine, err) &&
         run_readable(analysis, options, err) && write_state(analysis, err);
    if (analysis->spark)
        spark_stop(analysis->spark);
    analysis->spark = NULL;
    return ok;
}

static bool open_results(struct fleet_analysis *analysis, struct error *err)
{
    bool ok = true;
    const char *name;
    for (size_t i = 0; i < STAGES; i++)
        for (size_t n = 0; ok && (name = result_name(&stages[i], n)); n++)
            ok = make_result_view(analysis, name, err);
    return ok;
}

/* In the dataset or, where that cannot be written to, below the workspace. */
static bool choose_directory(struct fleet_analysis *analysis, const char *data_path,
                             struct error *err)
{
    const char *escaped = analysis->files.folder + strlen("run=");
    char *directory = path_format("%s/_analysis/%s", analysis->dataset, escaped);
    struct error ignored;
    if (!make_directories(directory, &ignored) || access(directory, W_OK) != 0) {
        char *workspace;
        mem_free(directory);
        if (!workspace_open(data_path, &workspace, err))
            return false;
        directory =
            path_format("%s/.fleet/%016" PRIx64 "/%s", workspace,
                        hash_content(analysis->dataset, strlen(analysis->dataset), 0), escaped);
        mem_free(workspace);
        if (!make_directories(directory, err)) {
            mem_free(directory);
            return false;
        }
    }
    analysis->directory = directory;
    return true;
}

/* One process at a time makes the results. */
static bool lock_directory(struct fleet_analysis *analysis, struct error *err)
{
    char *path = path_format("%s/.lock", analysis->directory);
    analysis->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    bool ok = analysis->lock >= 0 && flock(analysis->lock, LOCK_EX) == 0;
    if (!ok)
        error_in_file(err, path, "cannot lock: %s", strerror(errno));
    mem_free(path);
    return ok;
}

/* The server limits the memory of its processes: DuckDB spills before it meets that limit. */
static size_t engine_memory(void)
{
    struct rlimit limit;
    size_t available = mem_available();
    bool is_limited = getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur / 2 < available;
    return is_limited ? (size_t)limit.rlim_cur / 2 : available;
}

static bool open_engine(struct fleet_analysis *analysis, unsigned threads, struct error *err)
{
    const char *const directories[] = {analysis->dataset, analysis->directory};
    const struct sql_limits limits = {.threads = threads, .memory_bytes = engine_memory()};
    return sql_open_directories(&analysis->database, directories, 2, &limits, err) &&
           sql_connect(&analysis->connection, analysis->database, err);
}

bool fleet_analysis_open(struct fleet_analysis **analysis,
                         const struct fleet_analysis_options *options, struct error *err)
{
    struct fleet_analysis *opened = mem_zeroed(1, sizeof *opened);
    *opened = (struct fleet_analysis){.dataset = realpath(options->dataset, NULL),
                                      .run = mem_copy_text(options->run, strlen(options->run)),
                                      .lock = -1};
    bool ok = opened->dataset != NULL ||
              error_in_file(err, options->dataset, "cannot open: %s", strerror(errno));
    ok = ok && run_files_find(&opened->files, opened->dataset, opened->run, err) &&
         choose_directory(opened, options->data_path, err) && lock_directory(opened, err) &&
         open_engine(opened, options->threads, err);
    if (!ok) {
        fleet_analysis_close(opened);
        opened = NULL;
    }
    *analysis = opened;
    return ok;
}

struct sql_connection *fleet_connection(const struct fleet_analysis *analysis)
{
    return analysis->connection;
}

char *fleet_results(const struct fleet_analysis_options *options)
{
    struct error ignored;
    struct fleet_analysis found = {.dataset = realpath(options->dataset, NULL),
                                   .run = mem_copy_text(options->run, strlen(options->run))};
    bool ok = found.dataset && run_files_find(&found.files, found.dataset, found.run, &ignored) &&
              choose_directory(&found, options->data_path, &ignored) && is_up_to_date(&found);
    if (!ok)
        mem_free(found.directory);
    run_files_free(&found.files);
    free(found.dataset);
    mem_free(found.run);
    return ok ? found.directory : NULL;
}

static bool read_count(void *context, const struct sql_result *result, size_t row)
{
    *(size_t *)context = (size_t)row_integer(result, row, 0);
    return true;
}

bool fleet_left_out(struct fleet_analysis *analysis, size_t *ranks, struct error *err)
{
    return each_row(analysis, "SELECT count(*) FROM DamagedRank", read_count, ranks, err);
}

bool fleet_analyze(struct fleet_analysis *analysis, const struct fleet_analysis_options *options,
                   struct error *err)
{
    if ((options->force || !is_up_to_date(analysis)) && !make_results(analysis, options, err))
        return false;
    return open_results(analysis, err);
}

void fleet_analysis_close(struct fleet_analysis *analysis)
{
    if (analysis->connection)
        sql_disconnect(analysis->connection);
    if (analysis->database)
        sql_close(analysis->database);
    if (analysis->lock >= 0)
        close(analysis->lock);
    run_files_free(&analysis->files);
    free(analysis->dataset);
    mem_free(analysis->run);
    mem_free(analysis->directory);
    mem_free(analysis);
}

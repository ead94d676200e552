/*
 * GET runs: runs of many ranks. Their report, their lanes and steps, a picture of a measure over
 * both, and what happened in a step.
 */
#include "fleet/fleet.h"
#include "serve/fleet_query.h"
#include "serve/handlers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void list_fleet_runs(struct request *request, struct reply *reply)
{
    dataset_names datasets = datasets_list(request->server);
    struct json json = reply_json(reply);
    struct error ignored;
    json_open(&json, '{');
    json_key(&json, "runs");
    json_open(&json, '[');
    char **dataset, **run;
    array_each (dataset, &datasets) {
        run_names names;
        char *path = dataset_path(request->server, *dataset);
        if (path && fleet_runs(path, &names, &ignored)) {
            array_each (run, &names) {
                json_open(&json, '{');
                json_put_text(&json, "dataset", text_of(*dataset));
                json_put_text(&json, "run", text_of(*run));
                json_close(&json, '}');
            }
            run_names_free(&names);
        }
        mem_free(path);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    datasets_free(&datasets);
}

void get_fleet_run(struct request *request, struct reply *reply)
{
    struct fleet_run run;
    if (!fleet_run_open(&run, request, reply))
        return;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "dataset", text_of(request->parameters[0]));
    json_put_text(&json, "run", text_of(run.run));
    json_put_text(&json, "status", TEXT("ready"));
    json_close(&json, '}');
    fleet_run_close(&run);
}

void get_fleet_report(struct request *request, struct reply *reply)
{
    struct fleet_run run;
    struct fleet_analysis *analysis;
    struct error err;
    if (!fleet_run_open(&run, request, reply))
        return;
    const struct fleet_analysis_options options = {
        .dataset = run.dataset, .run = run.run, .data_path = request->server->data_path};
    const struct fleet_report_style style = {.format = FLEET_JSON, .with_sql = true};
    bool ok = fleet_analysis_open(&analysis, &options, &err);
    if (ok) {
        reply->type = "application/json";
        ok = fleet_analyze(analysis, &options, &err) &&
             fleet_report(analysis, &style, &reply->body, &err);
        fleet_analysis_close(analysis);
    }
    if (!ok)
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
    fleet_run_close(&run);
}

/* How lanes follow one another. */
static const struct {
    const char *name, *sql;
} orders[] = {
    {"rank", "rank, device_idx"},
    {"machine", "regexp_replace(instance, '[0-9]+$', ''), TRY_CAST(regexp_extract(instance, "
                "'[0-9]+$') AS HUGEINT), instance, rank, device_idx"}, /* node9 before node10 */
    {"slowest", "median_excess_ns + late_ns / steps DESC, rank, device_idx"},
};
enum { ORDERS = sizeof orders / sizeof *orders };

static bool read_order(const struct request *request, struct reply *reply, const char **sql)
{
    const char *word = request_argument(request, "order");
    for (size_t i = 0; i < ORDERS; i++)
        if (strcmp(word ? word : "rank", orders[i].name) == 0) {
            *sql = orders[i].sql;
            return true;
        }
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"order\" must be rank, machine or slowest");
    return false;
}

void get_fleet_lanes(struct request *request, struct reply *reply)
{
    struct run_query query;
    struct output sql;
    const char *order;
    if (!read_order(request, reply, &order) || !run_query_begin(&query, request, reply))
        return;
    struct json json = reply_json(reply);
    output_memory(&sql);
    json_open(&json, '{');
    output_format(&sql,
                  "SELECT rank, device_idx AS device, instance AS machine, median_excess_ns, "
                  "late_steps FROM RankSummary ORDER BY %s",
                  order);
    bool ok = put_rows(&query, &json, "lanes", &sql, reply);
    output_text(&sql, "SELECT step, median_ns, is_outlier FROM Step ORDER BY step");
    ok = ok && put_rows(&query, &json, "steps", &sql, reply);
    if (ok)
        json_close(&json, '}');
    output_discard(&sql);
    run_query_end(&query);
}

/* What the picture can show; LaneStep has it, so that one file is read. */
static const struct {
    const char *name, *sql;
} measures[] = {
    {"excess", "excess_ns"},
    {"own", "own_ns"},
    {"duration", "duration_ns"},
    {"compute", "compute_ns"},
    {"communication", "duration_ns - own_ns"},
    {"copy", "copy_ns"},
    {"idle", "idle_host_ns + idle_kernel_ns + idle_other_ns"},
    {"idle_host", "idle_host_ns"},
};
enum { MEASURES = sizeof measures / sizeof *measures };

static bool read_measure(const struct request *request, struct reply *reply, const char **sql)
{
    const char *word = request_argument(request, "measure");
    for (size_t i = 0; i < MEASURES; i++)
        if (strcmp(word ? word : "excess", measures[i].name) == 0) {
            *sql = measures[i].sql;
            return true;
        }
    reply_error(reply, MHD_HTTP_BAD_REQUEST,
                "\"measure\" must be excess, own, duration, compute, communication, copy, idle or "
                "idle_host");
    return false;
}

/* Positions, first and last, and into how many cells they are divided. */
struct cell_range {
    uint64_t first, last, cells;
};

static bool read_range(const struct request *request, struct reply *reply, const char *name,
                       struct cell_range *extent)
{
    const char *text = request_argument(request, name);
    char *end;
    extent->first = 0;
    extent->last = UINT32_MAX;
    if (!text)
        return true;
    bool ok = text[0] >= '0' && text[0] <= '9';
    unsigned long long first = strtoull(text, &end, 10), last = 0;
    ok = ok && *end == '-' && end[1] >= '0' && end[1] <= '9';
    if (ok)
        last = strtoull(end + 1, &end, 10);
    if (!ok || *end || first > last || last > UINT32_MAX) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "\"%s\" must be two positions, first and last, such as 0-99", name);
        return false;
    }
    *extent = (struct cell_range){first, last, extent->cells};
    return true;
}

static bool read_extents(const struct request *request, struct reply *reply,
                         struct cell_range *rows, struct cell_range *steps)
{
    rows->cells = steps->cells = 512;
    if (!request_number(request, reply, "width", MAX_HEATMAP_SIDE, &steps->cells) ||
        !request_number(request, reply, "height", MAX_HEATMAP_SIDE, &rows->cells) ||
        !read_range(request, reply, "rows", rows) || !read_range(request, reply, "steps", steps))
        return false;
    if (rows->cells > 0 && steps->cells > 0 && rows->cells * steps->cells <= MAX_HEATMAP_CELLS)
        return true;
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "width times height must be from 1 to %d",
                MAX_HEATMAP_CELLS);
    return false;
}

/* Limits an extent to what is there; cells have one position at least. */
static bool fit_extent(struct cell_range *extent, uint64_t count)
{
    if (extent->first >= count)
        return false;
    extent->last = extent->last < count ? extent->last : count - 1;
    uint64_t size = extent->last - extent->first + 1;
    extent->cells = extent->cells < size ? extent->cells : size;
    return true;
}

static bool fit_extents(struct run_query *query, struct cell_range *rows, struct cell_range *steps,
                        struct reply *reply)
{
    struct output sql;
    bool ok = true;
    output_memory(&sql);
    output_text(&sql, "SELECT (SELECT count(*) FROM RankSummary), (SELECT count(*) FROM Step)");
    struct sql_result *result = profile_query_run(&query->query, &sql, reply);
    output_discard(&sql);
    if (!result)
        return false;
    bool has_row = profile_query_next(&query->query, result, reply, &ok) > 0;
    bool is_inside = has_row && fit_extent(rows, (uint64_t)sql_integer(result, 0, 0)) &&
                     fit_extent(steps, (uint64_t)sql_integer(result, 0, 1));
    sql_free(result);
    if (ok && !is_inside)
        reply_error(reply, MHD_HTTP_NOT_FOUND, "the run has no such rows or steps");
    return ok && is_inside;
}

static void put_heatmap_query(struct output *sql, const char *order, const char *measure,
                              const struct cell_range *rows, const struct cell_range *steps)
{
    output_format(sql,
                  "WITH lanes AS (SELECT rank, device_idx, row_number() OVER (ORDER BY %s) - 1 AS "
                  "position FROM RankSummary), lane_cells AS (SELECT rank, device_idx, "
                  "((position - %" PRIu64 ") * %" PRIu64 ") // %" PRIu64
                  " AS cell FROM lanes WHERE position BETWEEN %" PRIu64 " AND %" PRIu64 "), ",
                  order, rows->first, rows->cells, rows->last - rows->first + 1, rows->first,
                  rows->last);
    output_format(
        sql,
        "steps AS (SELECT step, row_number() OVER (ORDER BY step) - 1 AS position FROM "
        "Step), step_cells AS (SELECT step, ((position - %" PRIu64 ") * %" PRIu64 ") // %" PRIu64
        " AS cell FROM steps WHERE position BETWEEN %" PRIu64 " AND %" PRIu64 ") ",
        steps->first, steps->cells, steps->last - steps->first + 1, steps->first, steps->last);
    output_format(sql,
                  "SELECT CAST(l.cell * %" PRIu64
                  " + s.cell AS BIGINT) AS cell, CAST(max(%s) AS BIGINT), "
                  "CAST(avg(%s) AS BIGINT) "
                  "FROM LaneStep JOIN lane_cells AS l USING (rank, device_idx) "
                  "JOIN step_cells AS s USING (step) GROUP BY 1",
                  steps->cells, measure, measure);
}

static float cell_value(const struct sql_result *result, size_t row, size_t column)
{
    struct text value = sql_value(result, row, column);
    char digits[64] = "";
    if (!value.data || value.size >= sizeof digits)
        return NAN;
    memcpy(digits, value.data, value.size);
    return strtof(digits, NULL);
}

/* Rows and columns, then the largest value of each cell and the mean of each, row by row: 32 bits
 * each, little-endian; NaN where nothing is. */
static bool put_cells(struct run_query *query, struct output *sql, size_t rows, size_t columns,
                      struct reply *reply)
{
    struct sql_result *result = profile_query_run(&query->query, sql, reply);
    size_t count = rows * columns;
    bool ok = true;
    if (!result)
        return false;
    float *cells = mem_alloc(2 * count * sizeof *cells);
    for (size_t i = 0; i < 2 * count; i++)
        cells[i] = NAN;
    for (size_t got; (got = profile_query_next(&query->query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < got; row++) {
            size_t cell = (size_t)sql_integer(result, row, 0);
            if (cell >= count)
                continue;
            cells[cell] = cell_value(result, row, 1);
            cells[count + cell] = cell_value(result, row, 2);
        }
    sql_free(result);
    if (ok) {
        const uint32_t sizes[] = {(uint32_t)rows, (uint32_t)columns};
        reply->type = "application/octet-stream";
        output_write(&reply->body, (const char *)sizes, sizeof sizes);
        output_write(&reply->body, (const char *)cells, 2 * count * sizeof *cells);
    }
    mem_free(cells);
    return ok;
}

void get_fleet_heatmap(struct request *request, struct reply *reply)
{
    struct run_query query;
    struct cell_range rows, steps;
    struct output sql;
    const char *order, *measure;
    if (!read_order(request, reply, &order) || !read_measure(request, reply, &measure) ||
        !read_extents(request, reply, &rows, &steps) || !run_query_begin(&query, request, reply))
        return;
    if (fit_extents(&query, &rows, &steps, reply)) {
        output_memory(&sql);
        put_heatmap_query(&sql, order, measure, &rows, &steps);
        put_cells(&query, &sql, rows.cells, steps.cells, reply);
        output_discard(&sql);
    }
    run_query_end(&query);
}

/* Collectives of a step in the order in which most is waited; one is told by its position. */
static const char match_columns[] =
    "communicator, operation, sender, receiver, sequence, step, occurrence";
static const char match_order[] = "waited_ns DESC, communicator, operation, sender, receiver, "
                                  "sequence, occurrence";

static bool put_collectives(struct run_query *query, struct json *json, uint64_t step,
                            uint64_t chosen, struct reply *reply)
{
    struct output sql;
    output_memory(&sql);
    output_format(&sql,
                  "SELECT %s, ranks, group_size, is_complete, skew_ns, last_rank, last_device, "
                  "waited_ns, transfer_ns, bytes, bus_bandwidth FROM CollectiveMatch WHERE step = "
                  "%" PRIu64 " AND ranks > 1 ORDER BY %s LIMIT %d",
                  match_columns, step, match_order, MAX_STEP_COLLECTIVES);
    bool ok = put_rows(query, json, "collectives", &sql, reply);
    output_format(&sql,
                  "WITH chosen AS (SELECT %s, transfer_ns, skew_ns FROM CollectiveMatch WHERE step "
                  "= %" PRIu64 " AND ranks > 1 ORDER BY %s LIMIT 1 OFFSET %" PRIu64 ") ",
                  match_columns, step, match_order, chosen);
    output_format(&sql,
                  "SELECT rank, device_idx AS device, instance AS machine, skew_ns + transfer_ns - "
                  "duration_ns AS arrival_ns, duration_ns, duration_ns - transfer_ns AS waited_ns, "
                  "start_ns, end_ns FROM Arrival JOIN chosen USING (%s) ORDER BY rank, device_idx",
                  match_columns);
    ok = ok && put_rows(query, json, "arrivals", &sql, reply);
    output_discard(&sql);
    return ok;
}

static bool put_step(struct run_query *query, struct json *json, uint64_t step, struct reply *reply)
{
    struct output sql;
    output_memory(&sql);
    output_format(&sql,
                  "SELECT step, ranks, start_ns, end_ns, median_ns, min_ns, max_ns, own_ns, "
                  "slowest_rank, slowest_device, slowest_excess_ns, late_lanes, usual_ns, "
                  "is_outlier, EXISTS (SELECT 1 FROM MatchedStep AS m WHERE m.step = Step.step) AS "
                  "is_matched FROM Step WHERE step = %" PRIu64,
                  step);
    bool ok = put_rows(query, json, "step", &sql, reply);
    output_format(&sql,
                  "SELECT position, rank, device_idx AS device, kind, communicator, operation, "
                  "start_ns, end_ns, compute_ns, copy_ns, host_ns, other_ns, replay_error_ns FROM "
                  "CriticalPath WHERE step = %" PRIu64 " ORDER BY position LIMIT %d",
                  step, MAX_STEP_COLLECTIVES);
    ok = ok && put_rows(query, json, "path", &sql, reply);
    output_format(&sql, "SELECT DISTINCT step FROM CriticalPath ORDER BY step LIMIT %d",
                  MAX_STEP_COLLECTIVES);
    ok = ok && put_rows(query, json, "path_steps", &sql, reply);
    output_discard(&sql);
    return ok;
}

void get_fleet_step(struct request *request, struct reply *reply)
{
    struct run_query query;
    uint64_t step, collective = 0;
    if (!read_step(request, reply, &step) ||
        !request_number(request, reply, "collective", MAX_STEP_COLLECTIVES, &collective) ||
        !run_query_begin(&query, request, reply))
        return;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    if (put_step(&query, &json, step, reply) &&
        put_collectives(&query, &json, step, collective, reply))
        json_close(&json, '}');
    run_query_end(&query);
}

/*
 * GET runs: runs of many ranks. Their report, and what happened in a step.
 */
#include "report/fleet/fleet.h"
#include "serve/fleet_query.h"
#include "serve/handlers.h"

#include <inttypes.h>
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
    const struct fleet_run *run = &request->subject->run;
    char *results = fleet_run_results(request->server->fleet_runs, run, reply);
    if (!results)
        return;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "dataset", text_of(run->dataset));
    json_put_text(&json, "run", text_of(run->name));
    json_put_text(&json, "status", TEXT("ready"));
    json_close(&json, '}');
    mem_free(results);
}

void get_fleet_report(struct request *request, struct reply *reply)
{
    const struct fleet_run *run = &request->subject->run;
    struct fleet_analysis *analysis;
    struct error err;
    char *results = fleet_run_results(request->server->fleet_runs, run, reply);
    if (!results)
        return;
    mem_free(results);
    const struct fleet_analysis_options options = {
        .dataset = run->path, .run = run->name, .data_path = request->server->data_path};
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
                  "start_ns, end_ns FROM (SELECT * FROM Arrival WHERE step = %" PRIu64
                  ") JOIN chosen USING (%s) ORDER BY rank, device_idx",
                  step, match_columns);
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

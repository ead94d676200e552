/*
 * GET runs: runs of many ranks. Their report, and what happened in a step.
 */
#include "report/fleet/fleet.h"
#include "serve/api/handlers.h"
#include "serve/embedded_queries.h"
#include "serve/runs/run_query.h"

#include <inttypes.h>
#include <stdlib.h>

/* A dataset that cannot be read is left out: one damaged directory must not hide the others. */
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
                put_created(&json, fleet_run_changed_ms(path, *run));
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

static bool put_collectives(struct run_query *query, struct json *json, uint64_t step,
                            uint64_t chosen, struct reply *reply)
{
    const struct sql_blank blanks[] = {{"STEP", .number = (int64_t)step},
                                       {"LIMIT", .number = MAX_STEP_COLLECTIVES},
                                       {"CHOSEN", .number = (int64_t)chosen}};
    return put_filled(query, json, "collectives", serve_sql_fleet_step_collectives, blanks, 3,
                      reply) &&
           put_filled(query, json, "arrivals", serve_sql_fleet_step_arrivals, blanks, 3, reply);
}

static bool put_step(struct run_query *query, struct json *json, uint64_t step, struct reply *reply)
{
    const struct sql_blank blanks[] = {{"STEP", .number = (int64_t)step},
                                       {"LIMIT", .number = MAX_STEP_COLLECTIVES}};
    return put_filled(query, json, "step", serve_sql_fleet_step, blanks, 2, reply) &&
           put_filled(query, json, "path", serve_sql_fleet_step_path, blanks, 2, reply) &&
           put_filled(query, json, "path_steps", serve_sql_fleet_path_steps, blanks, 2, reply);
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

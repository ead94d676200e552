/*
 * GET runs/…/steps/N/lanes: some lanes of a step, with what their timelines are aligned by.
 */
#include "report/fleet/fleet.h"
#include "serve/api/handlers.h"
#include "serve/embedded_queries.h"
#include "serve/runs/rank_links.h"
#include "serve/runs/run_query.h"

#include <inttypes.h>
#include <stdlib.h>

struct lane {
    uint64_t rank, device;
};
typedef ARRAY(struct lane) lane_list;

static bool read_number(const char **at, uint64_t *number)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return *number <= INT64_MAX;
}

/* "19,3.1": ranks, those of several devices with the device's number. */
static bool read_lanes(const struct request *request, struct reply *reply, lane_list *lanes)
{
    const char *at = request_argument(request, "lanes");
    bool ok = true;
    while (at && *at && ok) {
        struct lane lane = {0};
        ok = read_number(&at, &lane.rank);
        if (ok && *at == '.') {
            at++;
            ok = read_number(&at, &lane.device);
        }
        ok = ok && (*at == '\0' || (*at == ',' && at[1])) && lanes->count < MAX_STEP_LANES;
        at += ok && *at == ',';
        if (ok)
            *array_push(lanes) = lane;
    }
    if (!ok)
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "\"lanes\" must be up to %d ranks, such as 19,3.1 (rank 3, device 1)",
                    MAX_STEP_LANES);
    return ok;
}

/* The lanes asked for, the slowest, and the median: of the other lanes, those of the same program
 * first, the one whose own time is nearest to what was expected. */
static void put_lanes_query(struct output *sql, uint64_t step, const lane_list *lanes)
{
    struct output wanted;
    const struct lane *lane;
    output_memory(&wanted);
    array_each (lane, lanes)
        output_format(&wanted, " UNION ALL SELECT %" PRIu64 ", %" PRIu64 ", NULL", lane->rank,
                      lane->device);
    output_char(&wanted, '\0');
    sql_fill(sql, serve_sql_fleet_step_lanes,
             (const struct sql_blank[]){{"STEP", .number = (int64_t)step},
                                        {"WANTED", .text = wanted.data}},
             2);
    output_discard(&wanted);
}

/* The profile that a lane's rank opens as; its rank and machine are the first and third column. */
static void put_profile(struct json *json, const struct run_query *query,
                        const struct sql_result *result, size_t row)
{
    struct text machine = sql_value(result, row, 2);
    char *instance = mem_copy_text(machine.data ? machine.data : "", machine.size);
    const struct rank_place place = {query->run->name, instance, sql_integer(result, row, 0)};
    char *name = rank_profile_name(query->run->dataset, place.run, place.rank);
    json_put_text(json, "profile", text_of(name));
    json_key(json, "has_timeline");
    json_bool(json, rank_has_timeline(query->run->path, &place));
    mem_free(name);
    mem_free(instance);
}

static bool put_lanes(struct run_query *query, struct json *json, struct output *sql,
                      struct reply *reply)
{
    bool ok = true;
    struct sql_result *result = profile_query_run(&query->query, sql, reply);
    if (!result)
        return false;
    json_key(json, "lanes");
    json_open(json, '[');
    for (size_t rows; (rows = profile_query_next(&query->query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < rows; row++) {
            json_open(json, '{');
            put_values(json, result, row);
            put_profile(json, query, result, row);
            json_close(json, '}');
        }
    json_close(json, ']');
    sql_free(result);
    return ok;
}

void get_fleet_lanes_of_step(struct request *request, struct reply *reply)
{
    struct run_query query;
    struct output sql;
    lane_list lanes = {0};
    uint64_t step;
    if (read_step(request, reply, &step) && read_lanes(request, reply, &lanes) &&
        run_query_begin(&query, request, reply)) {
        struct json json = reply_json(reply);
        output_memory(&sql);
        json_open(&json, '{');
        output_format(&sql, "SELECT start_ns, end_ns FROM Step WHERE step = %" PRIu64, step);
        bool ok = put_rows(&query, &json, "step", &sql, reply);
        put_lanes_query(&sql, step, &lanes);
        if (ok && put_lanes(&query, &json, &sql, reply))
            json_close(&json, '}');
        output_discard(&sql);
        run_query_end(&query);
    }
    array_free(&lanes);
}

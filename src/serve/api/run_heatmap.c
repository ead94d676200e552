/*
 * GET runs/…/lanes, heatmap and worst: the lanes and steps of a run, a picture of a measure over
 * both, and the largest value in a part of it.
 */
#include "report/fleet/fleet.h"
#include "serve/api/handlers.h"
#include "serve/embedded_queries.h"
#include "serve/runs/run_query.h"

#include <inttypes.h>
#include <stdlib.h>

/* How lanes follow one another, as in ordered_lane.sql. */
static bool read_order(const struct request *request, struct reply *reply, const char **order)
{
    static const char *const orders[] = {"rank", "machine", "slowest", "cluster"};
    const char *word = request_argument(request, "order");
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(word ? word : "rank", orders[i]) == 0) {
            *order = orders[i];
            return true;
        }
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"order\" must be rank, machine, slowest or cluster");
    return false;
}

void get_fleet_lanes(struct request *request, struct reply *reply)
{
    struct run_query query;
    const char *order;
    if (!read_order(request, reply, &order) || !run_query_begin(&query, request, reply))
        return;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "has_timelines");
    json_bool(&json, run_has_timelines(query.run->path, query.run->name));
    const struct sql_blank blanks[] = {{"ORDER", .text = order}};
    bool ok = put_filled(&query, &json, "lanes", serve_sql_fleet_lanes, blanks, 1, reply) &&
              put_filled(&query, &json, "steps", serve_sql_fleet_steps, NULL, 0, reply) &&
              put_filled(&query, &json, "clusters", serve_sql_fleet_clusters, NULL, 0, reply);
    if (ok)
        json_close(&json, '}');
    run_query_end(&query);
}

static bool read_measure(const struct request *request, struct reply *reply, size_t *measure)
{
    const char *word = request_argument(request, "measure");
    for (*measure = 0; *measure < HEATMAP_MEASURES; ++*measure)
        if (strcmp(word ? word : "excess", heatmap_measures[*measure]) == 0)
            return true;
    reply_error(reply, MHD_HTTP_BAD_REQUEST,
                "\"measure\" must be excess, own, duration, compute, communication, copy, idle or "
                "idle_host");
    return false;
}

static bool read_range(const struct request *request, struct reply *reply, const char *name,
                       struct heatmap_range *range)
{
    const char *text = request_argument(request, name);
    char *end;
    range->first = 0;
    range->last = UINT32_MAX;
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
    range->first = first;
    range->last = last;
    return true;
}

static bool read_cells(const struct request *request, struct reply *reply,
                       struct heatmap_view *view)
{
    uint64_t width = 512, height = 512;
    if (!request_number(request, reply, "width", MAX_HEATMAP_SIDE, &width) ||
        !request_number(request, reply, "height", MAX_HEATMAP_SIDE, &height))
        return false;
    view->rows.cells = height;
    view->steps.cells = width;
    if (width > 0 && height > 0 && width * height <= MAX_HEATMAP_CELLS)
        return true;
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "width times height must be from 1 to %d",
                MAX_HEATMAP_CELLS);
    return false;
}

/* Limits a range to what is there; cells have one position at least. */
static bool fit_range(struct heatmap_range *range, size_t count)
{
    if (range->first >= count)
        return false;
    range->last = range->last < count ? range->last : count - 1;
    size_t size = range->last - range->first + 1;
    range->cells = range->cells < size ? range->cells : size;
    return true;
}

/* What a request asks for of the matrices of a run. */
struct heatmap_request {
    struct run_query query;
    struct heatmap map;
    struct heatmap_view view;
    uint32_t *lanes;
};

/* The matrices' lanes in the order that was asked for. */
static bool read_lanes(struct heatmap_request *wanted, const char *order, struct reply *reply)
{
    struct output sql;
    bool ok = true;
    size_t count = 0;
    output_memory(&sql);
    sql_fill(&sql, serve_sql_fleet_lane_order, (const struct sql_blank[]){{"ORDER", .text = order}},
             1);
    struct sql_result *result = profile_query_run(&wanted->query.query, &sql, reply);
    output_discard(&sql);
    if (!result)
        return false;
    wanted->lanes = mem_zeroed(wanted->map.lanes, sizeof *wanted->lanes);
    for (size_t rows; (rows = profile_query_next(&wanted->query.query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < rows; row++, count++) {
            size_t lane = (size_t)sql_integer(result, row, 0);
            if (count < wanted->map.lanes && lane < wanted->map.lanes)
                wanted->lanes[count] = (uint32_t)lane;
        }
    sql_free(result);
    wanted->view.lanes = wanted->lanes;
    if (ok && count != wanted->map.lanes)
        reply_error(reply, MHD_HTTP_CONFLICT,
                    "the results of the run were made again meanwhile; try again");
    return ok && count == wanted->map.lanes;
}

static bool open_map(struct heatmap_request *wanted, struct reply *reply)
{
    struct error err;
    if (!heatmap_open(&wanted->map, wanted->query.directory, &err)) {
        reply_error(reply, MHD_HTTP_INTERNAL_SERVER_ERROR,
                    "%s; kymo fleet report --force makes the results of the run again", err.text);
        return false;
    }
    if (wanted->map.lanes == 0)
        reply_error(reply, MHD_HTTP_NOT_FOUND,
                    "the ranks of this run have too few steps in common for a picture");
    else if (!fit_range(&wanted->view.rows, wanted->map.lanes) ||
             !fit_range(&wanted->view.steps, wanted->map.steps))
        reply_error(reply, MHD_HTTP_NOT_FOUND, "the run has no such rows or steps");
    else
        return true;
    heatmap_close(&wanted->map);
    return false;
}

/* Reads what a request asks for, except into how many cells it is divided. */
static bool heatmap_begin(struct heatmap_request *wanted, struct request *request,
                          struct reply *reply)
{
    const char *order;
    if (!read_order(request, reply, &order) ||
        !read_measure(request, reply, &wanted->view.measure) ||
        !read_range(request, reply, "rows", &wanted->view.rows) ||
        !read_range(request, reply, "steps", &wanted->view.steps) ||
        !run_query_begin(&wanted->query, request, reply))
        return false;
    if (open_map(wanted, reply)) {
        if (read_lanes(wanted, order, reply))
            return true;
        mem_free(wanted->lanes);
        heatmap_close(&wanted->map);
    }
    run_query_end(&wanted->query);
    return false;
}

static void heatmap_end(struct heatmap_request *wanted)
{
    mem_free(wanted->lanes);
    heatmap_close(&wanted->map);
    run_query_end(&wanted->query);
}

/* Rows and columns, then the largest value of each cell and the mean of each, row by row, then the
 * scale of the measure, both ends: 32 bits each, little-endian; NaN where nothing is. */
void get_fleet_heatmap(struct request *request, struct reply *reply)
{
    struct heatmap_request wanted = {0};
    if (!read_cells(request, reply, &wanted.view) || !heatmap_begin(&wanted, request, reply))
        return;
    const struct heatmap_view *view = &wanted.view;
    const uint32_t sizes[] = {(uint32_t)view->rows.cells, (uint32_t)view->steps.cells};
    size_t count = view->rows.cells * view->steps.cells;
    float *cells = mem_alloc(2 * count * sizeof *cells);
    heatmap_draw(&wanted.map, view, cells, cells + count);
    reply->type = "application/octet-stream";
    output_write(&reply->body, (const char *)sizes, sizeof sizes);
    output_write(&reply->body, (const char *)cells, 2 * count * sizeof *cells);
    output_write(&reply->body, (const char *)&wanted.map.scales[view->measure],
                 sizeof *wanted.map.scales);
    mem_free(cells);
    heatmap_end(&wanted);
}

/* Positions, not numbers: row and step are those of /lanes. */
void get_fleet_worst(struct request *request, struct reply *reply)
{
    struct heatmap_request wanted = {.view = {.rows.cells = 1, .steps.cells = 1}};
    struct heatmap_place place;
    if (!heatmap_begin(&wanted, request, reply))
        return;
    if (heatmap_worst(&wanted.map, &wanted.view, &place)) {
        struct json json = reply_json(reply);
        json_open(&json, '{');
        json_put_uint(&json, "row", place.row);
        json_put_uint(&json, "step", place.step);
        json_put_double(&json, "value", (double)place.value);
        json_close(&json, '}');
    } else {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "no rank has a step there");
    }
    heatmap_end(&wanted);
}

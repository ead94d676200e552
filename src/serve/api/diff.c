/*
 * GET diff: two profiles or runs compared.
 */
#include "report/compare/diff.h"
#include "report/fleet/fleet.h"
#include "serve/api/handlers.h"

static const struct {
    const char *name, *type;
} formats[] = {
    [DIFF_TEXT] = {"text", "text/plain; charset=utf-8"},
    [DIFF_JSON] = {"json", "application/json"},
    [DIFF_CSV] = {"csv", "text/csv; charset=utf-8"},
    [DIFF_MARKDOWN] = {"markdown", "text/markdown; charset=utf-8"},
};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

static bool read_format(const struct request *request, struct reply *reply,
                        enum diff_format *format)
{
    const char *word = request_argument(request, "format");
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(word ? word : "json", formats[i].name) == 0) {
            *format = (enum diff_format)i;
            return true;
        }
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"format\" must be json, csv, text or markdown");
    return false;
}

static bool read_kind(const struct request *request, struct reply *reply, enum diff_kind *kind)
{
    const char *word = request_argument(request, "by");
    *kind = DIFF_KINDS;
    if (!word)
        return true;
    for (size_t i = 0; i < DIFF_KINDS; i++)
        if (strcmp(word, diff_kind_names[i]) == 0) {
            *kind = (enum diff_kind)i;
            return true;
        }
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "unknown \"by\"");
    return false;
}

/* What is compared of a profile; NULL with the reply set if it cannot be read. */
static struct diff_side *read_profile(struct request *request, struct reply *reply,
                                      const struct subject *subject, unsigned kinds)
{
    struct diff_side *side = NULL;
    struct profile_query query;
    struct error err;
    if (!profile_query_begin(&query, subject->opened, request, QUERY_SEARCH, reply))
        return NULL;
    if (!diff_read_profile(&side, subject->name, query.connection, kinds, &err))
        profile_query_failed(&query, reply, &err);
    profile_query_end(&query);
    return side;
}

static bool read_analysis(struct diff_side **side, const char *name,
                          struct fleet_analysis *analysis,
                          const struct fleet_analysis_options *options, struct error *err)
{
    bool ok = fleet_analyze(analysis, options, err);
    for (size_t i = 0; i < diff_run_table_count && ok; i++)
        ok =
            fleet_view_table(analysis, diff_run_tables[i].table, diff_run_tables[i].max_ranks, err);
    ok = ok && diff_read_run(side, name, fleet_connection(analysis), err);
    if (!ok)
        fleet_advise(err);
    return ok;
}

/* The same of a run. */
static struct diff_side *read_run(struct request *request, struct reply *reply,
                                  const struct subject *subject)
{
    struct diff_side *side = NULL;
    struct fleet_analysis *analysis;
    struct error err;
    const struct fleet_analysis_options options = {.dataset = subject->run.path,
                                                   .run = subject->run.name,
                                                   .data_path = request->server->data_path};
    bool ok = fleet_analysis_open(&analysis, &options, &err);
    if (ok) {
        ok = read_analysis(&side, subject->name, analysis, &options, &err);
        fleet_analysis_close(analysis);
    }
    if (!ok)
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
    return side;
}

static struct diff_side *read_side(struct request *request, struct reply *reply,
                                   const struct subject *subject, unsigned kinds)
{
    return subject->run.path ? read_run(request, reply, subject)
                             : read_profile(request, reply, subject, kinds);
}

/* Whether runs are analyzed; missing analyses of both are started before either is read. */
static bool are_ready(struct request *request, struct reply *reply)
{
    for (size_t i = 0; i < 2 && request->subject[i].run.path; i++) {
        char *results =
            fleet_run_results(request->server->fleet_runs, &request->subject[i].run, reply);
        mem_free(results);
        if (!results)
            return false;
    }
    return true;
}

/* Both sides, read and compared; false with the reply set. */
struct comparison {
    struct diff_side *a, *b;
    struct diff *diff;
};

static bool compare(struct comparison *found, struct request *request, unsigned kinds,
                    struct reply *reply)
{
    *found = (struct comparison){0};
    if (!are_ready(request, reply))
        return false;
    found->a = read_side(request, reply, &request->subject[0], kinds);
    found->b = found->a ? read_side(request, reply, &request->subject[1], kinds) : NULL;
    found->diff = found->b ? diff_compare(found->a, found->b) : NULL;
    return found->diff != NULL;
}

static void free_comparison(struct comparison *found)
{
    if (found->diff)
        diff_free(found->diff);
    diff_side_free(found->a);
    diff_side_free(found->b);
}

void get_diff(struct request *request, struct reply *reply)
{
    struct diff_options options = {.top = DIFF_MAX_ROWS, .style = {.width = SIZE_MAX}};
    struct comparison found;
    if (!read_format(request, reply, &options.format) ||
        !read_kind(request, reply, &options.kind) ||
        !request_number(request, reply, "top", DIFF_MAX_ROWS, &options.top))
        return;
    if (options.top == 0)
        options.top = DIFF_MAX_ROWS;
    if (compare(&found, request, DIFF_ALL_KINDS, reply)) {
        reply->type = formats[options.format].type;
        diff_write(found.diff, &options, &reply->body);
    }
    free_comparison(&found);
}

/* The query of a group over the tables of both profiles, in the schemas a and b. */
void get_diff_query(struct request *request, struct reply *reply)
{
    struct text group = text_of(request->parameters[0]);
    struct comparison found;
    struct output sql;
    unsigned kinds;
    if (!diff_has_query(group, &kinds) || request->subject[0].run.path) {
        reply_error(reply, MHD_HTTP_NOT_FOUND,
                    "no query gives '%s': docs/diff.md says how it is worked out", group.data);
        return;
    }
    output_memory(&sql);
    if (compare(&found, request, kinds, reply)) {
        struct json json = reply_json(reply);
        diff_put_query(found.diff, group, &sql);
        json_open(&json, '{');
        json_put_text(&json, "query", (struct text){sql.data, sql.size});
        json_close(&json, '}');
    }
    output_discard(&sql);
    free_comparison(&found);
}

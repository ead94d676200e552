/*
 * GET diff: two profiles or runs compared.
 */
#include "report/compare/diff.h"
#include "report/fleet/fleet.h"
#include "serve/fleet_runs.h"
#include "serve/handlers.h"
#include "serve/open_profiles.h"
#include "serve/rank_profiles.h"

static const struct {
    const char *name, *type;
} formats[] = {
    [DIFF_TEXT] = {"text", "text/plain; charset=utf-8"},
    [DIFF_JSON] = {"json", "application/json"},
    [DIFF_CSV] = {"csv", "text/csv; charset=utf-8"},
    [DIFF_MARKDOWN] = {"markdown", "text/markdown; charset=utf-8"},
};
/* Rows of each kind and change: answers are made in memory. */
enum { FORMAT_COUNT = sizeof formats / sizeof *formats, MAX_TOP = 5000 };

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

/* A rank of a run is a profile. */
static bool names_run(const struct request *request, const char *name)
{
    return !is_written_as_rank(name) && is_run_name(request->server, name);
}

/* What is compared of a profile; NULL with the reply set if there is none. */
static struct diff_side *read_profile(struct request *request, struct reply *reply,
                                      const char *name)
{
    struct diff_side *side = NULL;
    struct profile_query query;
    struct error err;
    struct opened *opened = open_profile_named(request, name, reply);
    if (opened && profile_query_begin(&query, opened, request, QUERY_SEARCH, reply)) {
        if (!diff_read_profile(&side, name, query.connection, &err))
            profile_query_failed(&query, reply, &err);
        profile_query_end(&query);
    }
    close_profile(opened);
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
static struct diff_side *read_run(struct request *request, struct reply *reply, const char *name)
{
    struct diff_side *side = NULL;
    struct fleet_analysis *analysis;
    struct fleet_run run;
    struct error err;
    if (!fleet_run_open_named(&run, request, name, reply))
        return NULL;
    const struct fleet_analysis_options options = {
        .dataset = run.dataset, .run = run.run, .data_path = request->server->data_path};
    bool ok = fleet_analysis_open(&analysis, &options, &err);
    if (ok) {
        ok = read_analysis(&side, name, analysis, &options, &err);
        fleet_analysis_close(analysis);
    }
    if (!ok)
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
    fleet_run_close(&run);
    return side;
}

static struct diff_side *read_side(struct request *request, struct reply *reply, const char *name)
{
    return names_run(request, name) ? read_run(request, reply, name)
                                    : read_profile(request, reply, name);
}

/* The names of what is compared: two profiles or two runs. */
static bool read_names(const struct request *request, struct reply *reply,
                       const char *names[static 2])
{
    static const char *const arguments[] = {"a", "b"};
    for (size_t i = 0; i < 2; i++) {
        names[i] = request_argument(request, arguments[i]);
        if (!names[i]) {
            reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"%s\" must name a profile or a run",
                        arguments[i]);
            return false;
        }
    }
    if (names_run(request, names[0]) == names_run(request, names[1]))
        return true;
    reply_error(reply, MHD_HTTP_BAD_REQUEST,
                "a run of many ranks is compared with a run, a profile with a profile");
    return false;
}

/* Whether runs are analysed; it is begun if need be, for both before one is read. */
static bool are_ready(struct request *request, struct reply *reply, const char *const names[2])
{
    for (size_t i = 0; i < 2 && names_run(request, names[i]); i++) {
        struct fleet_run run;
        if (!fleet_run_open_named(&run, request, names[i], reply))
            return false;
        fleet_run_close(&run);
    }
    return true;
}

void get_diff(struct request *request, struct reply *reply)
{
    struct diff_options options = {.top = MAX_TOP, .style = {.width = SIZE_MAX}};
    const char *names[2];
    if (!read_format(request, reply, &options.format) ||
        !read_kind(request, reply, &options.kind) ||
        !request_number(request, reply, "top", MAX_TOP, &options.top) ||
        !read_names(request, reply, names) || !are_ready(request, reply, names))
        return;
    if (options.top == 0)
        options.top = MAX_TOP;
    struct diff_side *a = read_side(request, reply, names[0]);
    struct diff_side *b = a ? read_side(request, reply, names[1]) : NULL;
    if (b) {
        struct diff *diff = diff_compare(a, b);
        reply->type = formats[options.format].type;
        diff_write(diff, &options, &reply->body);
        diff_free(diff);
    }
    diff_side_free(a);
    diff_side_free(b);
}

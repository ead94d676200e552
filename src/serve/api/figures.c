/*
 * The catalog of figures, and the queries that give them.
 */
#include "report/figures/figures.h"
#include "report/xprof/tools.h"
#include "serve/api/handlers.h"

void list_figures(struct request *request, struct reply *reply)
{
    struct json json = reply_json(reply);
    (void)request;
    figures_put_json(&json);
}

static const char *chosen_parameter(const void *context, const char *name)
{
    const char *value = request_argument(context, name);
    const char *grouping;
    if (strcmp(name, "group_by") == 0 && tool_grouping(value, &grouping))
        return grouping;
    return value;
}

/* Whether a group has a query of this kind; otherwise the reply says why not. */
static bool has_query(const char *group, enum figure_query wanted, struct reply *reply)
{
    enum figure_query found = figures_find_query(text_of(group));
    if (found == FIGURE_NO_GROUP)
        reply_error(reply, MHD_HTTP_NOT_FOUND, "no group of figures '%s'", group);
    else if (found == FIGURE_NO_QUERY)
        reply_error(reply, MHD_HTTP_NOT_FOUND,
                    "the query of %s depends on what was chosen on its page", group);
    else if (found != wanted)
        reply_error(reply, MHD_HTTP_NOT_FOUND, "%s has figures of %s, not of %s", group,
                    found == FIGURE_RUN_QUERY ? "runs" : "profiles",
                    found == FIGURE_RUN_QUERY ? "profiles" : "runs");
    return found == wanted;
}

static void put_query(struct reply *reply, const struct output *sql, const char *why_unknown)
{
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "query", (struct text){sql->data, sql->size});
    json_key(&json, "why_unknown");
    if (why_unknown)
        json_text(&json, text_of(why_unknown));
    else
        json_null(&json);
    json_close(&json, '}');
}

/* The same for every run: the results need not be there. */
void get_run_figures_query(struct request *request, struct reply *reply)
{
    const char *group = request->parameters[2];
    struct output sql;
    if (!has_query(group, FIGURE_RUN_QUERY, reply))
        return;
    output_memory(&sql);
    figures_put_run_query(&sql, text_of(group), chosen_parameter, request);
    put_query(reply, &sql, NULL);
    output_discard(&sql);
}

/* The query of a group with what the arguments choose, to be run by POST sql or any DuckDB. */
void get_figures_query(struct request *request, struct reply *reply)
{
    const char *group = request->parameters[1];
    const char *grouping;
    struct profile_query query;
    struct output sql;
    struct error err;
    if (!has_query(group, FIGURE_QUERY, reply))
        return;
    if (!tool_grouping(request_argument(request, "group_by"), &grouping)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "\"group_by\" must be program, category, provenance or source");
        return;
    }
    if (!profile_query_begin(&query, request->subject->opened, request, QUERY_SEARCH, reply))
        return;
    output_memory(&sql);
    if (figures_put_query(&sql, text_of(group), chosen_parameter, request, query.connection,
                          &err)) {
        char *why = figures_why_unknown(text_of(group), query.connection);
        put_query(reply, &sql, why);
        mem_free(why);
    } else {
        profile_query_failed(&query, reply, &err);
    }
    output_discard(&sql);
    profile_query_end(&query);
}

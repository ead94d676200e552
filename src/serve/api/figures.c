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

/* The query of a group with what the arguments choose, to be run by POST sql or any DuckDB. */
void get_figures_query(struct request *request, struct reply *reply)
{
    const char *group = request->parameters[1];
    enum figure_query found = figures_find_query(text_of(group));
    const char *grouping;
    struct profile_query query;
    struct output sql;
    struct error err;
    if (found == FIGURE_NO_GROUP) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "no group of figures '%s'", group);
        return;
    }
    if (found == FIGURE_NO_QUERY) {
        reply_error(reply, MHD_HTTP_NOT_FOUND,
                    "the query of %s depends on what was chosen on its page", group);
        return;
    }
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
        struct json json = reply_json(reply);
        json_open(&json, '{');
        char *why = figures_why_unknown(text_of(group), query.connection);
        json_put_text(&json, "query", (struct text){sql.data, sql.size});
        json_key(&json, "why_unknown");
        if (why)
            json_text(&json, text_of(why));
        else
            json_null(&json);
        json_close(&json, '}');
        mem_free(why);
    } else {
        profile_query_failed(&query, reply, &err);
    }
    output_discard(&sql);
    profile_query_end(&query);
}

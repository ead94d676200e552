/*
 * GET diff: two profiles compared.
 */
#include "diff/diff.h"
#include "serve/handlers.h"
#include "serve/open_profiles.h"

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

/* What is compared of a profile that an argument names; NULL with the reply set if there is none.
 */
static struct diff_side *read_side(struct request *request, struct reply *reply,
                                   const char *argument)
{
    const char *name = request_argument(request, argument);
    struct diff_side *side = NULL;
    struct profile_query query;
    struct error err;
    if (!name) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"%s\" must name a profile", argument);
        return NULL;
    }
    struct opened *opened = open_profile_named(request, name, reply);
    if (opened && profile_query_begin(&query, opened, request, QUERY_SEARCH, reply)) {
        if (!diff_read_profile(&side, name, query.connection, &err))
            profile_query_failed(&query, reply, &err);
        profile_query_end(&query);
    }
    close_profile(opened);
    return side;
}

void get_diff(struct request *request, struct reply *reply)
{
    struct diff_options options = {.top = MAX_TOP, .style = {.width = SIZE_MAX}};
    if (!read_format(request, reply, &options.format) ||
        !read_kind(request, reply, &options.kind) ||
        !request_number(request, reply, "top", MAX_TOP, &options.top))
        return;
    if (options.top == 0)
        options.top = MAX_TOP;
    struct diff_side *a = read_side(request, reply, "a");
    struct diff_side *b = a ? read_side(request, reply, "b") : NULL;
    if (b) {
        struct diff *diff = diff_compare(a, b);
        reply->type = formats[options.format].type;
        diff_write(diff, &options, &reply->body);
        diff_free(diff);
    }
    diff_side_free(a);
    diff_side_free(b);
}

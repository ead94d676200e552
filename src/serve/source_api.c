/*
 * GET source: source files named in the profile's stack frames, and only those, from below
 * --framework-source-root.
 */
#include "serve/handlers.h"

#include "serve/open_profiles.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_SOURCE = 8 << 20 };

/* Whether the profile mentions this file. */
static bool is_named(struct profile_query *query, struct reply *reply, const char *file, bool *ok)
{
    static const struct {
        enum table_number table;
        const char *column;
    } columns[] = {{TABLE_FRAME_FILES, "name"},
                   {TABLE_OPERATIONS, "source_file"},
                   {TABLE_PYTHON_FRAMES, "file_path"}};
    struct output sql;
    bool is_found = false;
    output_memory(&sql);
    for (size_t i = 0; i < sizeof columns / sizeof *columns && !is_found && *ok; i++) {
        const char *table = table_schemas[columns[i].table].name;
        if (!has_table(query->opened, table))
            continue;
        output_format(&sql, "SELECT 1 FROM \"%s\" WHERE \"%s\" = ", table, columns[i].column);
        put_sql_text(&sql, text_of(file));
        output_text(&sql, " LIMIT 1");
        struct sql_result *result = profile_query_run(query, &sql, reply);
        *ok = result != NULL;
        is_found = result && profile_query_next(query, result, reply, ok) > 0;
        sql_free(result);
    }
    output_discard(&sql);
    return is_found;
}

static bool is_below(const char *path, const char *root)
{
    size_t size = strlen(root);
    return strncmp(path, root, size) == 0 && (path[size] == '/' || root[size - 1] == '/');
}

/* Finds the file below the root; leading components of a path from another machine are dropped
 * until one exists. */
static char *find_source(const char *root, const char *file)
{
    char *real_root = realpath(root, NULL), *found = NULL;
    for (const char *at = file; real_root && at && !found;) {
        at += strspn(at, "/");
        char *path = path_format("%s/%s", real_root, at), *real = realpath(path, NULL);
        if (*at && real && is_below(real, real_root) && !file_is_directory(real))
            found = mem_copy_text(real, strlen(real));
        free(real);
        mem_free(path);
        at = strchr(at, '/');
    }
    free(real_root);
    return found;
}

static void put_source(struct reply *reply, const char *root, const char *file)
{
    char *path = find_source(root, file);
    size_t size;
    char *content = path ? file_content(path, MAX_SOURCE, &size) : NULL;
    if (content) {
        reply->type = "text/plain; charset=utf-8";
        output_write(&reply->body, content, size);
    } else {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "%s not found below --framework-source-root", file);
    }
    mem_free(content);
    mem_free(path);
}

void get_source(struct request *request, struct reply *reply)
{
    const char *file = request_argument(request, "file");
    const char *root = request->server->options->source_root;
    struct profile_query query;
    struct opened *opened = open_profile(request, reply);
    if (!opened)
        return;
    if (!file) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing argument: file");
    } else if (!root) {
        reply_error(reply, MHD_HTTP_NOT_FOUND,
                    "the server was started without --framework-source-root");
    } else if (profile_query_begin(&query, opened, request, QUERY_SEARCH, reply)) {
        bool ok = true, is_found = is_named(&query, reply, file, &ok);
        profile_query_end(&query);
        if (is_found)
            put_source(reply, root, file);
        else if (ok)
            reply_error(reply, MHD_HTTP_NOT_FOUND, "the profile does not mention this file");
    }
    close_profile(opened);
}

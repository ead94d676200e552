/*
 * GET source: source files named in the profile's stack frames, and only those: stored with the
 * profile, or from below --framework-source-root and --nki-source-root.
 */
#include "serve/api/handlers.h"

#include "store/tables/store.h"

#include <stdio.h>

/* Whether the profile mentions this file. */
static bool is_named(struct profile_query *query, struct reply *reply, const char *file, bool *ok)
{
    static const struct {
        enum table_number table;
        const char *column;
    } columns[] = {{TABLE_FRAME_FILES, "name"},
                   {TABLE_OPERATIONS, "source_file"},
                   {TABLE_PYTHON_FRAMES, "file_path"},
                   {TABLE_KERNELS, "source_file"}};
    struct output sql;
    bool is_found = false;
    output_memory(&sql);
    for (size_t i = 0; i < sizeof columns / sizeof *columns && !is_found && *ok; i++) {
        const char *table = table_schemas[columns[i].table].name;
        if (!has_column(query->opened, table, columns[i].column))
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

/* The text stored with the profile; false if it has none or an error was sent. */
static bool put_stored(struct profile_query *query, struct reply *reply, const char *file, bool *ok)
{
    const char *table = table_schemas[TABLE_SOURCE_FILES].name;
    struct output sql;
    bool is_found = false;
    if (!has_table(query->opened, table))
        return false;
    output_memory(&sql);
    output_format(&sql, "SELECT content FROM \"%s\" WHERE name = ", table);
    put_sql_text(&sql, text_of(file));
    output_text(&sql, " LIMIT 1");
    struct sql_result *result = profile_query_run(query, &sql, reply);
    *ok = result != NULL;
    is_found = result && profile_query_next(query, result, reply, ok) > 0;
    if (is_found) {
        struct text content = sql_value(result, 0, 0);
        output_write(&reply->body, content.data, content.size);
        reply->type = "text/plain; charset=utf-8";
    }
    sql_free(result);
    output_discard(&sql);
    return is_found;
}

static char *find_content(const struct serve_options *options, const char *file, size_t *size)
{
    const char *const roots[] = {options->source_root, options->nki_source_root};
    char *content = NULL;
    for (size_t i = 0; i < sizeof roots / sizeof *roots && !content; i++) {
        struct source_root *root = source_root_open(roots[i]);
        char *path = source_file_find(root, file);
        content = path ? file_content(path, SOURCE_FILE_MAX_BYTES, size) : NULL;
        mem_free(path);
        source_root_close(root);
    }
    return content;
}

static void put_missing(struct reply *reply, const char *file, const char *where)
{
    const char *last = strrchr(file, '/');
    reply_error(reply, MHD_HTTP_NOT_FOUND,
                "%s not found: looked for the longest ending of this path, at least %s, %s", file,
                last ? last + 1 : file, where);
}

static void put_source(struct request *request, struct reply *reply, const char *file)
{
    size_t size;
    char *content = find_content(request->server->options, file, &size);
    if (content) {
        reply->type = "text/plain; charset=utf-8";
        output_write(&reply->body, content, size);
    } else {
        put_missing(reply, file, "below --framework-source-root and --nki-source-root");
    }
    mem_free(content);
}

/* A file stored with the profile comes first: what lies below the roots may have changed since. */
void get_source(struct request *request, struct reply *reply)
{
    const char *file = request_argument(request, "file");
    const struct serve_options *options = request->server->options;
    struct profile_query query;
    struct opened *opened = request->subject->opened;
    if (!file) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing argument: file");
    } else if (profile_query_begin(&query, opened, request, QUERY_SEARCH, reply)) {
        bool ok = true, is_stored = put_stored(&query, reply, file, &ok);
        bool has_root = options->source_root || options->nki_source_root;
        bool is_found = !is_stored && ok && has_root && is_named(&query, reply, file, &ok);
        profile_query_end(&query);
        if (is_found)
            put_source(request, reply, file);
        else if (!is_stored && ok && has_root)
            reply_error(reply, MHD_HTTP_NOT_FOUND, "the profile does not mention this file");
        else if (!is_stored && ok)
            put_missing(reply, file,
                        has_table(opened, table_schemas[TABLE_SOURCE_FILES].name)
                            ? "among the source files given with the profile; the server was "
                              "started without --framework-source-root"
                            : "but no source files were given with the profile, and the server "
                              "was started without --framework-source-root");
    }
}

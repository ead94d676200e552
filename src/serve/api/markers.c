/*
 * Marker sets of profiles: JSON files in the workspace's notes/<name>/markers.
 */
#include "serve/api/handlers.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define SUFFIX ".json"

static char *sets_folder(const struct request *request)
{
    return path_format("%s/notes/%s/markers", request->server->data_path, request->subject->name);
}

static bool is_set_name(const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == '/' || name[i] == '\\' || name[i] == 0x7f)
            return false;
    return size > 0 && size <= MAX_SET_NAME && name[0] != '.';
}

/* Path of the requested set; NULL for an invalid name, with the reply set. */
static char *set_path(const struct request *request, struct reply *reply)
{
    const char *set = request->parameters[1];
    if (is_set_name(set))
        return path_format("%s/notes/%s/markers/%s" SUFFIX, request->server->data_path,
                           request->subject->name, set);
    reply_error(reply, MHD_HTTP_BAD_REQUEST,
                "the name of a marker set must have 1 to %d bytes, no slash and no leading dot",
                MAX_SET_NAME);
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The next set in a folder, or NULL. Other files, such as those being written, are not sets. */
static const struct dirent *next_set(DIR *stream)
{
    const struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        if (entry->d_name[0] != '.' && text_ends(text_of(entry->d_name), TEXT(SUFFIX)))
            return entry;
    return NULL;
}

static size_t count_sets(const char *folder)
{
    DIR *stream = opendir(folder);
    size_t count = 0;
    while (next_set(stream))
        count++;
    if (stream)
        closedir(stream);
    return count;
}

/* No folder means no sets: it is made when the first set is stored. Names are sorted, as the order
 * of a directory is arbitrary. */
void list_markers(struct request *request, struct reply *reply)
{
    char *folder = sets_folder(request);
    ARRAY(char *) names = {0};
    DIR *stream = opendir(folder);
    const struct dirent *entry;
    while ((entry = next_set(stream)))
        *array_push(&names) = mem_copy_text(entry->d_name, strlen(entry->d_name) - strlen(SUFFIX));
    if (stream)
        closedir(stream);
    if (names.count > 0)
        qsort(names.items, names.count, sizeof *names.items, by_name);
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "sets");
    json_open(&json, '[');
    for (size_t i = 0; i < names.count; i++) {
        json_text(&json, text_of(names.items[i]));
        mem_free(names.items[i]);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    array_free(&names);
    mem_free(folder);
}

static void no_such_set(struct request *request, struct reply *reply)
{
    reply_error(reply, MHD_HTTP_NOT_FOUND, "marker set '%s' not found", request->parameters[1]);
}

void get_markers(struct request *request, struct reply *reply)
{
    char *path = set_path(request, reply);
    size_t size;
    char *content = path ? file_content(path, MARKERS_BODY, &size) : NULL;
    if (content) {
        reply->type = "application/json";
        output_write(&reply->body, content, size);
    } else if (path) {
        no_such_set(request, reply);
    }
    mem_free(content);
    mem_free(path);
}

static bool is_json(struct text body)
{
    struct json_reader in = json_read(body);
    struct json_value value;
    bool ok = body.size > 0 && json_read_value(&in, &value);
    json_skip_space(&in);
    return ok && in.at == in.end && (value.kind == JSON_LIST || value.kind == JSON_OBJECT);
}

/* The server does not interpret the content, but rewrites it as compact JSON, so that what it
 * serves later is valid. The number of sets is bounded, as clients choose their names. */
void put_markers(struct request *request, struct reply *reply)
{
    char *path = set_path(request, reply), *folder = sets_folder(request);
    struct text body = {request->body.data, request->body.size};
    struct error err;
    struct output clean;
    output_memory(&clean);
    if (path && !is_json(body)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "markers must be a JSON list or object");
    } else if (path && access(path, F_OK) != 0 && count_sets(folder) >= MAX_SETS) {
        reply_error(reply, MHD_HTTP_CONFLICT, "too many marker sets; %d per profile at most",
                    MAX_SETS);
    } else if (path) {
        struct json json;
        json_begin(&json, &clean, false);
        json_copy(&json, body);
        if (make_directories(folder, &err) &&
            file_replace(path, (struct text){clean.data, clean.size}, &err))
            reply_no_content(reply);
        else
            reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
    }
    output_discard(&clean);
    mem_free(path);
    mem_free(folder);
}

void delete_markers(struct request *request, struct reply *reply)
{
    char *path = set_path(request, reply);
    if (path && unlink(path) == 0)
        reply_no_content(reply);
    else if (path)
        no_such_set(request, reply);
    mem_free(path);
}

/*
 * The file of --streams-json: a list of operations that run at the same time.
 */
#include "neuron/run/nccom/nccom.h"

#include "base/wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

enum { VALUE = 1024 };

struct streams {
    const char *path;
    uint32_t workers;
    struct nccom_stream *stream; /* the one that is read */
    bool has_op;
    struct error *err;
};

static bool failed(const struct streams *streams, const char *key, const char *value)
{
    return error_in_file(streams->err, streams->path, "\"%s\" of a stream cannot be %s", key,
                         value);
}

static bool take_number(const struct streams *streams, const char *key, const char *value,
                        uint32_t *number)
{
    char *end;
    unsigned long parsed = strtoul(value, &end, 10);
    if (*end || *value < '0' || *value > '9' || parsed == 0 || parsed > 65536)
        return failed(streams, key, value);
    *number = (uint32_t)parsed;
    return true;
}

/* Both name the only size. */
static bool take_bytes(const struct streams *streams, const char *key, const char *value)
{
    uint64_t bytes;
    if (!nccom_size(value, &bytes) || bytes == 0)
        return failed(streams, key, value);
    streams->stream->bytes = bytes;
    return true;
}

static bool take_groups(const struct streams *streams, const char *key, const char *value)
{
    uint32_t size;
    return take_number(streams, key, value, &size) &&
           nccom_spread_groups(streams->workers, size, &streams->stream->groups, streams->err);
}

/* Whether it was not given yet. */
static bool is_new(const struct streams *streams, uint32_t count, const char *key)
{
    return count == 0 ||
           error_in_file(streams->err, streams->path,
                         "\"%s\": a stream can have groups, pairs or metadata only once", key);
}

/* Keys are those of nccom-test's file; unknown ones are errors, as a typo would measure something
 * else. */
static bool take_member(struct streams *streams, const char *key, const char *value)
{
    struct nccom_stream *stream = streams->stream;
    if (strcmp(key, "op") == 0) {
        streams->has_op = true;
        return nccom_op_named(value, &stream->op) || failed(streams, key, value);
    }
    if (strcmp(key, "datatype") == 0)
        return nccom_dtype_named(value, &stream->dtype) || failed(streams, key, value);
    if (strcmp(key, "minbytes") == 0)
        return take_bytes(streams, key, value);
    if (strcmp(key, "ops_per_iter") == 0)
        return take_number(streams, key, value, &stream->ops_per_iter);
    if (strcmp(key, "data_parallel_dimension") == 0)
        return is_new(streams, stream->groups.count, key) && take_groups(streams, key, value);
    if (strcmp(key, "custom_replica_groups") == 0)
        return is_new(streams, stream->groups.count, key) &&
               nccom_read_groups(value, 0, &stream->groups, streams->err);
    if (strcmp(key, "custom_src_target_pairs") == 0)
        return is_new(streams, stream->pairs.count, key) &&
               nccom_read_pairs(value, 0, &stream->pairs, streams->err);
    if (strcmp(key, "variable_size_op_metadata") == 0)
        return is_new(streams, stream->metadata.entry_count, key) &&
               nccom_read_metadata(value, &stream->metadata, streams->err);
    return error_in_file(
        streams->err, streams->path,
        "unknown key \"%s\" in a stream; expected op, minbytes, datatype, ops_per_iter, "
        "data_parallel_dimension, custom_replica_groups, custom_src_target_pairs "
        "or variable_size_op_metadata",
        key);
}

/* False with err set, or with a problem of the reader. */
static bool read_stream(struct json_reader *in, struct streams *streams)
{
    struct json_value key, value;
    char name[VALUE], text[VALUE];
    streams->has_op = false;
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        if (!json_read_key(in, &key) || !json_read_value(in, &value))
            return false;
        if (key.text.size >= VALUE || value.text.size >= VALUE ||
            (value.kind != JSON_STRING && value.kind != JSON_NUMBER))
            return json_fail(in, "expected a text or a number");
        name[json_unescape(key.text, name)] = '\0';
        text[value.kind == JSON_STRING ? json_unescape(value.text, text) : value.text.size] = '\0';
        if (value.kind == JSON_NUMBER)
            memcpy(text, value.text.data, value.text.size);
        if (!take_member(streams, name, text))
            return false;
    }
    return !in->problem && (streams->has_op || error_in_file(streams->err, streams->path,
                                                             "a stream has no operation: \"op\""));
}

static bool read_all(struct json_reader *in, struct streams *streams,
                     const struct nccom_stream *defaults, struct nccom_stream *list, size_t *count)
{
    for (bool more = json_enter(in, '['); more; more = json_more(in, ']')) {
        if (*count == NCCOM_STREAMS)
            return error_in_file(streams->err, streams->path, "more than %d streams",
                                 NCCOM_STREAMS);
        streams->stream = &list[(*count)++];
        *streams->stream = *defaults;
        if (!read_stream(in, streams))
            return false;
    }
    return !in->problem && (*count > 0 || error_in_file(streams->err, streams->path, "no streams"));
}

bool nccom_read_streams(const char *path, uint32_t workers, const struct nccom_stream *defaults,
                        struct nccom_stream *list, size_t *count, struct error *err)
{
    struct file file;
    struct streams streams = {.path = path, .workers = workers, .err = err};
    *count = 0;
    if (!file_open(&file, path, err))
        return false;
    struct json_reader in = json_read((struct text){(const char *)file.data, file.size});
    bool ok = read_all(&in, &streams, defaults, list, count);
    if (in.problem)
        ok = error_at(err, path, (uint64_t)(in.at - (const char *)file.data), "%s", in.problem);
    file_close(&file);
    return ok;
}

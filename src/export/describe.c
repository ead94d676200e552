/*
 * Parts of a profile that several documents contain.
 */
#include "export/describe.h"

struct text device_model(const struct catalog *catalog, uint32_t track)
{
    static const struct text keys[] = {{"gpu_device_name", 15}, {"device_type_string", 18}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint32_t key = intern_find(&catalog->strings, keys[i]);
        const struct arg *arg =
            key == INTERN_NONE ? NULL : arg_find(&catalog->tracks.items[track].args, key);
        if (arg)
            return arg_text(catalog, arg);
    }
    return TEXT("");
}

struct text host_of(const struct catalog *catalog, uint32_t track)
{
    return catalog_track_label(catalog, catalog_ancestor(catalog, track, TRACK_INSTANCE));
}

double span_ps(const struct summary *summary)
{
    return (double)summary->last_ps - (double)summary->first_ps;
}

static void put_epoch(struct json *json, const char *key, int64_t epoch_ns)
{
    json_key(json, key);
    if (epoch_ns == TIME_UNSET)
        json_null(json);
    else
        json_int(json, epoch_ns);
}

void put_profile_fields(struct json *json, const struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    const struct summary *summary = &analysis->summary;
    json_put_text(json, "format", text_of(catalog->format));
    put_epoch(json, "start_epoch_ns", catalog->start_epoch_ns);
    put_epoch(json, "stop_epoch_ns", catalog->stop_epoch_ns);
    json_put_uint(json, "event_count", summary->events);
    json_put_int(json, "first_event_ps", summary->first_ps);
    json_put_int(json, "last_event_ps", summary->last_ps);
}

void put_hosts(struct json *json, const struct catalog *catalog)
{
    json_key(json, "hosts");
    json_open(json, '[');
    const struct host *host;
    array_each (host, &catalog->hosts) {
        json_open_row(json, '{');
        json_put_text(json, "name", catalog_text(catalog, host->name));
        json_put_text(json, "file", catalog_text(catalog, host->file));
        json_put_uint(json, "size_bytes", host->size_bytes);
        json_put_text(json, "compression", catalog_text(catalog, host->compression));
        put_epoch(json, "start_epoch_ns", host->start_epoch_ns);
        put_epoch(json, "stop_epoch_ns", host->stop_epoch_ns);
        json_put_int(json, "shift_ps", host->shift_ps);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

void put_messages(struct json *json, const struct catalog *catalog)
{
    json_key(json, "messages");
    json_open(json, '[');
    const struct message *message;
    array_each (message, &catalog->messages) {
        json_open_row(json, '{');
        json_put_text(json, "host",
                      catalog_text(catalog, catalog->hosts.items[message->host].name));
        json_put_text(json, "level", message->is_error ? TEXT("error") : TEXT("warning"));
        json_put_text(json, "text", catalog_text(catalog, message->text));
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_value(struct json *json, const struct catalog *catalog, const struct arg *arg)
{
    switch ((enum arg_type)arg->type) {
    case ARG_INT:
        json_int(json, arg->integer);
        break;
    case ARG_UINT:
        json_uint(json, arg->uinteger);
        break;
    case ARG_DOUBLE:
        json_double(json, arg->number);
        break;
    case ARG_STRING:
    case ARG_TEXT:
        json_text(json, arg_text(catalog, arg));
        break;
    case ARG_BYTES:
        json_open_row(json, '{');
        json_key(json, "base64");
        json_base64(json, arg->data, arg->size);
        json_close_row(json, '}');
        break;
    case ARG_NONE:
        json_null(json);
        break;
    }
}

/* Lists longer than this are rare and get an index; a look through a short one is faster. */
enum { SHORT_LIST = 32 };

/* For each arg, the number of the next one with the same key, or of itself when there is none; an
 * arg that is not the first with its key has the top bit set. */
#define IS_REPEATED 0x80000000u

static void chain_keys(const struct arg_list *args, uint32_t *next)
{
    struct idmap last = {0};
    for (uint32_t i = 0; i < args->count; i++) {
        uint32_t key = args->items[i].key, previous = IDMAP_NONE;
        next[i] = i;
        if (args->count > SHORT_LIST) {
            previous = idmap_get(&last, key);
            idmap_put(&last, key, i);
        }
        for (uint32_t j = i; j > 0 && args->count <= SHORT_LIST && previous == IDMAP_NONE; j--)
            if (args->items[j - 1].key == key)
                previous = j - 1;
        if (previous == IDMAP_NONE)
            continue;
        next[previous] = (next[previous] & IS_REPEATED) | i;
        next[i] |= IS_REPEATED;
    }
    idmap_free(&last);
}

/* Two members of one name would lose one of them in most readers: a repeated key becomes a list. */
static void put_chain(struct json *json, const struct catalog *catalog, const struct arg_list *args,
                      const uint32_t *next, uint32_t first)
{
    bool is_list = next[first] != first;
    if (is_list)
        json_open_row(json, '[');
    for (uint32_t at = first;; at = next[at] & ~IS_REPEATED) {
        put_value(json, catalog, &args->items[at]);
        if ((next[at] & ~IS_REPEATED) == at)
            break;
    }
    if (is_list)
        json_close_row(json, ']');
}

void put_args(struct json *json, const struct catalog *catalog, const struct arg_list *args)
{
    if (args->count == 0)
        return;
    uint32_t short_chain[SHORT_LIST];
    uint32_t *next =
        args->count <= SHORT_LIST ? short_chain : mem_alloc(args->count * sizeof *next);
    chain_keys(args, next);
    json_key(json, "args");
    json_open_row(json, '{');
    for (uint32_t i = 0; i < args->count; i++) {
        if (next[i] & IS_REPEATED)
            continue;
        json_key_text(json, catalog_text(catalog, args->items[i].key));
        put_chain(json, catalog, args, next, i);
    }
    json_close_row(json, '}');
    if (next != short_chain)
        mem_free(next);
}

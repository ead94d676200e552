/*
 * Parts of a profile that several documents contain.
 */
#include "export/describe.h"

struct text device_model(const struct catalog *catalog, uint32_t track)
{
    const struct arg_list *args = &catalog->tracks.items[track].args;
    const struct arg *name = catalog_arg(catalog, args, TEXT("gpu_device_name"));
    if (!name)
        name = catalog_arg(catalog, args, TEXT("device_type_string"));
    return name ? arg_text(catalog, name) : TEXT("");
}

struct text host_of(const struct catalog *catalog, uint32_t track)
{
    return catalog_track_label(catalog, catalog_ancestor(catalog, track, TRACK_INSTANCE));
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

/* For each arg: the next one with the same key, itself when it is the last of them. */
struct key_chain {
    uint32_t next;
    bool is_first;
};

static uint32_t previous_in_short(const struct arg_list *args, uint32_t at)
{
    for (uint32_t i = at; i > 0; i--)
        if (args->items[i - 1].key == args->items[at].key)
            return i - 1;
    return IDMAP_NONE;
}

static void chain_keys(const struct arg_list *args, struct key_chain *chain)
{
    struct idmap last = {0};
    for (uint32_t i = 0; i < args->count; i++) {
        uint32_t key = args->items[i].key, previous;
        if (args->count <= SHORT_LIST) {
            previous = previous_in_short(args, i);
        } else {
            previous = idmap_get(&last, key);
            idmap_put(&last, key, i);
        }
        chain[i] = (struct key_chain){.next = i, .is_first = previous == IDMAP_NONE};
        if (previous != IDMAP_NONE)
            chain[previous].next = i;
    }
    idmap_free(&last);
}

/* Two members of one name would lose one of them in most readers: a repeated key becomes a list. */
static void put_chain(struct json *json, const struct catalog *catalog, const struct arg_list *args,
                      const struct key_chain *chain, uint32_t first)
{
    bool is_list = chain[first].next != first;
    if (is_list)
        json_open_row(json, '[');
    put_value(json, catalog, &args->items[first]);
    for (uint32_t at = first; chain[at].next != at; at = chain[at].next)
        put_value(json, catalog, &args->items[chain[at].next]);
    if (is_list)
        json_close_row(json, ']');
}

void put_args(struct json *json, const struct catalog *catalog, const struct arg_list *args)
{
    if (args->count == 0)
        return;
    struct key_chain short_chain[SHORT_LIST];
    struct key_chain *chain =
        args->count <= SHORT_LIST ? short_chain : mem_alloc(args->count * sizeof *chain);
    chain_keys(args, chain);
    json_key(json, "args");
    json_open_row(json, '{');
    for (uint32_t i = 0; i < args->count; i++) {
        if (!chain[i].is_first)
            continue;
        json_key_text(json, catalog_text(catalog, args->items[i].key));
        put_chain(json, catalog, args, chain, i);
    }
    json_close_row(json, '}');
    if (chain != short_chain)
        mem_free(chain);
}

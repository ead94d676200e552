/*
 * Writes the parts of a profile that several JSON documents share: hosts, messages, args.
 */
#include "export/describe.h"

#include <stdio.h>

struct text host_of(const struct catalog *catalog, uint32_t track)
{
    return catalog_track_label(catalog, catalog_ancestor(catalog, track, TRACK_INSTANCE));
}

struct text location_group(const struct location *location, char name[static MAX_GROUP_NAME])
{
    struct text layer =
        location->layer == LAYER_RUNTIME ? TEXT("nrt") : layer_name(location->layer);
    int size =
        location->has_core
            ? snprintf(name, MAX_GROUP_NAME, "%s-nc-%03lld", layer.data, (long long)location->core)
            : snprintf(name, MAX_GROUP_NAME, "%s-%lld", layer.data, (long long)location->thread);
    return (struct text){name, (size_t)size};
}

static void put_epoch(struct json *json, const char *key, int64_t epoch_ns)
{
    json_key(json, key);
    if (epoch_ns == TIME_UNSET)
        json_null(json);
    else
        json_int(json, epoch_ns);
}

/* Read back by profile_drops. */
static void put_drops(struct json *json, const struct catalog *catalog)
{
    struct drops drops = catalog_drops(catalog);
    char text[DROPS_TEXT_SIZE];
    json_put_uint(json, "dropped_events", drops.dropped);
    if (drops.dropped > 0)
        json_put_text(json, "dropped_warning", text_of(drops_text(&drops, text)));
}

void put_profile_fields(struct json *json, const struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    const struct summary *summary = &analysis->summary;
    json_put_text(json, "format", text_of(catalog->format));
    put_epoch(json, "start_epoch_ns", catalog->start_epoch_ns);
    put_epoch(json, "stop_epoch_ns", catalog->stop_epoch_ns);
    json_put_uint(json, "event_count", summary->events);
    put_drops(json, catalog);
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

const char *counter_unit_name(enum counter_unit unit)
{
    static const char *const names[] = {
        [UNIT_NONE] = "", [UNIT_PERCENT] = "%", [UNIT_BYTES] = "B", [UNIT_WATTS] = "W"};
    return names[unit];
}

void put_args(struct json *json, const struct catalog *catalog, const struct arg_list *args)
{
    if (args->count == 0)
        return;
    json_key(json, "args");
    args_to_json(json, catalog, args);
}

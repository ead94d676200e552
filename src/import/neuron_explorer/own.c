/*
 * Imports profiles that Kymo exported: their tracks and event types become those of the catalog.
 */
#include "import/neuron_explorer/explorer_passes.h"

static bool find_name(const char *const *names, size_t count, const struct json_value *value,
                      size_t *found)
{
    for (*found = 0; *found < count; ++*found)
        if (names[*found] && text_equal(value->text, text_of(names[*found])))
            return true;
    return false;
}

static struct arg_list member_args(struct catalog *catalog, const struct json_value *object)
{
    struct json_value args, key, value;
    arg_buffer found = {0};
    if (!value_member(object, TEXT("args"), &args) || args.kind != JSON_OBJECT)
        return (struct arg_list){0};
    struct json_reader in = json_read(args.text);
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            break;
        uint32_t string = value_string(catalog, &key);
        if (value.text.size <= ARG_LARGEST)
            *array_push(&found) =
                value_arg(catalog, catalog_key(catalog, catalog_text(catalog, string)), &value);
    }
    struct arg_list kept = catalog_keep_args(catalog, found.items, found.count);
    array_free(&found);
    return kept;
}

static void read_role(const struct json_value *object, struct track *track)
{
    static const char *const sources[] = {
        [SOURCE_OTHER] = "other", [SOURCE_HOST] = "host", [SOURCE_DEVICE] = "device"};
    struct json_value role;
    size_t found;
    if (!value_member(object, TEXT("role"), &role) || role.kind != JSON_STRING)
        return;
    if (track->level == TRACK_LANE && find_name(lane_role_names, LANE_ROLES, &role, &found))
        track->lane = (enum lane_role)found;
    if (track->level == TRACK_SOURCE &&
        find_name(sources, sizeof sources / sizeof *sources, &role, &found))
        track->source = (enum source_role)found;
}

/* Tracks follow their parents; one that does not is dropped, and its events are assigned as if it
 * had no track. */
void own_add_track(struct catalog *catalog, struct own_tables *own, const struct json_value *object)
{
    static const char *const levels[] = {"instance", "process", "source", "lane"};
    struct json_value name;
    int64_t number, parent, core;
    size_t level;
    uint32_t parent_track = TRACK_NONE;
    if (!value_member(object, TEXT("level"), &name) ||
        !find_name(levels, sizeof levels / sizeof *levels, &name, &level) ||
        !member_whole(object, TEXT("track"), &number) || number < 0)
        return;
    if (member_whole(object, TEXT("parent"), &parent))
        parent_track = idmap_get(&own->tracks, (uint64_t)parent);
    bool fits =
        level == TRACK_INSTANCE
            ? parent_track == TRACK_NONE
            : parent_track != TRACK_NONE && catalog->tracks.items[parent_track].level + 1 == level;
    if (!fits || idmap_get(&own->tracks, (uint64_t)number) != IDMAP_NONE)
        return;
    uint32_t string = member_string(catalog, object, TEXT("name"));
    uint32_t display_name = member_string(catalog, object, TEXT("display_name"));
    struct arg_list args = member_args(catalog, object);
    struct track *track = catalog_add_track(catalog, parent_track, (enum track_level)level);
    track->name = string;
    track->display_name = display_name;
    track->args = args;
    member_whole(object, TEXT("id"), &track->id);
    member_whole(object, TEXT("sort_key"), &track->sort_key);
    if (member_whole(object, TEXT("core"), &core))
        track->core = core == 1;
    read_role(object, track);
    if (value_member(object, TEXT("is_counter"), &name) && name.kind == JSON_TRUE)
        track->lane = LANE_COUNTER;
    idmap_put(&own->tracks, (uint64_t)number, (uint32_t)(track - catalog->tracks.items));
}

void own_add_type(struct catalog *catalog, struct own_tables *own, const struct json_value *object)
{
    int64_t number;
    if (!member_whole(object, TEXT("event_type"), &number) || number <= 0 ||
        idmap_get(&own->types, (uint64_t)number) != IDMAP_NONE)
        return;
    struct event_type type = {.name = member_string(catalog, object, TEXT("name")),
                              .display_name = member_string(catalog, object, TEXT("display_name")),
                              .args = member_args(catalog, object)};
    idmap_put(&own->types, (uint64_t)number, (uint32_t)catalog->types.count);
    *array_push(&catalog->types) = type;
}

static void add_message(struct catalog *catalog, uint32_t file, const struct json_value *object)
{
    struct json_value level;
    *array_push(&catalog->messages) =
        (struct message){.host = file,
                         .is_error = value_member(object, TEXT("level"), &level) &&
                                     text_equal(level.text, TEXT("error")),
                         .text = member_string(catalog, object, TEXT("text"))};
}

/* Derived from the events, so not imported. */
static bool is_derived(const struct own_tables *own, struct text key)
{
    static const char *const names[] = {
        "format",
        "start_epoch_ns",
        "stop_epoch_ns",
        "event_count",
        "dropped_events",
        "dropped_warning",
        "first_event_ps",
        "last_event_ps",
        "steps",
        "derived_rows",
        "flows",
        "system_profile_metadata",
        "device_profile_list",
    };
    enum { ALWAYS_OURS = 5 }; /* these may precede the key that identifies Kymo's own documents */
    size_t count = own->is_own ? sizeof names / sizeof *names : ALWAYS_OURS;
    for (size_t i = 0; i < count; i++)
        if (text_equal(key, text_of(names[i])))
            return true;
    return false;
}

typedef void take_item(struct explorer_source *source, uint32_t file,
                       const struct json_value *object);

static void take_track(struct explorer_source *source, uint32_t file,
                       const struct json_value *object)
{
    own_add_track(&source->base.source.catalog, &source->facts.items[file].own, object);
}

static void take_type(struct explorer_source *source, uint32_t file,
                      const struct json_value *object)
{
    own_add_type(&source->base.source.catalog, &source->facts.items[file].own, object);
}

static void take_message(struct explorer_source *source, uint32_t file,
                         const struct json_value *object)
{
    add_message(&source->base.source.catalog, file, object);
}

static void take_program(struct explorer_source *source, uint32_t file,
                         const struct json_value *object)
{
    own_add_program(&source->base.source.catalog, file, object);
}

/* The document's name for its host, if there is only one. */
static void take_host(struct explorer_source *source, uint32_t file,
                      const struct json_value *object)
{
    struct catalog *catalog = &source->base.source.catalog;
    uint32_t name = member_string(catalog, object, TEXT("name"));
    if (name != STRING_NONE && source->facts.items[file].own.hosts++ == 0)
        catalog->hosts.items[file].name = name;
    else
        catalog->hosts.items[file].name =
            catalog_string(catalog, text_of(source->base.files.items[file].label));
}

static const struct {
    const char *key;
    take_item *take;
} lists[] = {
    {"hosts", take_host},       {"tracks", take_track},     {"event_types", take_type},
    {"messages", take_message}, {"programs", take_program},
};

static bool take_list(struct explorer_source *source, uint32_t file, take_item *take,
                      const struct json_value *list)
{
    struct json_reader in = json_read(list->text);
    struct json_value item;
    if (list->kind != JSON_LIST)
        return false;
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']'))
        if (json_read_value(&in, &item) && item.kind == JSON_OBJECT)
            take(source, file, &item);
    return true;
}

bool own_read_fact(struct explorer_source *source, uint32_t file, struct text key,
                   const struct json_value *value)
{
    struct own_tables *own = &source->facts.items[file].own;
    own->is_own |= text_equal(key, TEXT("first_event_ps"));
    if (text_equal(key, TEXT("start_epoch_ns")))
        own->has_start = value_whole(value, &own->start_epoch_ns);
    if (text_equal(key, TEXT("stop_epoch_ns")))
        own->has_stop = value_whole(value, &own->stop_epoch_ns);
    for (size_t i = 0; i < sizeof lists / sizeof *lists && own->is_own; i++)
        if (text_equal(key, text_of(lists[i].key)))
            return take_list(source, file, lists[i].take, value);
    return is_derived(own, key);
}

void own_free(struct own_tables *own)
{
    idmap_free(&own->tracks);
    idmap_free(&own->types);
}

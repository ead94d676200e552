/*
 * XPlane export: assigns metadata ids to event types and strings, plane by plane, and encodes
 * everything in a plane except its lines. In a copy ids are those of the source; otherwise they
 * follow the order of the strings, keys first, so the output is deterministic.
 */
#include "export/xplane/writer_passes.h"

#include <stdio.h>
#include <stdlib.h>

/* In a copy, a stat of a plane or event type whose key is a number has no name, and the number is
 * its id: in the plane of scope ranges, ids are data. */
static bool is_nameless(const struct xspace *space, uint32_t key, uint64_t *id)
{
    struct text text = catalog_text(space->catalog, key);
    char digits[24];
    bool may_be = text.size > 0 && text.size < sizeof digits && text.data[0] <= '9';
    if (!space->is_copy || !may_be)
        return false;
    *id = (uint64_t)strtoll(text.data, NULL, 10);
    int size = snprintf(digits, sizeof digits, "%lld", (long long)*id);
    return text_equal(text, (struct text){digits, (size_t)size});
}

static bool has_key(const struct xspace *space, const struct arg *arg, struct text name)
{
    return text_equal(catalog_text(space->catalog, arg->key), name);
}

/* Args of a copied event type that are fields rather than stats; the importer puts the metadata
 * first. */
static bool is_metadata(const struct xspace *space, const struct event_type *type, uint32_t arg)
{
    return space->is_copy && arg == 0 && type->args.items[0].type == ARG_BYTES &&
           has_key(space, &type->args.items[0], TEXT("metadata"));
}

static bool is_child_id(const struct xspace *space, const struct arg *arg)
{
    return space->is_copy && arg->type == ARG_INT && has_key(space, arg, TEXT("child_id"));
}

/* Records the strings used by an arg of a plane or event type. */
static void use_arg(const struct xspace *space, uint32_t plane, const struct arg *arg,
                    xspace_uses *uses)
{
    uint64_t id;
    if (!is_nameless(space, arg->key, &id))
        *array_push(uses) = xspace_use(plane, USE_KEY, arg->key);
    if (arg->type == ARG_STRING)
        *array_push(uses) = xspace_use(plane, USE_TEXT, arg->string);
}

static void use_args(const struct xspace *space, uint32_t plane, const struct arg_list *args,
                     xspace_uses *uses)
{
    for (uint32_t i = 0; i < args->count; i++)
        use_arg(space, plane, &args->items[i], uses);
}

static void use_type_args(const struct xspace *space, uint32_t plane, uint32_t number,
                          xspace_uses *uses)
{
    const struct event_type *type = &space->catalog->types.items[number];
    for (uint32_t i = 0; i < type->args.count; i++)
        if (!is_metadata(space, type, i) && !is_child_id(space, &type->args.items[i]))
            use_arg(space, plane, &type->args.items[i], uses);
}

/* In a copy, types without events are written as well: programs are stored that way. */
static void use_listed_types(const struct xspace *space, xspace_uses *uses)
{
    const struct catalog *catalog = space->catalog;
    uint32_t *plane_of = mem_zeroed(catalog->tracks.count, sizeof *plane_of);
    for (uint32_t i = 0; i < space->planes.count; i++)
        plane_of[space->planes.items[i].source] = i;
    for (uint32_t i = 1; i < catalog->types.count; i++)
        *array_push(uses) = xspace_use(plane_of[catalog->types.items[i].source], USE_TYPE, i);
    mem_free(plane_of);
}

/* Adds names that planes, types and counters themselves refer to. */
static void complete_uses(const struct xspace *space, xspace_uses *uses)
{
    const struct catalog *catalog = space->catalog;
    if (space->is_copy)
        use_listed_types(space, uses);
    xspace_uses_sort_unique(uses);
    size_t found = uses->count;
    for (size_t i = 0; i < found; i++)
        if (xspace_use_kind(uses->items[i]) == USE_TYPE)
            use_type_args(space, xspace_use_plane(uses->items[i]),
                          xspace_use_number(uses->items[i]), uses);
    for (uint32_t i = 0; i < space->planes.count; i++)
        if (space->planes.items[i].source != TRACK_NONE)
            use_args(space, i, &catalog->tracks.items[space->planes.items[i].source].args, uses);
    xspace_xprof_uses(space, uses);
    for (uint32_t i = 0; i < catalog->tracks.count && !space->is_copy; i++) {
        if (catalog->tracks.items[i].lane != LANE_COUNTER)
            continue;
        uint32_t plane = space->lines.items[space->line_of[i]].plane;
        *array_push(uses) = xspace_use(plane, USE_COUNTER, i);
        use_args(space, plane, &catalog->tracks.items[i].args, uses);
    }
    xspace_uses_sort_unique(uses);
}

/* A plane whose metadata is being encoded. */
struct naming {
    const struct xspace *space;
    struct xspace_plane *plane;
    struct output *front, *back; /* of the plane */
    const uint64_t *uses;
    size_t count;
    struct idmap used_ids; /* metadata ids in use, of types or of strings */
    int64_t next_id;
    ARRAY(uint32_t) strings;
    size_t first_name; /* of the source, in catalog.names */
};

static int64_t free_id(struct naming *naming)
{
    while (idmap_get(&naming->used_ids, (uint64_t)naming->next_id) != IDMAP_NONE)
        naming->next_id++;
    return naming->next_id++;
}

static void take_id(struct naming *naming, uint64_t id)
{
    idmap_put(&naming->used_ids, id, 1);
}

/* Ids of a plane that is merged with a guest's are larger than the guest's. */
static int64_t first_id(const struct naming *naming, enum xspace_use kind)
{
    const struct xspace_guest *guest = naming->space->guest;
    if (!guest || guest->plane != (uint32_t)(naming->plane - naming->space->planes.items))
        return 1;
    return (int64_t)(kind == USE_TYPE ? guest->most_type : guest->most_stat) + 1;
}

static void reset_ids(struct naming *naming)
{
    idmap_free(&naming->used_ids);
    naming->next_id = first_id(naming, USE_TYPE);
}

/* Reserves the ids of nameless stats. */
static void take_nameless_ids(struct naming *naming, const struct arg_list *args)
{
    uint64_t id;
    for (uint32_t i = 0; i < args->count; i++)
        if (is_nameless(naming->space, args->items[i].key, &id))
            take_id(naming, id);
}

static bool text_before(const void *a, const void *b, const void *context)
{
    const struct catalog *catalog = context;
    return text_compare(catalog_text(catalog, *(const uint32_t *)a),
                        catalog_text(catalog, *(const uint32_t *)b)) < 0;
}

static void put_stat_metadata(struct naming *naming, int64_t id, struct text name,
                              struct text description)
{
    struct output *out = naming->back;
    size_t entry = pb_begin(out, XPLANE_STAT_METADATA);
    pb_put_varint(out, MAP_KEY, (uint64_t)id);
    size_t value = pb_begin(out, MAP_VALUE);
    pb_put_varint(out, METADATA_ID, (uint64_t)id);
    xspace_put_text(naming->space, out, METADATA_NAME, name);
    if (description.size > 0)
        xspace_put_text(naming->space, out, XSTAT_METADATA_DESCRIPTION, description);
    pb_end(out, value);
    pb_end(out, entry);
}

static void number_string(struct naming *naming, uint32_t string, uint64_t id)
{
    struct xspace_plane *plane = naming->plane;
    if (idmap_get(&plane->stats, string) != IDMAP_NONE)
        return; /* the first of a name */
    idmap_put(&plane->stats, string, (uint32_t)plane->stat_ids.count);
    *array_push(&plane->stat_ids) = id;
}

/* In a copy, the source's names with its numbers, used or not; the last name of a number counts. */
static void keep_names(struct naming *naming)
{
    const struct catalog *catalog = naming->space->catalog;
    size_t end = naming->first_name;
    struct idmap last = {0};
    for (; end < catalog->names.count; end++) {
        const struct numbered_name *name = &catalog->names.items[end];
        if (name->source != naming->plane->source)
            break;
        take_id(naming, (uint64_t)name->id);
        idmap_put(&last, (uint64_t)name->id, (uint32_t)end);
    }
    for (size_t i = naming->first_name; i < end; i++) {
        const struct numbered_name *name = &catalog->names.items[i];
        if (idmap_get(&last, (uint64_t)name->id) != i)
            continue;
        number_string(naming, name->name, (uint64_t)name->id);
        put_stat_metadata(naming, name->id, catalog_text(catalog, name->name),
                          catalog_text(catalog, name->description));
    }
    idmap_free(&last);
}

/* Strings used as keys or as values; one used as both keeps its id as a key. */
static void name_texts(struct naming *naming, enum xspace_use kind)
{
    const struct catalog *catalog = naming->space->catalog;
    naming->strings.count = 0;
    for (size_t i = 0; i < naming->count; i++) {
        uint32_t string = xspace_use_number(naming->uses[i]);
        if (xspace_use_kind(naming->uses[i]) == kind &&
            idmap_get(&naming->plane->stats, string) == IDMAP_NONE)
            *array_push(&naming->strings) = string;
    }
    sort_items(naming->strings.items, naming->strings.count, sizeof *naming->strings.items,
               text_before, catalog);
    uint32_t *string;
    array_each (string, &naming->strings) {
        uint32_t known =
            xspace_guest_stat(naming->space, naming->plane, catalog_text(catalog, *string));
        int64_t id = known != IDMAP_NONE ? (int64_t)known : free_id(naming);
        number_string(naming, *string, (uint64_t)id);
        if (known == IDMAP_NONE)
            put_stat_metadata(naming, id, catalog_text(catalog, *string), TEXT(""));
    }
}

static void put_constant_stat(const struct naming *naming, uint32_t field, const struct arg *arg)
{
    uint64_t id;
    if (!is_nameless(naming->space, arg->key, &id))
        id = xspace_stat_id(naming->plane, arg->key);
    xspace_put_stat(naming->space, naming->plane, naming->back, field, id, arg);
}

static void put_constant_stats(const struct naming *naming, uint32_t field,
                               const struct arg_list *args)
{
    for (uint32_t i = 0; i < args->count; i++)
        put_constant_stat(naming, field, &args->items[i]);
}

/* The fields of an event type other than its names. */
static void put_type_args(const struct naming *naming, const struct event_type *type)
{
    struct output *out = naming->back;
    for (uint32_t i = 0; i < type->args.count; i++) {
        const struct arg *arg = &type->args.items[i];
        if (is_metadata(naming->space, type, i))
            pb_put_bytes(out, XEVENT_METADATA_METADATA, arg->data, arg->size);
        else if (is_child_id(naming->space, arg))
            pb_put_varint(out, XEVENT_METADATA_CHILD_ID, arg->uinteger);
        else
            put_constant_stat(naming, XEVENT_METADATA_STATS, arg);
    }
}

struct open_type {
    size_t entry, value;
};

static struct open_type open_type(const struct naming *naming, int64_t id, struct text name)
{
    struct output *out = naming->back;
    struct open_type open = {.entry = pb_begin(out, XPLANE_EVENT_METADATA)};
    pb_put_varint(out, MAP_KEY, (uint64_t)id);
    open.value = pb_begin(out, MAP_VALUE);
    pb_put_varint(out, METADATA_ID, (uint64_t)id);
    if (name.size > 0)
        xspace_put_text(naming->space, out, METADATA_NAME, name);
    return open;
}

static void close_type(const struct naming *naming, const struct open_type *open)
{
    pb_end(naming->back, open->value);
    pb_end(naming->back, open->entry);
}

static void put_type(const struct naming *naming, uint32_t number, int64_t id)
{
    const struct catalog *catalog = naming->space->catalog;
    const struct event_type *type = &catalog->types.items[number];
    struct open_type open = open_type(naming, id, catalog_text(catalog, type->name));
    if (type->display_name)
        xspace_put_text(naming->space, naming->back, XEVENT_METADATA_DISPLAY_NAME,
                        catalog_text(catalog, type->display_name));
    put_type_args(naming, type);
    close_type(naming, &open);
}

static void name_type(struct naming *naming, uint32_t type)
{
    int64_t id = naming->space->catalog->types.items[type].id;
    if (!naming->space->is_copy) {
        id = free_id(naming);
        idmap_put(&naming->plane->types, type, (uint32_t)id);
    }
    take_id(naming, (uint64_t)id);
    put_type(naming, type, id);
}

/* Each counter gets an event type named after its lane: several counters may share the type of
 * their samples. */
static void name_counter(struct naming *naming, uint32_t lane)
{
    const struct catalog *catalog = naming->space->catalog;
    int64_t id = free_id(naming);
    idmap_put(&naming->plane->types, xspace_counter(lane), (uint32_t)id);
    struct open_type open = open_type(naming, id, catalog_track_label(catalog, lane));
    put_constant_stats(naming, XEVENT_METADATA_STATS, &catalog->tracks.items[lane].args);
    close_type(naming, &open);
}

/* In catalog order; type 0 stands for events of unknown type. */
static void name_types(struct naming *naming)
{
    for (size_t i = 0; i < naming->count; i++) {
        enum xspace_use kind = xspace_use_kind(naming->uses[i]);
        uint32_t number = xspace_use_number(naming->uses[i]);
        if (kind == USE_TYPE && number != 0)
            name_type(naming, number);
        else if (kind == USE_COUNTER)
            name_counter(naming, number);
    }
    while (idmap_get(&naming->used_ids, (uint64_t)naming->plane->type_unknown) != IDMAP_NONE)
        naming->plane->type_unknown--;
}

/* Adds a plane stat that the source does not have. */
static void add_plane_stat(struct naming *naming, const char *name, enum arg_type type,
                           int64_t value)
{
    struct arg arg = {.type = type & 7, .integer = value};
    int64_t id = free_id(naming);
    put_stat_metadata(naming, id, text_of(name), TEXT(""));
    xspace_put_stat(naming->space, naming->plane, naming->back, XPLANE_STATS, (uint64_t)id, &arg);
}

static void name_task_environment(struct naming *naming)
{
    const struct host *host = &naming->space->catalog->hosts.items[naming->plane->host];
    pb_put_text(naming->front, XPLANE_NAME, TEXT("Task Environment"));
    add_plane_stat(naming, "profile_start_time", ARG_UINT, host->start_epoch_ns);
    if (host->stop_epoch_ns != TIME_UNSET)
        add_plane_stat(naming, "profile_stop_time", ARG_UINT, host->stop_epoch_ns);
}

static void take_all_nameless_ids(struct naming *naming)
{
    const struct catalog *catalog = naming->space->catalog;
    take_nameless_ids(naming, &catalog->tracks.items[naming->plane->source].args);
    for (size_t i = 0; i < naming->count; i++)
        if (xspace_use_kind(naming->uses[i]) == USE_TYPE)
            take_nameless_ids(naming,
                              &catalog->types.items[xspace_use_number(naming->uses[i])].args);
}

/* XLA has no plane of a Neuron runtime's name, and its number is that of the core. */
static bool has_suffix(struct text name)
{
    return !text_starts(name, TEXT("/neuron_rt")) && !text_starts(name, TEXT("/device:NEURON"));
}

/* Captures of other formats may have several processes on a host, each with planes of the same
 * names. */
static void put_plane_name(const struct naming *naming, struct intern *names)
{
    const struct catalog *catalog = naming->space->catalog;
    const struct track *source = &catalog->tracks.items[naming->plane->source];
    struct text name = catalog_text(catalog, source->name);
    struct output unique;
    output_memory(&unique);
    output_write(&unique, name.data, name.size);
    if (!naming->space->is_copy && intern_find(names, name) != INTERN_NONE)
        output_format(&unique, " [%lld]", (long long)catalog->tracks.items[source->parent].id);
    if (naming->space->guest && naming->space->guest->suffix && has_suffix(name))
        output_format(&unique, "%s", naming->space->guest->suffix);
    name = (struct text){unique.data, unique.size};
    intern_add(names, name);
    if (name.size > 0)
        xspace_put_text(naming->space, naming->front, XPLANE_NAME, name);
    output_discard(&unique);
}

static void name_source(struct naming *naming, struct intern *names, uint64_t number_on_host)
{
    const struct catalog *catalog = naming->space->catalog;
    const struct track *source = &catalog->tracks.items[naming->plane->source];
    bool is_copy = naming->space->is_copy;
    uint64_t id = is_copy ? (uint64_t)source->id : number_on_host;
    if (id != 0)
        pb_put_varint(naming->front, XPLANE_ID, id);
    put_plane_name(naming, names);
    take_all_nameless_ids(naming);
    keep_names(naming);
    name_texts(naming, USE_KEY);
    name_texts(naming, USE_TEXT);
    while (idmap_get(&naming->used_ids, (uint64_t)naming->plane->stat_unknown) != IDMAP_NONE)
        naming->plane->stat_unknown--;
    put_constant_stats(naming, XPLANE_STATS, &source->args);
    int64_t process = catalog->tracks.items[source->parent].id;
    bool has_process = first_id(naming, USE_KEY) > 1 && naming->space->guest->has_process;
    if (!is_copy && process != 0 && !has_process &&
        !catalog_arg(catalog, &source->args, TEXT("process_id")))
        add_plane_stat(naming, "process_id", ARG_INT, process);
    reset_ids(naming);
    name_types(naming);
}

/* Shrinks to fit: there may be very many planes. */
static struct text shrink_to_fit(struct output *encoded)
{
    char *data = mem_alloc(encoded->size);
    mem_write(data, data, encoded->data, encoded->size);
    mem_touched(encoded->size);
    struct text text = {data, encoded->size};
    encoded->size = 0;
    return text;
}

static void name_plane(struct naming *naming, struct intern *names, uint64_t number_on_host)
{
    if (naming->plane->source == TRACK_NONE)
        name_task_environment(naming);
    else
        name_source(naming, names, number_on_host);
    naming->plane->front = shrink_to_fit(naming->front);
    naming->plane->back = shrink_to_fit(naming->back);
    idmap_free(&naming->used_ids);
    array_free(&naming->strings);
}

/* Uses and names are sorted by plane, so one pass over all three is enough. Buffers are shared by
 * all planes; each keeps a copy of its own size. */
void xspace_name(struct xspace *space, xspace_uses *uses)
{
    struct output front, back;
    struct intern names; /* of the host's planes */
    const struct catalog *catalog = space->catalog;
    size_t next = 0, first_on_host = 0, name = 0;
    complete_uses(space, uses);
    intern_init(&names);
    output_memory(&front);
    output_memory(&back);
    for (uint32_t i = 0; i < space->planes.count; i++) {
        struct xspace_plane *plane = &space->planes.items[i];
        if (plane->host != space->planes.items[first_on_host].host) {
            first_on_host = i;
            intern_free(&names);
            intern_init(&names);
        }
        struct naming naming = {.space = space, .plane = plane, .front = &front, .back = &back};
        naming.next_id = first_id(&naming, USE_KEY);
        naming.uses = uses->items ? uses->items + next : NULL;
        for (; next < uses->count && xspace_use_plane(uses->items[next]) == i; next++)
            naming.count++;
        while (name < catalog->names.count && catalog->names.items[name].source < plane->source)
            name++;
        naming.first_name = name;
        name_plane(&naming, &names, i - first_on_host);
    }
    output_discard(&front);
    output_discard(&back);
    intern_free(&names);
}

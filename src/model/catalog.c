/*
 * The catalog of a profile: track tree, event types, programs and strings.
 */
#include "model/catalog.h"

void catalog_init(struct catalog *catalog)
{
    *catalog = (struct catalog){.start_epoch_ns = TIME_UNSET, .stop_epoch_ns = TIME_UNSET};
    intern_init(&catalog->strings);
    *array_push(&catalog->types) = (struct event_type){0}; /* type 0: events of unknown type */
}

void catalog_free(struct catalog *catalog)
{
    struct program *program;
    array_each (program, &catalog->programs) {
        array_free(&program->operations);
        array_free(&program->operands);
        array_free(&program->callees);
        array_free(&program->frames);
        idmap_free(&program->by_name);
        idmap_free(&program->by_kernel_name);
    }
    array_free(&catalog->programs);
    array_free(&catalog->tracks);
    idmap_free(&catalog->groups);
    array_free(&catalog->types);
    array_free(&catalog->names);
    array_free(&catalog->hosts);
    array_free(&catalog->messages);
    intern_free(&catalog->strings);
    arena_free(&catalog->arena);
}

uint32_t catalog_key(struct catalog *catalog, struct text text)
{
    if (text_utf8_prefix(text.data, text.size) == text.size)
        return catalog_string(catalog, text);
    struct output clean;
    output_memory(&clean);
    for (size_t at = 0; at < text.size;) {
        size_t good = text_utf8_prefix(text.data + at, text.size - at);
        output_write(&clean, text.data + at, good);
        at += good;
        if (at < text.size) {
            output_text(&clean, UTF8_REPLACEMENT);
            at++;
        }
    }
    uint32_t string = catalog_string(catalog, (struct text){clean.data, clean.size});
    output_discard(&clean);
    return string;
}

struct track *catalog_add_track(struct catalog *catalog, uint32_t parent, enum track_level level)
{
    struct track *track = array_push(&catalog->tracks);
    *track = (struct track){.parent = parent, .level = level};
    if (catalog->hosts.count > 0)
        track->host = (uint32_t)catalog->hosts.count - 1;
    if (parent != TRACK_NONE)
        track->source = catalog->tracks.items[parent].source;
    return track;
}

uint32_t catalog_group(struct catalog *catalog, uint32_t parent, enum track_level level, int64_t id,
                       uint32_t name)
{
    uint64_t identity[4] = {parent, (uint64_t)level, (uint64_t)id, name};
    uint64_t hash = hash_bytes(identity, sizeof identity);
    uint32_t known = idmap_get(&catalog->groups, hash);
    if (known != IDMAP_NONE) {
        const struct track *track = &catalog->tracks.items[known];
        if (track->parent == parent && track->level == level && track->id == id &&
            track->name == name)
            return known;
    }
    struct track *track = catalog_add_track(catalog, parent, level);
    track->id = id;
    track->name = name;
    track->sort_key = id;
    uint32_t number = (uint32_t)(track - catalog->tracks.items);
    idmap_put(&catalog->groups, hash, number);
    return number;
}

const char *const lane_role_names[LANE_ROLES] = {
    [LANE_PLAIN] = "plain",     [LANE_STREAM] = "stream", [LANE_OPS] = "ops",
    [LANE_MODULES] = "modules", [LANE_STEPS] = "steps",   [LANE_ASYNC] = "async",
    [LANE_COUNTER] = "counter", [LANE_ASIDE] = "aside",
};

uint32_t catalog_ancestor(const struct catalog *catalog, uint32_t track, enum track_level level)
{
    while (track != TRACK_NONE && catalog->tracks.items[track].level != level)
        track = catalog->tracks.items[track].parent;
    return track;
}

struct text catalog_track_label(const struct catalog *catalog, uint32_t track)
{
    const struct track *t = &catalog->tracks.items[track];
    return catalog_text(catalog, t->display_name ? t->display_name : t->name);
}

struct text catalog_type_label(const struct catalog *catalog, uint32_t type)
{
    const struct event_type *t = &catalog->types.items[type];
    return catalog_text(catalog, t->display_name ? t->display_name : t->name);
}

struct arg_list catalog_keep_args(struct catalog *catalog, const struct arg *args, size_t count)
{
    if (count == 0)
        return (struct arg_list){0};
    struct arg *kept = arena_alloc(&catalog->arena, count * sizeof *kept);
    memcpy(kept, args, count * sizeof *kept);
    return (struct arg_list){kept, (uint32_t)count};
}

struct arg catalog_int_arg(struct catalog *catalog, struct text key, int64_t value)
{
    return (struct arg){.key = catalog_string(catalog, key), .type = ARG_INT, .integer = value};
}

const struct arg *catalog_arg(const struct catalog *catalog, const struct arg_list *args,
                              struct text key)
{
    uint32_t string = intern_find(&catalog->strings, key);
    for (uint32_t i = 0; i < args->count; i++)
        if (args->items[i].key == string)
            return &args->items[i];
    return NULL;
}

struct text arg_text(const struct catalog *catalog, const struct arg *arg)
{
    if (arg->type == ARG_STRING)
        return catalog_text(catalog, arg->string);
    if (arg->type == ARG_TEXT || arg->type == ARG_BYTES)
        return (struct text){(const char *)arg->data, arg->size};
    return TEXT("");
}

int64_t arg_integer(const struct arg *arg)
{
    switch ((enum arg_type)arg->type) {
    case ARG_INT:
    case ARG_UINT:
        return arg->integer;
    case ARG_DOUBLE:
        return arg->number >= -0x1p63 && arg->number < 0x1p63 ? (int64_t)arg->number : 0;
    default:
        return 0;
    }
}

double arg_number(const struct arg *arg)
{
    switch ((enum arg_type)arg->type) {
    case ARG_INT:
        return (double)arg->integer;
    case ARG_UINT:
        return (double)arg->uinteger;
    case ARG_DOUBLE:
        return arg->number;
    default:
        return 0;
    }
}

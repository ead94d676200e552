/*
 * Merged sources: adds the catalog of a part to the merged one.
 */
#include "import/hlo.h"
#include "import/merged/merged_passes.h"

struct merging {
    struct catalog *to;
    const struct catalog *from;
    struct part_map *map;
};

static uint32_t string(const struct merging *merging, uint32_t string)
{
    return merging->map->strings[string];
}

static struct arg_list merge_args(const struct merging *merging, const struct arg_list *args)
{
    struct arg_list kept = catalog_keep_args(merging->to, args->items, args->count);
    map_args(merging->map, kept.items, kept.count);
    return kept;
}

static void merge_strings(const struct merging *merging)
{
    struct part_map *map = merging->map;
    map->string_count = merging->from->strings.by_id.count;
    map->strings = mem_alloc(map->string_count * sizeof *map->strings);
    for (uint32_t i = 0; i < map->string_count; i++)
        map->strings[i] = catalog_string(merging->to, catalog_text(merging->from, i));
}

/* A machine or process that is known already also gets the part's args about it. */
static void join_track(const struct merging *merging, const struct track *track, uint32_t number)
{
    struct catalog *to = merging->to;
    arg_buffer args = {0};
    struct track *known = &to->tracks.items[number];
    struct arg_list own = merge_args(merging, &track->args);
    known->name = known->name ? known->name : string(merging, track->name);
    known->display_name =
        known->display_name ? known->display_name : string(merging, track->display_name);
    for (uint32_t i = 0; i < known->args.count; i++)
        *array_push(&args) = known->args.items[i];
    for (uint32_t i = 0; i < own.count; i++)
        *array_push(&args) = own.items[i];
    if (own.count > 0)
        known->args = catalog_keep_args(to, args.items, args.count);
    array_free(&args);
}

static void add_track(const struct merging *merging, const struct track *track)
{
    struct track *added = array_push(&merging->to->tracks);
    *added = *track;
    added->host = track->host + (uint32_t)merging->to->hosts.count;
    added->parent = track->parent == TRACK_NONE ? TRACK_NONE : merging->map->tracks[track->parent];
    added->name = string(merging, track->name);
    added->display_name = string(merging, track->display_name);
    added->args = merge_args(merging, &track->args);
}

static void merge_tracks(const struct merging *merging)
{
    const struct catalog *from = merging->from;
    uint32_t *tracks = mem_alloc(from->tracks.count * sizeof *tracks);
    merging->map->tracks = tracks;
    match_tracks(merging->to, from, merging->map->strings, tracks);
    for (uint32_t i = 0; i < from->tracks.count; i++) {
        if (tracks[i] != TRACK_NONE) {
            join_track(merging, &from->tracks.items[i], tracks[i]);
            continue;
        }
        tracks[i] = (uint32_t)merging->to->tracks.count;
        add_track(merging, &from->tracks.items[i]);
    }
}

static void merge_types(const struct merging *merging)
{
    struct catalog *to = merging->to;
    merging->map->first_type = (uint32_t)to->types.count - 1;
    for (size_t i = 1; i < merging->from->types.count; i++) {
        struct event_type type = merging->from->types.items[i];
        type.name = string(merging, type.name);
        type.display_name = string(merging, type.display_name);
        type.args = merge_args(merging, &type.args);
        type.source = type.source ? merging->map->tracks[type.source] : 0;
        *array_push(&to->types) = type;
    }
    const struct numbered_name *name;
    array_each (name, &merging->from->names)
        *array_push(&to->names) =
            (struct numbered_name){.source = merging->map->tracks[name->source],
                                   .name = string(merging, name->name),
                                   .description = string(merging, name->description),
                                   .id = name->id};
}

static void merge_hosts(const struct merging *merging)
{
    merging->map->first_host = (uint32_t)merging->to->hosts.count;
    for (size_t i = 0; i < merging->from->hosts.count; i++) {
        struct host host = merging->from->hosts.items[i];
        host.name = string(merging, host.name);
        host.file = string(merging, host.file);
        host.machine = string(merging, host.machine);
        host.compression = string(merging, host.compression);
        host.shift_ps = add_saturated(host.shift_ps, merging->map->shift_ps);
        *array_push(&merging->to->hosts) = host;
    }
    const struct message *message;
    array_each (message, &merging->from->messages) {
        struct message *added = array_push(&merging->to->messages);
        *added = *message;
        added->host += merging->map->first_host;
        added->text = string(merging, message->text);
    }
}

/* Strings get the merged catalog's numbers; indexes within the program stay, as its lists are
 * copied whole. */
static void merge_operations(const struct merging *merging, const struct program *from,
                             struct program *program)
{
    const struct operation *operation;
    array_each (operation, &from->operations) {
        struct operation *added = array_push(&program->operations);
        *added = *operation;
        added->name = string(merging, operation->name);
        added->opcode = string(merging, operation->opcode);
        added->op_name = string(merging, operation->op_name);
        added->computation = string(merging, operation->computation);
        added->file = string(merging, operation->file);
        added->category = string(merging, operation->category);
        added->shape = string(merging, operation->shape);
        added->expression = string(merging, operation->expression);
        added->compute_type = string(merging, operation->compute_type);
    }
    for (size_t i = 0; i < from->operands.count; i++)
        *array_push(&program->operands) = from->operands.items[i];
    for (size_t i = 0; i < from->callees.count; i++)
        *array_push(&program->callees) = string(merging, from->callees.items[i]);
    const struct stack_frame *frame;
    array_each (frame, &from->frames)
        *array_push(&program->frames) =
            (struct stack_frame){.file = string(merging, frame->file),
                                 .function = string(merging, frame->function),
                                 .line = frame->line,
                                 .column = frame->column,
                                 .parent = frame->parent};
}

static void merge_programs(const struct merging *merging)
{
    const struct program *from;
    array_each (from, &merging->from->programs) {
        struct program program = {.host = from->host + merging->map->first_host,
                                  .name = string(merging, from->name),
                                  .label = string(merging, from->label),
                                  .id = from->id,
                                  .proto = from->proto};
        merge_operations(merging, from, &program);
        hlo_index(merging->to, &program);
        *array_push(&merging->to->programs) = program;
    }
}

void merge_catalog(struct catalog *to, const struct catalog *from, struct part_map *map)
{
    struct merging merging = {to, from, map};
    merge_strings(&merging);
    merge_tracks(&merging);
    merge_types(&merging);
    merge_hosts(&merging);
    merge_programs(&merging);
    to->is_sampled |= from->is_sampled;
    to->has_own_findings |= from->has_own_findings;
    if (from->stop_epoch_ns > to->stop_epoch_ns)
        to->stop_epoch_ns = from->stop_epoch_ns;
}

void part_map_free(struct part_map *map)
{
    mem_free(map->strings);
    mem_free(map->tracks);
}

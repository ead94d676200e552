/*
 * Groups lanes by the values of the chosen fields.
 */
#include "export/groups.h"

static const char *const field_names[GROUP_FIELDS] = {
    [GROUP_INSTANCE] = "instance_id", [GROUP_PROCESS] = "process_id", [GROUP_THREAD] = "thread_id",
    [GROUP_CORE] = "lnc_idx",         [GROUP_WORKER] = "worker_gid",
};

static bool add_field(struct group_fields *fields, struct text name)
{
    for (enum group_field field = 0; field < GROUP_FIELDS; field++) {
        if (!text_equal(name, text_of(field_names[field])))
            continue;
        for (size_t i = 0; i < fields->count; i++)
            if (fields->items[i] == field)
                return true;
        fields->items[fields->count++] = field;
        return true;
    }
    return false;
}

bool group_fields_read(struct group_fields *fields, const char *list, struct error *err)
{
    *fields = (struct group_fields){0};
    while (*list) {
        struct text name = {list, strcspn(list, ",")};
        if (!add_field(fields, name))
            return error_set(err,
                             "unknown group field '%.*s'; expected instance_id, process_id, "
                             "thread_id, lnc_idx or worker_gid",
                             (int)name.size, name.data);
        list += name.size + (list[name.size] == ',');
    }
    return fields->count > 0 || error_set(err, "at least one group field is needed");
}

/* Fields without a value are left out of the label. Threads are shown by name if they have one. */
static void put_field(struct output *label, const struct catalog *catalog,
                      const struct location *location, uint32_t track, enum group_field field)
{
    struct text name = catalog_track_label(catalog, track);
    bool is_missing = (field == GROUP_CORE || field == GROUP_WORKER) && !location->has_core;
    if (is_missing)
        return;
    if (label->size > 0)
        output_text(label, ", ");
    switch (field) {
    case GROUP_INSTANCE: {
        struct text instance = catalog_text(catalog, location->instance);
        output_write(label, instance.data, instance.size);
        break;
    }
    case GROUP_PROCESS:
        output_format(label, "process %lld", (long long)location->process);
        break;
    case GROUP_THREAD:
        /* A runtime's rows are named after the core, whichever thread calls. */
        if (name.size > 0 && (location->layer != LAYER_RUNTIME || location->thread == 0))
            output_write(label, name.data, name.size);
        else
            output_format(label, "thread %lld", (long long)location->thread);
        break;
    case GROUP_CORE:
        output_format(label, "core %lld", (long long)location->core);
        break;
    default:
        output_format(label, "worker %lld", (long long)location->worker);
        break;
    }
}

/* Hash of the field values; equal for lanes of the same group. */
static uint64_t identity_of(const struct location *location, uint32_t track, uint64_t parent,
                            const struct group_fields *fields)
{
    int64_t values[GROUP_FIELDS + 1] = {(int64_t)parent};
    for (size_t i = 0; i < fields->count; i++) {
        switch (fields->items[i]) {
        case GROUP_INSTANCE:
            values[i + 1] = location->instance;
            break;
        case GROUP_PROCESS:
            values[i + 1] = location->process;
            break;
        case GROUP_THREAD:
            values[i + 1] = track; /* keeps lanes with equal ids but different names apart */
            break;
        case GROUP_CORE:
            values[i + 1] = location->has_core ? location->core : -1;
            break;
        default:
            values[i + 1] = location->has_core ? location->worker : -1;
            break;
        }
    }
    return hash_bytes(values, (fields->count + 1) * sizeof *values);
}

static uint32_t find_group(group_list *list, struct idmap *known, const struct catalog *catalog,
                           const struct location *location, uint32_t track, uint32_t parent,
                           const struct group_fields *fields)
{
    uint64_t identity = identity_of(location, track, parent, fields);
    uint32_t index = idmap_get(known, identity);
    if (index != IDMAP_NONE)
        return index;
    struct output label;
    output_memory(&label);
    for (size_t i = 0; i < fields->count; i++)
        put_field(&label, catalog, location, track, fields->items[i]);
    if (label.size == 0)
        output_text(&label, "host");
    index = (uint32_t)list->count;
    *array_push(list) = (struct group){parent, mem_copy_text(label.data, label.size)};
    output_discard(&label);
    idmap_put(known, identity, index);
    return index;
}

void groups_make(struct groups *groups, const struct catalog *catalog,
                 const struct group_fields *primary, const struct group_fields *secondary)
{
    struct location *locations = locations_of(catalog);
    struct idmap known_primary = {0}, known_secondary = {0};
    *groups = (struct groups){0};
    groups->of_lane = mem_zeroed(catalog->tracks.count, sizeof *groups->of_lane);
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        if (catalog->tracks.items[i].level != TRACK_LANE)
            continue;
        uint32_t parent =
            find_group(&groups->primary, &known_primary, catalog, &locations[i], i, 0, primary);
        groups->of_lane[i] = find_group(&groups->secondary, &known_secondary, catalog,
                                        &locations[i], i, parent, secondary);
    }
    idmap_free(&known_primary);
    idmap_free(&known_secondary);
    mem_free(locations);
}

void groups_free(struct groups *groups)
{
    struct group *group;
    array_each (group, &groups->primary)
        mem_free(group->label);
    array_each (group, &groups->secondary)
        mem_free(group->label);
    array_free(&groups->primary);
    array_free(&groups->secondary);
    mem_free(groups->of_lane);
}

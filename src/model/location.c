/*
 * Locations, derived from the track tree and the names of devices.
 */
#include "model/location.h"

bool number_at_end(struct text name, int64_t *number)
{
    size_t digits = 0;
    while (digits < name.size && name.data[name.size - digits - 1] >= '0' &&
           name.data[name.size - digits - 1] <= '9')
        digits++;
    *number = 0;
    for (size_t i = name.size - digits; i < name.size && digits < 10; i++)
        *number = *number * 10 + (name.data[i] - '0');
    return digits > 0 && digits < 10;
}

static enum layer layer_of(const struct catalog *catalog, const struct track *source)
{
    struct text name = catalog_text(catalog, source->name);
    if (source->source == SOURCE_HOST)
        return text_starts(name, TEXT("/neuron_rt")) ? LAYER_RUNTIME : LAYER_FRAMEWORK;
    if (text_starts(name, TEXT("/device:NEURON")))
        return LAYER_NEURON;
    if (source->source != SOURCE_DEVICE)
        return LAYER_OTHER;
    if (text_starts(name, TEXT("/device:GPU")))
        return LAYER_GPU;
    return text_starts(name, TEXT("/device:TPU")) ? LAYER_TPU : LAYER_DEVICE;
}

struct text layer_name(enum layer layer)
{
    static const char *const names[] = {
        [LAYER_OTHER] = "other",     [LAYER_FRAMEWORK] = "framework", [LAYER_RUNTIME] = "neuron_rt",
        [LAYER_GPU] = "gpu_hw",      [LAYER_TPU] = "tpu_hw",          [LAYER_NEURON] = "neuron_hw",
        [LAYER_DEVICE] = "device_hw"};
    return text_of(names[layer]);
}

static struct location location_of(const struct catalog *catalog, uint32_t lane)
{
    const struct track *tracks = catalog->tracks.items;
    const struct track *source = &tracks[tracks[lane].parent];
    uint32_t process = catalog_ancestor(catalog, lane, TRACK_PROCESS);
    const struct track *instance = &tracks[catalog_ancestor(catalog, lane, TRACK_INSTANCE)];
    struct location location = {
        .layer = layer_of(catalog, source),
        .instance = instance->display_name ? instance->display_name : instance->name,
        .process_track = process,
        .process = tracks[process].id,
        .thread = tracks[lane].id,
    };
    location.has_core = (source->source == SOURCE_DEVICE || location.layer == LAYER_RUNTIME ||
                         location.layer == LAYER_NEURON) &&
                        number_at_end(catalog_text(catalog, source->name), &location.core);
    return location;
}

/* A core's own events and the runtime's events about it belong to one worker; otherwise each source
 * is one. */
static uint32_t worker_source(struct idmap *cores, const struct location *location, uint32_t source)
{
    if (location->layer != LAYER_RUNTIME && location->layer != LAYER_NEURON)
        return source;
    uint64_t core = (uint64_t)location->process_track << 32 | (uint64_t)location->core;
    uint32_t first = idmap_get(cores, core);
    if (first == IDMAP_NONE)
        idmap_put(cores, core, source);
    return first == IDMAP_NONE ? source : first;
}

struct location *locations_of(const struct catalog *catalog)
{
    size_t count = catalog->tracks.count;
    struct location *locations = mem_zeroed(count, sizeof *locations);
    int64_t *workers = mem_zeroed(count, sizeof *workers); /* by source, plus one */
    struct idmap cores = {0};
    int64_t next = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_LANE)
            continue;
        locations[i] = location_of(catalog, i);
        if (!locations[i].has_core)
            continue;
        uint32_t source = worker_source(&cores, &locations[i], track->parent);
        if (workers[source] == 0)
            workers[source] = ++next;
        locations[i].worker = workers[source] - 1;
    }
    idmap_free(&cores);
    mem_free(workers);
    return locations;
}

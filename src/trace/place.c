/*
 * Places: read off the tree of tracks and the names of devices.
 */
#include "trace/place.h"

/* The number at the end of a device's name: "/device:GPU:3". */
static bool number_at_end(struct text name, int64_t *number)
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
        return LAYER_FRAMEWORK;
    if (source->source != SOURCE_DEVICE)
        return LAYER_OTHER;
    if (text_starts(name, TEXT("/device:GPU")))
        return LAYER_GPU;
    return text_starts(name, TEXT("/device:TPU")) ? LAYER_TPU : LAYER_DEVICE;
}

struct text layer_name(enum layer layer)
{
    static const char *const names[] = {[LAYER_OTHER] = "other",
                                        [LAYER_FRAMEWORK] = "framework",
                                        [LAYER_GPU] = "gpu_hw",
                                        [LAYER_TPU] = "tpu_hw",
                                        [LAYER_DEVICE] = "device_hw"};
    return text_of(names[layer]);
}

static struct place place_of(const struct catalog *catalog, uint32_t lane)
{
    const struct track *tracks = catalog->tracks.items;
    const struct track *source = &tracks[tracks[lane].parent];
    uint32_t process = catalog_ancestor(catalog, lane, TRACK_PROCESS);
    const struct track *instance = &tracks[catalog_ancestor(catalog, lane, TRACK_INSTANCE)];
    struct place place = {
        .layer = layer_of(catalog, source),
        .instance = instance->display_name ? instance->display_name : instance->name,
        .process_track = process,
        .process = tracks[process].id,
        .thread = tracks[lane].id,
    };
    place.has_core = source->source == SOURCE_DEVICE &&
                     number_at_end(catalog_text(catalog, source->name), &place.core);
    return place;
}

struct place *places_of(const struct catalog *catalog)
{
    size_t count = catalog->tracks.count;
    struct place *places = mem_zeroed(count, sizeof *places);
    int64_t *workers = mem_zeroed(count, sizeof *workers); /* by source, plus one */
    int64_t next = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_LANE)
            continue;
        places[i] = place_of(catalog, i);
        if (!places[i].has_core)
            continue;
        if (workers[track->parent] == 0)
            workers[track->parent] = ++next;
        places[i].worker = workers[track->parent] - 1;
    }
    mem_free(workers);
    return places;
}

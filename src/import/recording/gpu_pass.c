/*
 * Events and lanes of a pass. Lanes are created during layout, before there is a pusher.
 */
#include "import/recording/gpu_pass.h"

#include "import/neuron_systrace/neuron.h"

#include <stdio.h>

enum { NAME_SIZE = 96 };

void gpu_add_number(const struct gpu_pass *pass, enum gpu_key key, uint64_t value)
{
    arg_put(array_push(&pass->target->pusher->args), pass->names->keys[key], ARG_UINT, 0, value);
}

void gpu_add_string(const struct gpu_pass *pass, enum gpu_key key, uint32_t string)
{
    if (string != STRING_NONE)
        arg_put(array_push(&pass->target->pusher->args), pass->names->keys[key], ARG_STRING, 0,
                string);
}

void gpu_add_text(const struct gpu_pass *pass, enum gpu_key key, const char *text)
{
    struct pusher *pusher = pass->target->pusher;
    size_t size = strlen(text);
    char *kept = arena_alloc(&pusher->texts, size);
    memcpy(kept, text, size);
    arg_put(array_push(&pusher->args), pass->names->keys[key], ARG_TEXT, (uint32_t)size,
            (uint64_t)(uintptr_t)kept);
}

bool gpu_put(const struct gpu_pass *pass, uint32_t track, uint32_t type, uint64_t start_ns,
             uint64_t duration_ns)
{
    const struct gpu_target *target = pass->target;
    int64_t start = clock_fit_host_ns(&pass->process->monotonic, (int64_t)start_ns);
    int64_t end = add_saturated(start, duration_ns < INT64_MAX ? (int64_t)duration_ns : INT64_MAX);
    return recording_put(target->recording, target->number, target->pusher, track, type, start, end,
                         0, target->err);
}

static const struct gpu_device *device_of(const struct gpu_file *file, uint32_t id)
{
    const struct gpu_device *device;
    array_each (device, &file->devices)
        if (device->id == id)
            return device;
    return NULL;
}

/* Properties of a device, under their names in XPlane files. */
static struct arg_list device_args(struct catalog *catalog, const struct gpu_file *file,
                                   const struct gpu_device *device)
{
    struct arg args[8];
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"clock_rate", device->clock_khz},
                   {"core_count", device->multiprocessors},
                   {"memory_bandwidth", device->memory_bytes_per_s},
                   {"memory_size", device->memory_bytes},
                   {"compute_cap_major", device->compute_major},
                   {"compute_cap_minor", device->compute_minor}};
    arg_put(&args[0], catalog_key(catalog, TEXT("device_vendor")), ARG_STRING, 0,
            catalog_string(catalog, TEXT("Nvidia")));
    arg_put(&args[1], catalog_key(catalog, TEXT("gpu_device_name")), ARG_STRING, 0,
            catalog_string(catalog, gpu_text(file, device->name)));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        arg_put(&args[i + 2], catalog_key(catalog, text_of(numbers[i].key)), ARG_UINT, 0,
                numbers[i].value);
    return catalog_keep_args(catalog, args, sizeof args / sizeof *args);
}

uint32_t gpu_device_source(const struct gpu_pass *pass, uint32_t id)
{
    struct catalog *catalog = &pass->target->recording->base.source.catalog;
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "/device:GPU:%u", id);
    uint32_t source = named_source(catalog, pass->process->track, SOURCE_DEVICE, text_of(name));
    const struct gpu_device *device = device_of(pass->file, id);
    if (device && catalog->tracks.items[source].args.count == 0)
        catalog->tracks.items[source].args = device_args(catalog, pass->file, device);
    return source;
}

uint32_t gpu_host_track(const struct gpu_pass *pass, uint32_t *track, struct text name)
{
    struct catalog *catalog = &pass->target->recording->base.source.catalog;
    if (*track != TRACK_NONE || pass->target->pusher)
        return *track;
    uint32_t source = named_source(catalog, pass->process->track, SOURCE_HOST, TEXT("/host:CPU"));
    struct track *lane = catalog_add_track(catalog, source, TRACK_LANE);
    lane->name = catalog_string(catalog, name);
    lane->sort_key = INT64_MAX; /* below the threads */
    lane->lane = LANE_ASYNC;
    *track = (uint32_t)(lane - catalog->tracks.items);
    return *track;
}

uint32_t gpu_counter_track(const struct gpu_pass *pass, uint32_t device, struct text name)
{
    struct catalog *catalog = &pass->target->recording->base.source.catalog;
    struct track *lane = catalog_add_track(catalog, gpu_device_source(pass, device), TRACK_LANE);
    lane->name = catalog_string(catalog, name);
    lane->sort_key = INT64_MAX;
    lane->lane = LANE_COUNTER;
    return (uint32_t)(lane - catalog->tracks.items);
}

bool gpu_put_counter(const struct gpu_pass *pass, uint32_t track, uint32_t type, uint64_t time_ns,
                     double value)
{
    const struct gpu_target *target = pass->target;
    int64_t time = clock_fit_host_ns(&pass->process->monotonic, (int64_t)time_ns);
    return recording_put(target->recording, target->number, target->pusher, track, type, time, time,
                         value, target->err);
}

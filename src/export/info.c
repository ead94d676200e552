/*
 * `kymo info`: lists hosts, planes, lines, counts, times and versions of a profile.
 */
#include "export/describe.h"
#include "export/lines.h"

#include <stdio.h>

/* Calls visit for every source arg that names a version, once per distinct value: sources and hosts
 * repeat them. */
static void each_version(const struct catalog *catalog,
                         void (*visit)(void *context, struct text key, struct text value),
                         void *context)
{
    struct idmap seen = {0};
    const struct track *track;
    array_each (track, &catalog->tracks) {
        for (uint32_t i = 0; i < track->args.count; i++) {
            const struct arg *arg = &track->args.items[i];
            struct text key = catalog_text(catalog, arg->key), value = arg_text(catalog, arg);
            char digits[24];
            if (!text_ends(key, TEXT("_version")))
                continue;
            if (arg->type == ARG_INT || arg->type == ARG_UINT)
                value = (struct text){digits, (size_t)snprintf(digits, sizeof digits, "%lld",
                                                               (long long)arg_integer(arg))};
            uint64_t identity[2] = {arg->key, hash_bytes(value.data, value.size)};
            uint64_t hash = hash_bytes(identity, sizeof identity);
            if (idmap_get(&seen, hash) == IDMAP_NONE)
                visit(context, key, value);
            idmap_put(&seen, hash, 0);
        }
    }
    idmap_free(&seen);
}

static void add_times(struct table *table, const struct extent *extent)
{
    if (extent->has_times) {
        table_ps(table, (double)extent->first_ps);
        table_ps(table, (double)extent->last_ps);
    } else {
        table_text(table, TEXT(""));
        table_text(table, TEXT(""));
    }
}

static struct extent lane_extent(const struct analysis *analysis, uint32_t lane)
{
    const struct lane_analysis *times = &analysis->lanes[lane];
    return (struct extent){.has_times = analysis->catalog->tracks.items[lane].events > 0 &&
                                        times->first_ps <= times->last_ps,
                           .first_ps = times->first_ps,
                           .last_ps = times->last_ps};
}

struct version_list {
    struct output *out;
    const struct text_style *style;
    bool has_heading;
};

static void put_version_text(void *context, struct text key, struct text value)
{
    struct version_list *list = context;
    if (!list->has_heading)
        put_heading(list->out, list->style, "Versions");
    list->has_heading = true;
    output_text(list->out, "  ");
    put_printable(list->out, key);
    output_text(list->out, ": ");
    put_printable(list->out, value);
    output_char(list->out, '\n');
}

static void put_hosts_text(const struct catalog *catalog, const struct text_style *style,
                           struct output *out)
{
    static const struct column columns[] = {{"host", true, true},     {"file", true, true},
                                            {"size", false, false},   {"packed", true, false},
                                            {"started", true, false}, {"shifted by", false, false}};
    char size[QUANTITY_SIZE], when[QUANTITY_SIZE];
    struct table table = table_begin(columns, 6);
    const struct host *host;
    array_each (host, &catalog->hosts) {
        table_text(&table, catalog_text(catalog, host->name));
        table_text(&table, catalog_text(catalog, host->file));
        table_text(&table, text_of(format_bytes(host->size_bytes, size)));
        table_text(&table, catalog_text(catalog, host->compression));
        table_text(&table, host->start_epoch_ns == TIME_UNSET
                               ? TEXT("unknown")
                               : text_of(format_epoch(host->start_epoch_ns, when)));
        table_ps(&table, (double)host->shift_ps);
    }
    put_heading(out, style, "Hosts");
    table_end(&table, style, out);
}

/* Counts and extents come from the analysis; the events themselves are not read again. */
static void put_sources_text(const struct analysis *analysis, const struct text_style *style,
                             struct output *out)
{
    static const struct column columns[] = {{"plane", true, true},     {"host", true, true},
                                            {"process", false, false}, {"lines", false, false},
                                            {"events", false, false},  {"from", false, false},
                                            {"to", false, false}};
    const struct catalog *catalog = analysis->catalog;
    const struct source_summary *sizes = analysis->summary.sources;
    struct table table = table_begin(columns, 7);
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_SOURCE)
            continue;
        int64_t process = catalog->tracks.items[track->parent].id;
        table_text(&table, catalog_track_label(catalog, i));
        table_text(&table, host_of(catalog, i));
        if (process)
            table_format(&table, "%lld", (long long)process);
        else
            table_text(&table, TEXT(""));
        table_count(&table, sizes[i].lanes);
        table_count(&table, sizes[i].events);
        add_times(&table, &sizes[i].extent);
    }
    put_heading(out, style, "Planes");
    table_end(&table, style, out);
}

static void put_lanes_text(const struct analysis *analysis, const struct text_style *style,
                           struct output *out)
{
    static const struct column columns[] = {{"line", true, true},   {"plane", true, true},
                                            {"host", true, true},   {"events", false, false},
                                            {"from", false, false}, {"to", false, false}};
    const struct catalog *catalog = analysis->catalog;
    struct table table = table_begin(columns, 6);
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_LANE)
            continue;
        struct extent extent = lane_extent(analysis, i);
        table_text(&table, catalog_track_label(catalog, i));
        table_text(&table, catalog_track_label(catalog, track->parent));
        table_text(&table, host_of(catalog, i));
        table_count(&table, track->events);
        add_times(&table, &extent);
    }
    if (table.cells.count == 0)
        return;
    put_heading(out, style, "Lines");
    table_end(&table, style, out);
}

/* Device profiles beside a system profile are listed only: each is opened by itself. */
static void put_devices_text(const info_device_list *devices, const struct text_style *style,
                             struct output *out)
{
    static const struct column columns[] = {
        {"device profile", true, true}, {"model", true, true},  {"rank", false, false},
        {"device", false, false},       {"core", false, false}, {"executions", false, false},
    };
    if (devices->count == 0)
        return;
    output_char(out, '\n');
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    const struct info_device *device;
    array_each (device, devices) {
        const struct ntff_header *header = ntff_header(device->ntff);
        size_t executions;
        ntff_executions(device->ntff, &executions);
        table_text(&table, text_of(device->path));
        table_text(&table, text_of(header->neff_name));
        table_count(&table, header->rank);
        table_format(&table, "ND%u", header->device_index);
        table_format(&table, "NC%u", header->core_index);
        table_count(&table, executions);
    }
    table_end(&table, style, out);
}

void export_info_text(const struct analysis *analysis, const info_device_list *devices,
                      const struct text_style *style, struct output *out)
{
    const struct catalog *catalog = analysis->catalog;
    char count[QUANTITY_SIZE], span[QUANTITY_SIZE];
    output_format(out, "%s: %s events over %s, %zu program%s, %zu step%s\n", catalog->format,
                  format_count(analysis->summary.events, count),
                  format_ps(analysis->summary.span_ps, span), catalog->programs.count,
                  catalog->programs.count == 1 ? "" : "s", analysis->steps.count,
                  analysis->steps.count == 1 ? "" : "s");
    put_hosts_text(catalog, style, out);
    put_sources_text(analysis, style, out);
    put_lanes_text(analysis, style, out);
    put_devices_text(devices, style, out);
    struct version_list versions = {.out = out, .style = style};
    each_version(catalog, put_version_text, &versions);
    put_messages_text(catalog, style, out);
}

static void put_version_json(void *context, struct text key, struct text value)
{
    json_key_text(context, key);
    json_text(context, value);
}

/* Linked lists of lanes by source: the first lane of each, and the next one. */
struct lane_index {
    uint32_t *first, *next;
};

static struct lane_index index_lanes(const struct catalog *catalog)
{
    size_t count = catalog->tracks.count;
    struct lane_index index = {.first = mem_alloc(count * sizeof *index.first),
                               .next = mem_alloc(count * sizeof *index.next)};
    for (size_t i = 0; i < count; i++)
        index.first[i] = TRACK_NONE;
    for (uint32_t i = (uint32_t)count; i > 0; i--) {
        const struct track *track = &catalog->tracks.items[i - 1];
        if (track->level != TRACK_LANE)
            continue;
        index.next[i - 1] = index.first[track->parent];
        index.first[track->parent] = i - 1;
    }
    return index;
}

static void put_lane_json(struct json *json, const struct analysis *analysis, uint32_t lane)
{
    const struct track *track = &analysis->catalog->tracks.items[lane];
    struct extent extent = lane_extent(analysis, lane);
    json_open_row(json, '{');
    json_put_text(json, "name", catalog_track_label(analysis->catalog, lane));
    json_put_int(json, "id", track->id);
    json_put_uint(json, "event_count", track->events);
    if (extent.has_times) {
        json_put_int(json, "first_event_ps", extent.first_ps);
        json_put_int(json, "last_event_ps", extent.last_ps);
    }
    json_close_row(json, '}');
}

static void put_devices_json(struct json *json, const info_device_list *devices)
{
    json_key(json, "device_profiles");
    json_open(json, '[');
    const struct info_device *device;
    array_each (device, devices) {
        const struct ntff_header *header = ntff_header(device->ntff);
        size_t executions;
        ntff_executions(device->ntff, &executions);
        json_open(json, '{');
        json_put_text(json, "file", text_of(device->path));
        json_put_text(json, "neff_name", text_of(header->neff_name));
        json_put_uint(json, "rank", header->rank);
        json_put_uint(json, "nd_idx", header->device_index);
        json_put_uint(json, "nc_idx", header->core_index);
        json_put_uint(json, "execution_count", executions);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Lanes are indexed by source first: searching them for each plane would take quadratic time in
 * captures of many planes. */
void export_info_json(const struct analysis *analysis, const info_device_list *devices, bool pretty,
                      struct output *out)
{
    const struct catalog *catalog = analysis->catalog;
    const struct source_summary *sizes = analysis->summary.sources;
    struct lane_index lanes = index_lanes(catalog);
    struct json json;
    json_begin(&json, out, pretty);
    json_open(&json, '{');
    put_profile_fields(&json, analysis);
    json_put_uint(&json, "program_count", catalog->programs.count);
    json_put_uint(&json, "step_count", analysis->steps.count);
    put_hosts(&json, catalog);
    json_key(&json, "versions");
    json_open(&json, '{');
    each_version(catalog, put_version_json, &json);
    json_close(&json, '}');
    json_key(&json, "planes");
    json_open(&json, '[');
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_SOURCE)
            continue;
        json_open(&json, '{');
        json_put_text(&json, "name", catalog_track_label(catalog, i));
        json_put_text(&json, "host", host_of(catalog, i));
        json_put_int(&json, "process_id", catalog->tracks.items[track->parent].id);
        json_put_uint(&json, "line_count", sizes[i].lanes);
        json_put_uint(&json, "event_count", sizes[i].events);
        json_key(&json, "lines");
        json_open(&json, '[');
        for (uint32_t lane = lanes.first[i]; lane != TRACK_NONE; lane = lanes.next[lane])
            put_lane_json(&json, analysis, lane);
        json_close(&json, ']');
        json_close(&json, '}');
    }
    json_close(&json, ']');
    put_devices_json(&json, devices);
    put_messages(&json, catalog);
    json_close(&json, '}');
    mem_free(lanes.first);
    mem_free(lanes.next);
}

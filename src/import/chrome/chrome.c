/*
 * Chrome trace JSON: torch.profiler (Kineto), one file for each rank; JAX, beside its XPlane files;
 * and any other program that writes the format.
 */
#include "import/chrome/chrome.h"

#include "import/chrome/chrome_passes.h"

#include <stdio.h>

enum { NS_PER_US = 1000, PS_PER_NS = 1000 };

/* Later times (than the year 2000) count from 1970. */
static const int64_t EPOCH_TIMES_FROM_NS = 946684800LL * 1000000000;

static void chrome_close(struct source *base)
{
    struct chrome_source *source = (struct chrome_source *)base;
    array_free(&source->chunks);
    array_free(&source->parts);
    array_free(&source->pairs);
    array_free(&source->open_ends);
    chrome_tables_free(&source->tables);
    array_free(&source->strings);
    array_free(&source->types);
    array_free(&source->tracks);
    array_free(&source->ends_ps);
    intern_free(&source->type_names);
    json_files_free(&source->files);
    catalog_free(&source->source.catalog);
    mem_free(source);
}

static struct chrome_source *chrome_create(void)
{
    struct chrome_source *source = mem_zeroed(1, sizeof *source);
    source->source.read = chrome_decode;
    source->source.close = chrome_close;
    catalog_init(&source->source.catalog);
    source->source.catalog.format = "chrome";
    chrome_tables_init(&source->tables);
    intern_init(&source->type_names);
    return source;
}

static struct json_value raw_string(const char *data, size_t size)
{
    return (struct json_value){{data, size}, JSON_STRING, memchr(data, '\\', size) != NULL};
}

/* Adds a type of the tables to the catalog; types that differ only in escaping are one. */
static uint32_t catalog_type(struct chrome_source *source, struct text text)
{
    struct catalog *catalog = &source->source.catalog;
    uint32_t size, identity[2];
    memcpy(&size, text.data, sizeof size);
    bool has_category = size != UINT32_MAX;
    const char *category = text.data + sizeof size, *name = category + (has_category ? size : 0);
    struct json_value raw_category = raw_string(category, has_category ? size : 0);
    struct json_value raw_name = raw_string(name, text.size - (size_t)(name - text.data));
    identity[0] = value_string(catalog, &raw_name);
    identity[1] = has_category ? value_string(catalog, &raw_category) + 1 : 0;
    if (identity[0] == STRING_NONE && !has_category)
        return 0;
    uint32_t number =
        intern_add(&source->type_names, (struct text){(const char *)identity, sizeof identity});
    if (number < catalog->types.count) /* id 0 is the empty string, as type 0 has no name */
        return number;
    struct event_type *type = array_push(&catalog->types);
    *type = (struct event_type){.name = identity[0]};
    if (has_category) {
        struct arg arg = {.key = catalog_string(catalog, TEXT("cat")),
                          .type = ARG_STRING,
                          .string = identity[1] - 1};
        type->args = catalog_keep_args(catalog, &arg, 1);
    }
    return number;
}

/* Marks the types whose events are ends of flows; several types of the tables may be one. */
static void mark_flow_ends(struct chrome_source *source)
{
    struct event_type *types = source->source.catalog.types.items;
    const bool *slices = source->tables.slices.items;
    for (size_t i = 1; i < source->types.count; i++)
        types[source->types.items[i]].is_flow_end = true;
    for (size_t i = 0; i < source->types.count; i++)
        if (slices[i])
            types[source->types.items[i]].is_flow_end = false;
}

/* Adds new entries of the tables to the catalog. */
static void name_all(struct chrome_source *source)
{
    struct catalog *catalog = &source->source.catalog;
    const struct chrome_tables *tables = &source->tables;
    for (size_t i = source->types.count; i < tables->types.by_id.count; i++) {
        struct text text = intern_text(&tables->types, (uint32_t)i);
        *array_push(&source->types) = text.size ? catalog_type(source, text) : 0;
    }
    for (size_t i = source->strings.count; i < tables->texts.by_id.count; i++) {
        struct text text = intern_text(&tables->texts, (uint32_t)i);
        struct json_value raw = raw_string(text.data, text.size);
        uint32_t string = raw.has_escapes ? value_string(catalog, &raw) : 0;
        *array_push(&source->strings) =
            catalog_key(catalog, raw.has_escapes ? catalog_text(catalog, string) : text);
    }
}

static bool is_instance(const struct catalog *catalog, uint32_t name)
{
    const struct track *track;
    array_each (track, &catalog->tracks)
        if (track->level == TRACK_INSTANCE && track->name == name)
            return true;
    return false;
}

/* "rank 3 (host)", or the file's name; made unique. */
static uint32_t instance_name(struct catalog *catalog, const struct chrome_profile *profile,
                              const char *label)
{
    char text[512];
    struct text host = catalog_text(catalog, profile->host_name);
    int size = 0;
    if (!profile->has_rank)
        size = snprintf(text, sizeof text, "%s", label);
    else if (host.size > 0 && host.size < sizeof text / 2)
        size = snprintf(text, sizeof text, "rank %lld (%.*s)", (long long)profile->rank,
                        (int)host.size, host.data);
    else
        size = snprintf(text, sizeof text, "rank %lld", (long long)profile->rank);
    uint32_t name = catalog_string(catalog, text_of(text));
    for (unsigned i = 2; is_instance(catalog, name); i++) {
        if (i == 2 && profile->has_rank)
            size += snprintf(text + size, sizeof text - (size_t)size, ", %.200s", label);
        else
            snprintf(text + size, sizeof text - (size_t)size, ", %u", i);
        name = catalog_string(catalog, text_of(text));
    }
    return name;
}

static uint32_t add_instance(struct catalog *catalog, const struct chrome_profile *profile,
                             uint32_t file, const char *label)
{
    uint32_t name = instance_name(catalog, profile, label);
    struct track *track = catalog_add_track(catalog, TRACK_NONE, TRACK_INSTANCE);
    track->name = name;
    track->id = profile->has_rank ? profile->rank : file;
    track->sort_key = track->id;
    struct host *host = &catalog->hosts.items[file];
    host->name = name;
    host->machine = profile->host_name;
    host->has_rank = profile->has_rank;
    host->rank = profile->rank;
    host->world_size = profile->world_size;
    return (uint32_t)(track - catalog->tracks.items);
}

/* The earliest event is at time 0; its time in the file is kept in the host. */
static void set_start(struct chrome_source *source, uint32_t file,
                      const struct chrome_survey *survey, struct chrome_profile *profile)
{
    struct catalog *catalog = &source->source.catalog;
    struct json_file *input = &source->files.items[file];
    struct host *host = &catalog->hosts.items[file];
    bool has_times = survey->first_ps <= survey->last_ps;
    int64_t zero_ns = 0, start_ns, epoch_ns;
    if (has_times)
        zero_ns = survey->first_ps / PS_PER_NS - (survey->first_ps % PS_PER_NS < 0);
    input->base_ps = -zero_ns * PS_PER_NS;
    if (__builtin_mul_overflow(input->anchor_us, (int64_t)NS_PER_US, &start_ns) ||
        __builtin_add_overflow(start_ns, zero_ns, &start_ns))
        return;
    if (has_times)
        *array_push(&profile->args) = catalog_int_arg(catalog, TEXT("time_zero_ns"), start_ns);
    if (!has_times || (!profile->has_base && start_ns < EPOCH_TIMES_FROM_NS) ||
        __builtin_add_overflow(start_ns, profile->has_base ? profile->base_ns : 0, &epoch_ns))
        return;
    host->start_epoch_ns = epoch_ns;
    host->stop_epoch_ns =
        add_saturated(epoch_ns, sub_saturated(survey->last_ps / PS_PER_NS, zero_ns));
}

static void add_messages(struct catalog *catalog, uint32_t file, const struct chrome_survey *survey,
                         uint64_t left_over)
{
    if (survey->is_cut_off)
        import_message(catalog, file, false,
                       "the file is truncated; all complete events were read");
    if (left_over > 0)
        import_message(catalog, file, false, "%llu end event%s without a begin %s skipped",
                       (unsigned long long)left_over, left_over == 1 ? "" : "s",
                       left_over == 1 ? "was" : "were");
    if (survey->far_events > 0)
        import_message(
            catalog, file, false,
            "%llu event%s more than 53 days long or away from the others; their times were clamped",
            (unsigned long long)survey->far_events, survey->far_events == 1 ? " is" : "s are");
    if (survey->timeless_events > 0)
        import_message(catalog, file, false, "%llu event%s no timestamp; shown at the start",
                       (unsigned long long)survey->timeless_events,
                       survey->timeless_events == 1 ? " has" : "s have");
}

static bool lay_out(struct chrome_source *source, uint32_t file, struct pool *pool,
                    struct error *err)
{
    struct catalog *catalog = &source->source.catalog;
    struct chrome_survey survey;
    struct chrome_profile profile;
    size_t first_chunk = source->chunks.count;
    bool ok = chrome_survey_make(source, file, &survey, pool, err);
    if (ok) {
        chrome_read_facts(source, file, &survey, &profile);
        set_start(source, file, &survey, &profile);
        name_all(source);
        uint32_t instance = add_instance(catalog, &profile, file, source->files.items[file].label);
        if (profile.is_kineto)
            catalog->format = "kineto";
        chrome_tracks(source, file, &survey, &profile, instance);
        chrome_parts(source, first_chunk, &survey);
        uint64_t left_over = chrome_pairs(source, file, first_chunk, &survey);
        add_messages(catalog, file, &survey, left_over);
        chrome_profile_free(&profile);
    }
    chrome_survey_free(&survey);
    return ok;
}

struct adding {
    struct chrome_source *source;
    struct pool *pool;
};

static bool add_file(void *context, struct json_file *file, struct error *err)
{
    const struct adding *adding = context;
    struct chrome_source *source = adding->source;
    uint32_t index = (uint32_t)source->files.count;
    bool ok = json_file_open(file, &source->source.catalog, err);
    *array_push(&source->files) = *file;
    return ok && lay_out(source, index, adding->pool, err);
}

static bool finish(struct chrome_source *source, bool ok, struct source **result)
{
    if (!ok) {
        source_close(&source->source);
        return false;
    }
    json_files_align(&source->source.catalog, &source->files);
    name_all(source);
    mark_flow_ends(source);
    intern_free(&source->type_names);
    *result = &source->source;
    return true;
}

bool import_chrome_bytes(const char *name, const uint8_t *data, size_t size, struct pool *pool,
                         struct source **result, struct error *err)
{
    struct adding adding = {chrome_create(), pool};
    struct json_file file = {
        .path = name, .label = "host", .data = (const char *)data, .size = size};
    return finish(adding.source, add_file(&adding, &file, err), result);
}

bool import_chrome(const struct capture *capture, struct pool *pool, struct source **result,
                   struct error *err)
{
    struct adding adding = {chrome_create(), pool};
    return finish(adding.source, json_files_each(capture, add_file, &adding, err), result);
}

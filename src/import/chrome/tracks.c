/*
 * Chrome trace JSON, between the passes: creates processes, sources and lanes. Kineto writes a
 * device as a separate process with the device's number as its id; here a device is a source of the
 * process that used it, so that launches are linked to their kernels.
 */
#include "import/chrome/layout.h"

#include <stdio.h>

/* Kineto's spans and marks have text process ids. */
static bool is_annotation_process(const struct layout *layout, const struct chrome_process *process)
{
    return layout->profile->is_kineto && process->id.form == ID_TEXT;
}

static bool is_device(const struct layout *layout, const struct chrome_process *process)
{
    if (process->is_plane)
        return text_starts(catalog_text(layout->catalog, process->name), TEXT("/device:"));
    return process->device_label.data || process->has_device_events;
}

/* The process that devices belong to: the first that used one, otherwise the first of all. */
static void choose_main_process(struct layout *layout)
{
    for (uint32_t i = 1; i < layout->processes.count; i++) {
        const struct chrome_process *process = &layout->processes.items[i];
        if (!process->has_events || is_annotation_process(layout, process))
            continue;
        if (process->has_host_events) {
            layout->main_process = i;
            return;
        }
        if (!layout->main_process && !is_device(layout, process))
            layout->main_process = i;
    }
}

static struct json_value raw_text(const struct layout *layout, int64_t text)
{
    struct text raw = intern_text(&layout->source->tables.texts, (uint32_t)text);
    return (struct json_value){raw, JSON_STRING, memchr(raw.data, '\\', raw.size) != NULL};
}

/* The name of an id that has none. */
static uint32_t id_string(struct layout *layout, struct chrome_id id, const char *word)
{
    char text[64];
    if (id.form == ID_TEXT) {
        struct json_value raw = raw_text(layout, id.value);
        return value_string(layout->catalog, &raw);
    }
    if (id.form == ID_NONE)
        return catalog_string(layout->catalog, text_of(word));
    int size = snprintf(text, sizeof text, "%s%s%lld", word, *word ? " " : "", (long long)id.value);
    return catalog_string(layout->catalog, (struct text){text, (size_t)size});
}

static uint32_t number_of(const struct layout *layout, const struct track *track)
{
    return (uint32_t)(track - layout->catalog->tracks.items);
}

static uint32_t process_track(struct layout *layout, struct chrome_process *process)
{
    struct catalog *catalog = layout->catalog;
    if (process->is_plane && layout->plane_process != TRACK_NONE)
        return layout->plane_process;
    if (process->track != TRACK_NONE)
        return process->track;
    uint32_t name = process->name;
    if (!name && process->id.form == ID_TEXT)
        name = id_string(layout, process->id, "");
    struct track *track = catalog_add_track(catalog, layout->instance, TRACK_PROCESS);
    process->track = number_of(layout, track);
    if (process->is_plane) {
        layout->plane_process = process->track;
        return process->track;
    }
    track->name = name;
    track->id = process->id.form == ID_NUMBER ? process->id.value : 0;
    track->sort_key = process->has_sort_key ? process->sort_key : track->id;
    return process->track;
}

static uint32_t add_source(struct layout *layout, const struct chrome_process *process,
                           uint32_t parent, enum source_role role, uint32_t name)
{
    struct track *track = catalog_add_track(layout->catalog, parent, TRACK_SOURCE);
    track->name = name;
    track->id = process->id.form == ID_NUMBER ? process->id.value : 0;
    track->sort_key = process->has_sort_key ? process->sort_key : track->id;
    track->source = role;
    track->args = catalog_keep_args(layout->catalog, process->args.items, process->args.count);
    return number_of(layout, track);
}

static uint32_t host_source(struct layout *layout, struct chrome_process *process)
{
    if (process->host_source != TRACK_NONE)
        return process->host_source;
    uint32_t parent = process_track(layout, process);
    enum source_role role = SOURCE_HOST;
    uint32_t name = catalog_string(layout->catalog, TEXT("/host:CPU"));
    if (is_annotation_process(layout, process)) {
        role = SOURCE_OTHER;
        name = id_string(layout, process->id, "");
        name = name ? name : catalog_string(layout->catalog, TEXT("Kineto"));
    } else if (process->is_plane) {
        name = process->name;
    }
    return process->host_source = add_source(layout, process, parent, role, name);
}

/* "/device:GPU:0", from its label, otherwise from its id. */
static uint32_t device_name(struct layout *layout, const struct chrome_process *process)
{
    if (process->is_plane)
        return process->name;
    struct text label = process->device_label;
    struct text id = catalog_text(layout->catalog, id_string(layout, process->id, ""));
    struct output name;
    output_memory(&name);
    output_text(&name, "/device:");
    if (label.data) {
        const char *space = memchr(label.data, ' ', label.size);
        output_write(&name, label.data, (size_t)(space - label.data));
        output_char(&name, ':');
        output_write(&name, space + 1, label.size - (size_t)(space + 1 - label.data));
    } else {
        output_text(&name, process->id.form == ID_NUMBER ? "GPU:" : id.size ? "" : "GPU");
        output_write(&name, id.data, id.size);
    }
    uint32_t string = catalog_string(layout->catalog, (struct text){name.data, name.size});
    output_discard(&name);
    return string;
}

static uint32_t device_source(struct layout *layout, uint32_t number)
{
    struct chrome_process *process = &layout->processes.items[number];
    if (process->device_source != TRACK_NONE)
        return process->device_source;
    uint32_t user = layout->main_process && !process->is_plane ? layout->main_process : number;
    uint32_t parent = process_track(layout, &layout->processes.items[user]);
    uint32_t name = device_name(layout, process);
    bool is_gpu = text_starts(catalog_text(layout->catalog, name), TEXT("/device:GPU"));
    if (process->id.form == ID_NUMBER)
        chrome_device_args(layout->catalog, layout->profile, process->id.value, is_gpu,
                           &process->args);
    return process->device_source = add_source(layout, process, parent, SOURCE_DEVICE, name);
}

/* Kineto uses a device's number as a process id, which may be the id of a real process as well:
 * then each lane is judged by its own events. */
static bool is_on_device(const struct layout *layout, const struct chrome_lane *lane,
                         const struct chrome_process *process, const struct thread *thread)
{
    bool may_be = is_device(layout, process);
    if (process->is_plane)
        return may_be;
    switch ((enum chrome_class)lane->class) {
    case CLASS_STREAM:
    case CLASS_ASIDE:
        return true;
    case CLASS_HOST:
        return false;
    case CLASS_QUEUED:
        return may_be || (process->id.form == ID_NUMBER &&
                          chrome_has_device(layout->profile, process->id.value));
    default:
        break;
    }
    if (!may_be || !process->has_host_events)
        return may_be;
    if (lane->class == CLASS_ASYNC || lane->class == CLASS_COUNTER)
        return false;
    return thread->has_stream &&
           !thread->has_host_events; /* an id used for both a process and a device */
}

/* Lanes with these names have the same role as in XPlane files. */
static enum lane_role role_of_name(struct text name)
{
    static const struct {
        struct text name;
        enum lane_role role;
    } known[] = {{{"XLA Ops", 7}, LANE_OPS},
                 {{"XLA Modules", 11}, LANE_MODULES},
                 {{"Steps", 5}, LANE_STEPS},
                 {{"Async XLA Ops", 13}, LANE_ASYNC}};
    if (text_starts(name, TEXT("Stream #")))
        return LANE_STREAM;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(name, known[i].name))
            return known[i].role;
    return LANE_PLAIN;
}

/* Identifies the track of a lane, with its name. */
struct lane_description {
    uint32_t source;
    enum lane_role role;
    uint32_t name;
    int64_t id;
    bool has_sort_key;
    int64_t sort_key;
    struct text suffix; /* after the name of the stream */
    arg_buffer args;
};

static void add_arg(struct layout *layout, struct lane_description *description, struct text key,
                    uint32_t string)
{
    *array_push(&description->args) = (struct arg){
        .key = catalog_string(layout->catalog, key), .type = ARG_STRING, .string = string};
}

/* "7" in "stream 7", as the first versions of Kineto write it, or all of the text. */
static struct text stream_text(struct text id)
{
    size_t digits = 0;
    while (digits < id.size && id.data[id.size - digits - 1] >= '0' &&
           id.data[id.size - digits - 1] <= '9')
        digits++;
    return digits ? (struct text){id.data + id.size - digits, digits} : id;
}

static void name_stream(struct layout *layout, const struct chrome_lane *lane,
                        const struct thread *thread, struct lane_description *description)
{
    struct chrome_id id = thread->has_stream ? thread->stream : tid_of(lane);
    struct text number = catalog_text(layout->catalog, id_string(layout, id, ""));
    if (id.form == ID_TEXT)
        number = stream_text(number);
    struct output name;
    output_memory(&name);
    output_text(&name, "Stream #");
    output_write(&name, number.data, number.size);
    output_write(&name, description->suffix.data, description->suffix.size);
    description->name = catalog_string(layout->catalog, (struct text){name.data, name.size});
    output_discard(&name);
    if (thread->name)
        add_arg(layout, description, TEXT("thread_name"), thread->name);
}

/* Whether a lane belongs to a stream of the device. */
static bool is_of_stream(const struct chrome_lane *lane, const struct thread *thread)
{
    return lane->class == CLASS_STREAM || lane->class == CLASS_QUEUED ||
           lane->class == CLASS_ASIDE || (lane->class == CLASS_FLOW && thread->has_stream);
}

static void describe_thread_lane(struct layout *layout, const struct chrome_lane *lane,
                                 bool on_device, struct lane_description *description)
{
    const struct thread *thread = layout_thread(layout, pid_of(lane), tid_of(lane));
    bool is_work = lane->class == CLASS_STREAM || lane->class == CLASS_QUEUED;
    description->id = lane->tid_form == ID_NUMBER ? lane->tid : 0;
    description->has_sort_key = thread->has_sort_key;
    description->sort_key = thread->sort_key;
    if (on_device && is_of_stream(lane, thread)) {
        description->role = is_work ? LANE_STREAM : LANE_ASIDE;
        name_stream(layout, lane, thread, description);
    } else {
        description->name = thread->name ? thread->name : id_string(layout, tid_of(lane), "thread");
        if (!description->name)
            description->name = catalog_string(layout->catalog, TEXT("thread"));
        description->role =
            on_device ? role_of_name(catalog_text(layout->catalog, description->name)) : LANE_PLAIN;
        if (lane->tid_form == ID_TEXT && thread->name)
            add_arg(layout, description, TEXT("tid"), id_string(layout, tid_of(lane), ""));
    }
    for (size_t i = 0; i < thread->args.count; i++)
        *array_push(&description->args) = thread->args.items[i];
}

static struct text suffix_of(const struct layout *layout, const struct chrome_lane *lane,
                             char text[static 64])
{
    if (lane->class == CLASS_FLOW)
        return TEXT(" flows");
    if (lane->class != CLASS_ASIDE)
        return TEXT("");
    struct text category = intern_text(&layout->source->tables.texts, lane->detail);
    if (text_equal(category, TEXT("gpu_user_annotation")))
        return TEXT(" annotations");
    int size = snprintf(text, 64, " %.*s", (int)category.size, category.data);
    return (struct text){text, size < 64 ? (size_t)size : 63};
}

static void describe_async(struct layout *layout, const struct chrome_lane *lane,
                           struct lane_description *description)
{
    struct json_value category = raw_text(layout, lane->detail);
    description->role = LANE_ASYNC;
    description->name = value_string(layout->catalog, &category);
    if (!description->name)
        description->name = catalog_string(layout->catalog, TEXT("async"));
}

/* "name[id]: series"; the series is omitted if there is only one. */
static void describe_counter(struct layout *layout, const struct chrome_lane *lane,
                             struct lane_description *description)
{
    struct catalog *catalog = layout->catalog;
    uint32_t type = layout->source->types.items[lane->detail];
    struct json_value raw = raw_text(layout, lane->series);
    uint32_t series = value_string(catalog, &raw);
    struct text name = catalog_text(catalog, catalog->types.items[type].name);
    struct output label;
    output_memory(&label);
    output_write(&label, name.data, name.size);
    if (lane->tid_form != ID_NONE) {
        struct text id = catalog_text(catalog, id_string(layout, tid_of(lane), ""));
        output_char(&label, '[');
        output_write(&label, id.data, id.size);
        output_char(&label, ']');
    }
    if (layout_series(layout, lane) > 1) {
        output_text(&label, ": ");
        output_write(&label, catalog_text(catalog, series).data,
                     catalog_text(catalog, series).size);
    }
    description->role = LANE_COUNTER;
    description->name = catalog_string(catalog, (struct text){label.data, label.size});
    add_arg(layout, description, TEXT("series"), series);
    output_discard(&label);
}

/* Lanes that differ only in what the whole file decides are one track. */
static uint32_t track_number(struct layout *layout, const struct chrome_lane *lane,
                             const struct thread *thread, bool on_device, uint32_t source)
{
    struct chrome_lane merged = *lane;
    merged.file = source;
    if (lane->class == CLASS_QUEUED && on_device)
        merged.class = CLASS_STREAM;
    else if (lane->class != CLASS_ASYNC && lane->class != CLASS_COUNTER &&
             !(on_device && is_of_stream(lane, thread)))
        merged.class = CLASS_THREAD;
    return intern_add(&layout->track_ids, (struct text){(const char *)&merged, sizeof merged});
}

/* Several lanes may become one track, since the whole file decides what a lane is; the first one
 * creates and describes it. */
static uint32_t add_lane_track(struct layout *layout, const struct chrome_lane *lane, int64_t order)
{
    struct chrome_process *process = layout_process(layout, pid_of(lane));
    const struct thread *thread = layout_thread(layout, pid_of(lane), tid_of(lane));
    bool on_device = is_on_device(layout, lane, process, thread);
    char suffix[64];
    struct lane_description description = {.has_sort_key = false,
                                           .suffix = suffix_of(layout, lane, suffix)};
    description.source = on_device
                             ? device_source(layout, (uint32_t)(process - layout->processes.items))
                             : host_source(layout, process);
    uint32_t number = track_number(layout, lane, thread, on_device, description.source);
    if (number < layout->tracks.count)
        return layout->tracks.items[number];
    if (lane->class == CLASS_ASYNC)
        describe_async(layout, lane, &description);
    else if (lane->class == CLASS_COUNTER)
        describe_counter(layout, lane, &description);
    else
        describe_thread_lane(layout, lane, on_device, &description);
    struct track *track = catalog_add_track(layout->catalog, description.source, TRACK_LANE);
    track->name = description.name;
    track->lane = description.role;
    track->id = description.id;
    track->sort_key = description.has_sort_key ? description.sort_key : order;
    track->args =
        catalog_keep_args(layout->catalog, description.args.items, description.args.count);
    array_free(&description.args);
    return *array_push(&layout->tracks) = number_of(layout, track);
}

static void add_lane_tracks(struct layout *layout)
{
    struct chrome_source *source = layout->source;
    while (source->tracks.count < layout->survey->first_lane)
        *array_push(&source->tracks) = TRACK_NONE; /* the empty text is not a lane */
    for (size_t i = 0; i < layout->survey->lanes.count; i++) {
        struct chrome_lane lane = layout_lane(layout, i);
        uint32_t track = add_lane_track(layout, &lane, (int64_t)i);
        *array_push(&source->tracks) = track;
        while (source->ends_ps.count <= track)
            *array_push(&source->ends_ps) = INT64_MIN;
        if (layout->survey->lanes.items[i].end_ps > source->ends_ps.items[track])
            source->ends_ps.items[track] = layout->survey->lanes.items[i].end_ps;
    }
}

/* Metadata beside the events becomes args of the source that it describes. */
static void keep_facts(struct layout *layout)
{
    struct catalog *catalog = layout->catalog;
    if (layout->profile->args.count == 0 && layout->unused.size == 0)
        return;
    struct chrome_process *process =
        layout->main_process ? &layout->processes.items[layout->main_process]
                             : layout_process(layout, (struct chrome_id){.form = ID_NONE});
    uint32_t number = host_source(layout, process);
    arg_buffer args = {0};
    for (size_t i = 0; i < layout->profile->args.count; i++)
        *array_push(&args) = layout->profile->args.items[i];
    if (layout->unused.size > 0 && layout->unused.size < ARG_LARGEST) {
        output_char(&layout->unused, ']');
        char *text = arena_copy_text(&catalog->arena, layout->unused.data, layout->unused.size);
        arg_put(array_push(&args), catalog_string(catalog, TEXT("metadata_without_events")),
                ARG_JSON, (uint32_t)layout->unused.size, (uint64_t)(uintptr_t)text);
    }
    struct track *track = &catalog->tracks.items[number];
    for (uint32_t i = 0; i < track->args.count; i++)
        *array_push(&args) = track->args.items[i];
    track->args = catalog_keep_args(catalog, args.items, args.count);
    array_free(&args);
}

void chrome_tracks(struct chrome_source *source, uint32_t file, struct chrome_survey *survey,
                   const struct chrome_profile *profile, uint32_t instance)
{
    struct layout layout = {.catalog = &source->source.catalog,
                            .source = source,
                            .file = file,
                            .instance = instance,
                            .survey = survey,
                            .profile = profile};
    layout_make(&layout);
    choose_main_process(&layout);
    add_lane_tracks(&layout);
    keep_facts(&layout);
    layout_free(&layout);
}

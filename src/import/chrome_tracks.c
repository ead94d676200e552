/*
 * Chrome trace JSON, between the passes: processes, sources and lanes. Kineto gives the work of a
 * device a process of its own, with the device's number as its id; here a device is a source of the
 * process that used it, so that launches find their kernels.
 */
#include "import/chrome.h"

#include <stdio.h>

struct process {
    struct chrome_id id;
    bool has_events, has_host_events, has_device_events;
    bool is_plane; /* JAX and TensorFlow: its name is that of an XPlane, its id no process */
    uint32_t name;
    struct text device_label; /* "GPU 0" */
    bool has_sort_key;
    int64_t sort_key;
    arg_buffer args;
    uint32_t track, host_source, device_source; /* TRACK_NONE until there is one */
};

struct thread {
    bool has_stream, has_host_events;
    struct chrome_id stream; /* from the first event that tells, or else the thread's own id */
    uint32_t name;
    bool has_sort_key;
    int64_t sort_key;
    arg_buffer args;
};

struct layout {
    struct catalog *catalog;
    struct chrome_source *source;
    uint32_t file, instance;
    const struct chrome_survey *survey;
    const struct chrome_profile *profile;
    struct intern process_ids, thread_ids; /* bytes of their ids; number 0 is the empty text */
    ARRAY(struct process) processes;
    ARRAY(struct thread) threads;
    struct intern track_ids; /* which lanes of the tables are one track */
    ARRAY(uint32_t) tracks;
    struct idmap series;    /* hash of a counter -> how many series it has */
    struct output unused;   /* metadata about what has no events */
    uint32_t main_process;  /* the one that uses the devices */
    uint32_t plane_process; /* track */
};

static void layout_init(struct layout *layout)
{
    intern_init(&layout->process_ids);
    intern_init(&layout->thread_ids);
    intern_init(&layout->track_ids);
    *array_push(&layout->processes) = (struct process){0};
    *array_push(&layout->threads) = (struct thread){0};
    *array_push(&layout->tracks) = TRACK_NONE;
    output_memory(&layout->unused);
    layout->plane_process = TRACK_NONE;
}

static void layout_free(struct layout *layout)
{
    intern_free(&layout->process_ids);
    intern_free(&layout->thread_ids);
    intern_free(&layout->track_ids);
    struct process *process;
    array_each (process, &layout->processes)
        array_free(&process->args);
    struct thread *thread;
    array_each (thread, &layout->threads)
        array_free(&thread->args);
    array_free(&layout->processes);
    array_free(&layout->threads);
    array_free(&layout->tracks);
    idmap_free(&layout->series);
    output_discard(&layout->unused);
}

static struct process *process_of(struct layout *layout, struct chrome_id pid)
{
    int64_t identity[2] = {pid.form, pid.value};
    uint32_t number =
        intern_add(&layout->process_ids, (struct text){(const char *)identity, sizeof identity});
    if (number == layout->processes.count)
        *array_push(&layout->processes) = (struct process){
            .id = pid, .track = TRACK_NONE, .host_source = TRACK_NONE, .device_source = TRACK_NONE};
    return &layout->processes.items[number];
}

static struct thread *thread_of(struct layout *layout, struct chrome_id pid, struct chrome_id tid)
{
    int64_t identity[4] = {pid.form, pid.value, tid.form, tid.value};
    uint32_t number =
        intern_add(&layout->thread_ids, (struct text){(const char *)identity, sizeof identity});
    if (number == layout->threads.count)
        *array_push(&layout->threads) = (struct thread){0};
    return &layout->threads.items[number];
}

static struct chrome_lane lane_at(const struct layout *layout, size_t index)
{
    struct chrome_lane lane;
    uint32_t number = (uint32_t)(layout->survey->first_lane + index);
    memcpy(&lane, intern_text(&layout->source->tables.lanes, number).data, sizeof lane);
    return lane;
}

static struct chrome_id pid_of(const struct chrome_lane *lane)
{
    return (struct chrome_id){(enum chrome_id_form)lane->pid_form, lane->pid};
}

static struct chrome_id tid_of(const struct chrome_lane *lane)
{
    return (struct chrome_id){(enum chrome_id_form)lane->tid_form, lane->tid};
}

static uint64_t counter_of(const struct chrome_lane *lane)
{
    struct chrome_lane counter = *lane;
    counter.series = 0;
    return hash_bytes(&counter, sizeof counter);
}

static void note_lane(struct layout *layout, const struct chrome_lane *lane,
                      const struct chrome_lane_facts *facts)
{
    struct process *process = process_of(layout, pid_of(lane));
    process->has_events = true;
    process->has_host_events |= lane->class == CLASS_HOST;
    process->has_device_events |= lane->class == CLASS_STREAM || lane->class == CLASS_ASIDE;
    if (lane->class == CLASS_COUNTER) {
        uint32_t known = idmap_get(&layout->series, counter_of(lane));
        idmap_put(&layout->series, counter_of(lane), known == IDMAP_NONE ? 1 : known + 1);
        return;
    }
    if (lane->class == CLASS_ASYNC)
        return;
    struct thread *thread = thread_of(layout, pid_of(lane), tid_of(lane));
    bool is_stream = lane->class == CLASS_STREAM || lane->class == CLASS_QUEUED;
    if (is_stream && !thread->has_stream)
        thread->stream =
            facts->has_stream ? (struct chrome_id){ID_NUMBER, facts->stream} : tid_of(lane);
    thread->has_stream |= is_stream;
    thread->has_host_events |= lane->class == CLASS_HOST || lane->class == CLASS_THREAD;
}

/* An event of phase M. */
struct metadata {
    struct json_value name, args;
    struct chrome_id pid, tid;
    struct text text;
};

static void read_metadata(struct chrome_reader *reader, const char *event, const char *end,
                          struct metadata *metadata)
{
    struct json_reader in = json_read((struct text){event, (size_t)(end - event)});
    struct json_value key, value;
    *metadata = (struct metadata){.args.kind = JSON_NULL};
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            break;
        if (text_equal(key.text, TEXT("name")))
            metadata->name = value;
        else if (text_equal(key.text, TEXT("args")))
            metadata->args = value;
        else if (text_equal(key.text, TEXT("pid")))
            chrome_id(reader, &value, &metadata->pid);
        else if (text_equal(key.text, TEXT("tid")))
            chrome_id(reader, &value, &metadata->tid);
    }
    metadata->text = (struct text){event, (size_t)(in.at - event)};
}

/* A second name takes the place of the first, which is kept among the args. */
static void set_name(struct catalog *catalog, uint32_t *name, uint32_t new_name, arg_buffer *args,
                     struct text key)
{
    if (*name && *name != new_name)
        *array_push(args) =
            (struct arg){.key = catalog_string(catalog, key), .type = ARG_STRING, .string = *name};
    *name = new_name;
}

/* "GPU 0", "MTIA 17", but not "CPU". */
static bool is_device_label(struct text label)
{
    size_t word = 0;
    while (word < label.size && label.data[word] >= 'A' && label.data[word] <= 'Z')
        word++;
    size_t at = word + 1;
    while (at < label.size && label.data[at] >= '0' && label.data[at] <= '9')
        at++;
    return word > 0 && at == label.size && at > word + 1 && label.data[word] == ' ' &&
           !text_starts(label, TEXT("CPU"));
}

static void keep_metadata(struct catalog *catalog, const struct metadata *metadata,
                          arg_buffer *args)
{
    uint32_t key = chrome_string(catalog, &metadata->name);
    if (metadata->args.text.size <= ARG_LARGEST)
        *array_push(args) =
            chrome_arg(catalog, catalog_key(catalog, catalog_text(catalog, key)), &metadata->args);
}

static void describe_process(struct catalog *catalog, struct process *process,
                             const struct metadata *metadata)
{
    struct json_value value;
    struct text name = metadata->name.text;
    if (text_equal(name, TEXT("process_name")) &&
        chrome_member(&metadata->args, TEXT("name"), &value) && value.kind == JSON_STRING) {
        set_name(catalog, &process->name, chrome_string(catalog, &value), &process->args, name);
        struct text plane = catalog_text(catalog, process->name);
        process->is_plane =
            text_starts(plane, TEXT("/device:")) || text_starts(plane, TEXT("/host:"));
    } else if (text_equal(name, TEXT("process_sort_index")) &&
               chrome_member(&metadata->args, TEXT("sort_index"), &value) &&
               chrome_whole_number(&value, &process->sort_key)) {
        process->has_sort_key = true;
    } else if (text_equal(name, TEXT("process_labels")) &&
               chrome_member(&metadata->args, TEXT("labels"), &value) &&
               value.kind == JSON_STRING) {
        if (is_device_label(value.text))
            process->device_label = value.text;
        *array_push(&process->args) = chrome_arg(catalog, catalog_string(catalog, name), &value);
    } else {
        keep_metadata(catalog, metadata, &process->args);
    }
}

static void describe_thread(struct catalog *catalog, struct thread *thread,
                            const struct metadata *metadata)
{
    struct json_value value;
    struct text name = metadata->name.text;
    if (text_equal(name, TEXT("thread_name")) &&
        chrome_member(&metadata->args, TEXT("name"), &value) && value.kind == JSON_STRING)
        set_name(catalog, &thread->name, chrome_string(catalog, &value), &thread->args, name);
    else if (text_equal(name, TEXT("thread_sort_index")) &&
             chrome_member(&metadata->args, TEXT("sort_index"), &value) &&
             chrome_whole_number(&value, &thread->sort_key))
        thread->has_sort_key = true;
    else
        keep_metadata(catalog, metadata, &thread->args);
}

/* Kineto names sixteen devices whether it saw any of them or not. */
static void keep_unused(struct layout *layout, struct text event)
{
    struct json json;
    output_char(&layout->unused, layout->unused.size ? ',' : '[');
    json_begin(&json, &layout->unused, false);
    json_copy(&json, event);
}

static void describe(struct layout *layout)
{
    struct chrome_reader reader;
    chrome_reader_init(&reader, &layout->source->tables, true);
    const struct chrome_file *file = &layout->source->files.items[layout->file];
    size_t processes = layout->processes.count, threads = layout->threads.count;
    const char **event;
    array_each (event, &layout->survey->metadata) {
        struct metadata metadata;
        mem_touched(MEM_JUMP);
        read_metadata(&reader, *event, file->data + file->size, &metadata);
        struct process *process = process_of(layout, metadata.pid);
        bool is_thread = text_starts(metadata.name.text, TEXT("thread_"));
        struct thread *thread = is_thread ? thread_of(layout, metadata.pid, metadata.tid) : NULL;
        bool is_used = is_thread ? thread < layout->threads.items + threads
                                 : process < layout->processes.items + processes;
        if (!is_used)
            keep_unused(layout, metadata.text);
        else if (is_thread)
            describe_thread(layout->catalog, thread, &metadata);
        else
            describe_process(layout->catalog, process, &metadata);
    }
    chrome_reader_free(&reader);
}

/* Kineto's spans and marks have texts for process ids. */
static bool is_beside(const struct layout *layout, const struct process *process)
{
    return layout->profile->is_kineto && process->id.form == ID_TEXT;
}

static bool is_device(const struct layout *layout, const struct process *process)
{
    if (process->is_plane)
        return text_starts(catalog_text(layout->catalog, process->name), TEXT("/device:"));
    return process->device_label.data || process->has_device_events;
}

/* The process that devices belong to: the first that used one, or else the first at all. */
static void choose_main_process(struct layout *layout)
{
    for (uint32_t i = 1; i < layout->processes.count; i++) {
        const struct process *process = &layout->processes.items[i];
        if (!process->has_events || is_beside(layout, process))
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

/* What an id is called when it has no name. */
static uint32_t id_string(struct layout *layout, struct chrome_id id, const char *word)
{
    char text[64];
    if (id.form == ID_TEXT) {
        struct json_value raw = raw_text(layout, id.value);
        return chrome_string(layout->catalog, &raw);
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

static uint32_t process_track(struct layout *layout, struct process *process)
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

static uint32_t add_source(struct layout *layout, const struct process *process, uint32_t parent,
                           enum source_role role, uint32_t name)
{
    struct track *track = catalog_add_track(layout->catalog, parent, TRACK_SOURCE);
    track->name = name;
    track->id = process->id.form == ID_NUMBER ? process->id.value : 0;
    track->sort_key = process->has_sort_key ? process->sort_key : track->id;
    track->source = role;
    track->args = catalog_keep_args(layout->catalog, process->args.items, process->args.count);
    return number_of(layout, track);
}

static uint32_t host_source(struct layout *layout, struct process *process)
{
    if (process->host_source != TRACK_NONE)
        return process->host_source;
    uint32_t parent = process_track(layout, process);
    enum source_role role = SOURCE_HOST;
    uint32_t name = catalog_string(layout->catalog, TEXT("/host:CPU"));
    if (is_beside(layout, process)) {
        role = SOURCE_OTHER;
        name = id_string(layout, process->id, "");
        name = name ? name : catalog_string(layout->catalog, TEXT("Kineto"));
    } else if (process->is_plane) {
        name = process->name;
    }
    return process->host_source = add_source(layout, process, parent, role, name);
}

/* "/device:GPU:0", as its label or else its id says. */
static uint32_t device_name(struct layout *layout, const struct process *process)
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
    struct process *process = &layout->processes.items[number];
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

static bool is_on_device(const struct layout *layout, const struct chrome_lane *lane,
                         const struct process *process, const struct thread *thread)
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
    return thread->has_stream && !thread->has_host_events; /* one id for a process and a device */
}

/* Lanes that XPlane files have by these names are the same here. */
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

/* What makes lanes of the tables one track, and what it is called. */
struct lane_place {
    uint32_t source;
    enum lane_role role;
    uint32_t name;
    int64_t id;
    bool has_sort_key;
    int64_t sort_key;
    struct text suffix; /* behind the name of the stream */
    arg_buffer args;
};

static void add_arg(struct layout *layout, struct lane_place *place, struct text key,
                    uint32_t string)
{
    *array_push(&place->args) = (struct arg){
        .key = catalog_string(layout->catalog, key), .type = ARG_STRING, .string = string};
}

/* "7" of "stream 7", as the first versions of Kineto have it, or all of the text. */
static struct text stream_text(struct text id)
{
    size_t digits = 0;
    while (digits < id.size && id.data[id.size - digits - 1] >= '0' &&
           id.data[id.size - digits - 1] <= '9')
        digits++;
    return digits ? (struct text){id.data + id.size - digits, digits} : id;
}

static void name_stream(struct layout *layout, const struct chrome_lane *lane,
                        const struct thread *thread, struct lane_place *place)
{
    struct chrome_id id = thread->has_stream ? thread->stream : tid_of(lane);
    struct text number = catalog_text(layout->catalog, id_string(layout, id, ""));
    if (id.form == ID_TEXT)
        number = stream_text(number);
    struct output name;
    output_memory(&name);
    output_text(&name, "Stream #");
    output_write(&name, number.data, number.size);
    output_write(&name, place->suffix.data, place->suffix.size);
    place->name = catalog_string(layout->catalog, (struct text){name.data, name.size});
    output_discard(&name);
    if (thread->name)
        add_arg(layout, place, TEXT("thread_name"), thread->name);
}

/* Whether a lane is one of those a stream has, on the device. */
static bool is_of_stream(const struct chrome_lane *lane, const struct thread *thread)
{
    return lane->class == CLASS_STREAM || lane->class == CLASS_QUEUED ||
           lane->class == CLASS_ASIDE || (lane->class == CLASS_FLOW && thread->has_stream);
}

static void place_thread(struct layout *layout, const struct chrome_lane *lane, bool on_device,
                         struct lane_place *place)
{
    const struct thread *thread = thread_of(layout, pid_of(lane), tid_of(lane));
    bool is_work = lane->class == CLASS_STREAM || lane->class == CLASS_QUEUED;
    place->id = lane->tid_form == ID_NUMBER ? lane->tid : 0;
    place->has_sort_key = thread->has_sort_key;
    place->sort_key = thread->sort_key;
    if (on_device && is_of_stream(lane, thread)) {
        place->role = is_work ? LANE_STREAM : LANE_PLAIN;
        name_stream(layout, lane, thread, place);
    } else {
        place->name = thread->name ? thread->name : id_string(layout, tid_of(lane), "thread");
        place->role =
            on_device ? role_of_name(catalog_text(layout->catalog, place->name)) : LANE_PLAIN;
        if (lane->tid_form == ID_TEXT && thread->name)
            add_arg(layout, place, TEXT("tid"), id_string(layout, tid_of(lane), ""));
    }
    for (size_t i = 0; i < thread->args.count; i++)
        *array_push(&place->args) = thread->args.items[i];
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

static void place_async(struct layout *layout, const struct chrome_lane *lane,
                        struct lane_place *place)
{
    struct json_value category = raw_text(layout, lane->detail);
    place->role = LANE_ASYNC;
    place->name = chrome_string(layout->catalog, &category);
    if (!place->name)
        place->name = catalog_string(layout->catalog, TEXT("async"));
}

/* "name[id]: series"; the series is left out where there is only one. */
static void place_counter(struct layout *layout, const struct chrome_lane *lane,
                          struct lane_place *place)
{
    struct catalog *catalog = layout->catalog;
    uint32_t type = layout->source->types.items[lane->detail];
    struct json_value raw = raw_text(layout, lane->series);
    uint32_t series = chrome_string(catalog, &raw);
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
    if (idmap_get(&layout->series, counter_of(lane)) > 1) {
        output_text(&label, ": ");
        output_write(&label, catalog_text(catalog, series).data,
                     catalog_text(catalog, series).size);
    }
    place->role = LANE_COUNTER;
    place->name = catalog_string(catalog, (struct text){label.data, label.size});
    add_arg(layout, place, TEXT("series"), series);
    output_discard(&label);
}

/* Lanes that differ only in what the whole file has settled are one track. */
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

static uint32_t place_lane(struct layout *layout, const struct chrome_lane *lane, int64_t order)
{
    struct process *process = process_of(layout, pid_of(lane));
    const struct thread *thread = thread_of(layout, pid_of(lane), tid_of(lane));
    bool on_device = is_on_device(layout, lane, process, thread);
    char suffix[64];
    struct lane_place place = {.has_sort_key = false, .suffix = suffix_of(layout, lane, suffix)};
    place.source = on_device ? device_source(layout, (uint32_t)(process - layout->processes.items))
                             : host_source(layout, process);
    uint32_t number = track_number(layout, lane, thread, on_device, place.source);
    if (number < layout->tracks.count)
        return layout->tracks.items[number];
    if (lane->class == CLASS_ASYNC)
        place_async(layout, lane, &place);
    else if (lane->class == CLASS_COUNTER)
        place_counter(layout, lane, &place);
    else
        place_thread(layout, lane, on_device, &place);
    struct track *track = catalog_add_track(layout->catalog, place.source, TRACK_LANE);
    track->name = place.name;
    track->lane = place.role;
    track->id = place.id;
    track->sort_key = place.has_sort_key ? place.sort_key : order;
    track->args = catalog_keep_args(layout->catalog, place.args.items, place.args.count);
    array_free(&place.args);
    return *array_push(&layout->tracks) = number_of(layout, track);
}

static void place_lanes(struct layout *layout)
{
    struct chrome_source *source = layout->source;
    while (source->tracks.count < layout->survey->first_lane)
        *array_push(&source->tracks) = TRACK_NONE; /* the empty text is no lane */
    for (size_t i = 0; i < layout->survey->lanes.count; i++) {
        struct chrome_lane lane = lane_at(layout, i);
        uint32_t track = place_lane(layout, &lane, (int64_t)i);
        *array_push(&source->tracks) = track;
        while (source->ends_ps.count <= track)
            *array_push(&source->ends_ps) = INT64_MIN;
        if (layout->survey->lanes.items[i].end_ps > source->ends_ps.items[track])
            source->ends_ps.items[track] = layout->survey->lanes.items[i].end_ps;
    }
}

/* What stands beside the events goes to the source of the process they are about. */
static void keep_facts(struct layout *layout)
{
    struct catalog *catalog = layout->catalog;
    if (layout->profile->args.count == 0 && layout->unused.size == 0)
        return;
    struct process *process = layout->main_process
                                  ? &layout->processes.items[layout->main_process]
                                  : process_of(layout, (struct chrome_id){.form = ID_NONE});
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
    layout_init(&layout);
    for (size_t i = 0; i < survey->lanes.count; i++) {
        struct chrome_lane lane = lane_at(&layout, i);
        note_lane(&layout, &lane, &survey->lanes.items[i]);
    }
    describe(&layout);
    choose_main_process(&layout);
    place_lanes(&layout);
    keep_facts(&layout);
    layout_free(&layout);
}

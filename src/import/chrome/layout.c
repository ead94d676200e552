/*
 * Chrome trace JSON, between the passes: collects processes and threads from lanes and metadata
 * events.
 */
#include "import/chrome/layout.h"

static void layout_init(struct layout *layout)
{
    intern_init(&layout->process_ids);
    intern_init(&layout->thread_ids);
    intern_init(&layout->track_ids);
    *array_push(&layout->processes) = (struct chrome_process){0};
    *array_push(&layout->threads) = (struct thread){0};
    *array_push(&layout->tracks) = TRACK_NONE;
    output_memory(&layout->unused);
    layout->plane_process = TRACK_NONE;
}

void layout_free(struct layout *layout)
{
    intern_free(&layout->process_ids);
    intern_free(&layout->thread_ids);
    intern_free(&layout->track_ids);
    struct chrome_process *process;
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

struct chrome_process *layout_process(struct layout *layout, struct chrome_id pid)
{
    int64_t identity[2] = {pid.form, pid.value};
    uint32_t number =
        intern_add(&layout->process_ids, (struct text){(const char *)identity, sizeof identity});
    if (number == layout->processes.count)
        *array_push(&layout->processes) = (struct chrome_process){
            .id = pid, .track = TRACK_NONE, .host_source = TRACK_NONE, .device_source = TRACK_NONE};
    return &layout->processes.items[number];
}

struct thread *layout_thread(struct layout *layout, struct chrome_id pid, struct chrome_id tid)
{
    int64_t identity[4] = {pid.form, pid.value, tid.form, tid.value};
    uint32_t number =
        intern_add(&layout->thread_ids, (struct text){(const char *)identity, sizeof identity});
    if (number == layout->threads.count)
        *array_push(&layout->threads) = (struct thread){0};
    return &layout->threads.items[number];
}

struct chrome_lane layout_lane(const struct layout *layout, size_t index)
{
    struct chrome_lane lane;
    uint32_t number = (uint32_t)(layout->survey->first_lane + index);
    memcpy(&lane, intern_text(&layout->source->tables.lanes, number).data, sizeof lane);
    return lane;
}

static uint64_t counter_of(const struct chrome_lane *lane)
{
    struct chrome_lane counter = *lane;
    counter.series = 0;
    return hash_bytes(&counter, sizeof counter);
}

uint32_t layout_series(const struct layout *layout, const struct chrome_lane *lane)
{
    return idmap_get(&layout->series, counter_of(lane));
}

static void add_lane_info(struct layout *layout, const struct chrome_lane *lane,
                          const struct chrome_lane_facts *facts)
{
    struct chrome_process *process = layout_process(layout, pid_of(lane));
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
    struct thread *thread = layout_thread(layout, pid_of(lane), tid_of(lane));
    bool is_stream = lane->class == CLASS_STREAM || lane->class == CLASS_QUEUED;
    if (is_stream && !thread->has_stream)
        thread->stream = (struct chrome_id){ID_NUMBER, facts->stream};
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
            chrome_make_id(reader, &value, &metadata->pid);
        else if (text_equal(key.text, TEXT("tid")))
            chrome_make_id(reader, &value, &metadata->tid);
    }
    metadata->text = (struct text){event, (size_t)(in.at - event)};
}

/* A second name replaces the first, which is kept as an arg. */
static void set_name(struct catalog *catalog, uint32_t *name, uint32_t new_name, arg_buffer *args,
                     struct text key)
{
    if (*name && *name != new_name)
        *array_push(args) =
            (struct arg){.key = catalog_string(catalog, key), .type = ARG_STRING, .string = *name};
    *name = new_name;
}

/* Kineto's labels of devices: "GPU 0", "MTIA 17", but not "CPU". */
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
    uint32_t key = value_string(catalog, &metadata->name);
    if (metadata->args.text.size <= ARG_LARGEST)
        *array_push(args) =
            value_arg(catalog, catalog_key(catalog, catalog_text(catalog, key)), &metadata->args);
}

/* What is understood becomes a property of the process; everything else, including a second name,
 * is kept as its args. */
static void describe_process(struct layout *layout, struct chrome_process *process,
                             const struct metadata *metadata)
{
    struct catalog *catalog = layout->catalog;
    struct json_value value;
    struct text name = metadata->name.text;
    if (text_equal(name, TEXT("process_name")) &&
        value_member(&metadata->args, TEXT("name"), &value) && value.kind == JSON_STRING) {
        set_name(catalog, &process->name, value_string(catalog, &value), &process->args, name);
        struct text plane = catalog_text(catalog, process->name);
        process->is_plane =
            text_starts(plane, TEXT("/device:")) || text_starts(plane, TEXT("/host:"));
    } else if (text_equal(name, TEXT("process_sort_index")) &&
               value_member(&metadata->args, TEXT("sort_index"), &value) &&
               value_whole(&value, &process->sort_key)) {
        process->has_sort_key = true;
    } else if (text_equal(name, TEXT("process_labels")) &&
               value_member(&metadata->args, TEXT("labels"), &value) && value.kind == JSON_STRING) {
        if (layout->profile->is_kineto && is_device_label(value.text))
            process->device_label = value.text;
        *array_push(&process->args) = value_arg(catalog, catalog_string(catalog, name), &value);
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
        value_member(&metadata->args, TEXT("name"), &value) && value.kind == JSON_STRING)
        set_name(catalog, &thread->name, value_string(catalog, &value), &thread->args, name);
    else if (text_equal(name, TEXT("thread_sort_index")) &&
             value_member(&metadata->args, TEXT("sort_index"), &value) &&
             value_whole(&value, &thread->sort_key))
        thread->has_sort_key = true;
    else
        keep_metadata(catalog, metadata, &thread->args);
}

/* Kineto names sixteen devices whether they exist or not. */
static void keep_unused(struct layout *layout, struct text event)
{
    struct json json;
    output_char(&layout->unused, layout->unused.size ? ',' : '[');
    json_begin(&json, &layout->unused, false);
    json_copy(&json, event);
}

/* Metadata may name processes and threads that have no events, sixteen devices in Kineto's case;
 * these get no track, and their metadata is kept in one list. Those with events were created
 * before, so their index tells them apart. */
static void describe(struct layout *layout)
{
    struct chrome_reader reader;
    chrome_reader_init(&reader, &layout->source->tables, true);
    const struct json_file *file = &layout->source->files.items[layout->file];
    size_t processes = layout->processes.count, threads = layout->threads.count;
    const char **event;
    array_each (event, &layout->survey->metadata) {
        struct metadata metadata;
        mem_touched(MEM_JUMP);
        read_metadata(&reader, *event, file->data + file->size, &metadata);
        struct chrome_process *process = layout_process(layout, metadata.pid);
        bool is_thread = text_starts(metadata.name.text, TEXT("thread_"));
        struct thread *thread =
            is_thread ? layout_thread(layout, metadata.pid, metadata.tid) : NULL;
        bool is_used = is_thread ? thread < layout->threads.items + threads
                                 : process < layout->processes.items + processes;
        if (!is_used)
            keep_unused(layout, metadata.text);
        else if (is_thread)
            describe_thread(layout->catalog, thread, &metadata);
        else
            describe_process(layout, process, &metadata);
    }
    chrome_reader_free(&reader);
}

void layout_make(struct layout *layout)
{
    layout_init(layout);
    for (size_t i = 0; i < layout->survey->lanes.count; i++) {
        struct chrome_lane lane = layout_lane(layout, i);
        add_lane_info(layout, &lane, &layout->survey->lanes.items[i]);
    }
    describe(layout);
}

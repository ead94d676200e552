/*
 * Recordings: opens the session files of libkymo, of one or more processes, as a source.
 */
#include "import/recording/gpu.h"
#include "import/recording/gpu_pass.h"
#include "import/recording/hlo_dump.h"
#include "import/recording/recording_passes.h"

#include <unistd.h>

static bool recording_take(struct recording *recording, uint32_t number, struct pusher *pusher,
                           struct error *err)
{
    const struct gpu_target target = {recording, number, pusher, err};
    struct gpu *gpu = recording->processes.items[number].gpu;
    return recording_take_events(recording, number, pusher, err) &&
           (!gpu || gpu_take(gpu, &target));
}

static bool read_process(struct record_source *base, uint32_t number, struct pusher *pusher,
                         struct error *err)
{
    return recording_take((struct recording *)base, number, pusher, err);
}

static void recording_close(struct source *base)
{
    struct recording *recording = (struct recording *)base;
    struct process *process;
    array_each (process, &recording->processes) {
        recorded_file_free(&process->events);
        runtime_facts_free(&process->facts);
        array_free(&process->stops);
        mem_free(process->types);
        for (size_t i = 0; i < SESSION_FILES; i++)
            file_close(&process->usage[i]);
        file_close(&process->info_file);
        file_close(&process->gpu_file);
        gpu_close(process->gpu);
        clock_fit_free(&process->monotonic);
        xla_ranges_free(&process->ranges);
    }
    array_free(&recording->processes);
    idmap_free(&recording->located);
    record_source_free(&recording->base);
    mem_free(recording);
}

/* Keys are looked up once, so that passes over the events compare numbers. Their names are those of
 * Neuron's and torch.profiler's files. */
static struct recording *recording_create(void)
{
    struct recording *recording = mem_zeroed(1, sizeof *recording);
    static const char *const no_keys[] = {NULL};
    record_source_init(&recording->base, "kymo-session", no_keys, 1);
    recording->base.source.close = recording_close;
    recording->base.read_file = read_process;
    struct catalog *catalog = &recording->base.source.catalog;
    recording->keys = (struct known_keys){
        .device_time = catalog_key(catalog, TEXT("nc_timestamp_ns")),
        .host_time = catalog_key(catalog, TEXT("cpu_timestamp_ns")),
        .run = catalog_key(catalog, TEXT("exec_id")),
        .physical_core = catalog_key(catalog, TEXT("device_core_idx")),
        .producer_type = catalog_key(catalog, TEXT("_pt")),
        .producer = catalog_key(catalog, TEXT("_p")),
        .consumer_type = catalog_key(catalog, TEXT("_ct")),
        .consumer = catalog_key(catalog, TEXT("_c")),
        .root = catalog_key(catalog, TEXT("_r")),
        .phase = catalog_key(catalog, TEXT("phase")),
        .call = catalog_key(catalog, TEXT("Record function id")),
        .sequence = catalog_key(catalog, TEXT("Sequence number")),
        .sizes = catalog_key(catalog, TEXT("Input Dims")),
        .category = catalog_key(catalog, TEXT("cat")),
        .source_file = catalog_key(catalog, TEXT("source_file")),
        .source_line = catalog_key(catalog, TEXT("source_line")),
        .communicator = catalog_key(catalog, TEXT("NCCL communicator ID")),
        .collective = catalog_key(catalog, TEXT("Collective name")),
        .group = catalog_key(catalog, TEXT("Process Group Name")),
        .start = catalog_string(catalog, TEXT("start")),
        .stop = catalog_string(catalog, TEXT("stop")),
    };
    return recording;
}

static void add_rings_messages(struct catalog *catalog, uint32_t number,
                               const struct record_summary *rings)
{
    char line[ERROR_LINE_SIZE];
    if (rings->is_running)
        import_message(catalog, number, false, "process %u is still recording; %llu events so far",
                       rings->process, (unsigned long long)rings->kept);
    else
        import_message(catalog, number, false,
                       "the program did not stop its capture; its ring files were read as they are "
                       "(kymo recover converts them)");
    if (rings->skipped > 0)
        import_message(catalog, number, true, "%zu file%s of the capture could not be read; %s",
                       rings->skipped, rings->skipped == 1 ? "" : "s",
                       error_line(&rings->first_skipped, line));
}

/* It is not recorded which lanes lack the GPUs' dropped events: streams, or calls of any thread. */
static void add_drops(struct recording *recording, uint32_t number)
{
    struct catalog *catalog = &recording->base.source.catalog;
    const struct process *process = &recording->processes.items[number];
    struct drops gpu = gpu_drops(process->gpu), drops = session_drops(&process->info, gpu);
    char text[DROPS_TEXT_SIZE];
    if (drops.dropped > 0)
        import_message(catalog, number, false, "%s", drops_text(&drops, text));
    for (uint32_t i = 0; gpu.dropped > 0 && i < catalog->tracks.count; i++)
        catalog->tracks.items[i].is_incomplete |=
            catalog->tracks.items[i].level == TRACK_LANE &&
            catalog_ancestor(catalog, i, TRACK_PROCESS) == process->track;
}

static void add_messages(struct recording *recording, uint32_t number)
{
    struct catalog *catalog = &recording->base.source.catalog;
    const struct session_info *info = &recording->processes.items[number].info;
    if (!recording->processes.items[number].info_file.data)
        import_message(catalog, number, false,
                       "trace_info.pb is missing; the recording process and the number of lost "
                       "events are unknown");
    add_drops(recording, number);
    if (info->lost_names > 0)
        import_message(catalog, number, false, "%llu strings were dropped or cut during capture",
                       (unsigned long long)info->lost_names);
    const struct process *process = &recording->processes.items[number];
    if (process->is_from_rings)
        add_rings_messages(catalog, number, &process->rings);
    else if (info->recovered)
        import_message(catalog, number, false,
                       "the program did not stop its capture; the data was recovered");
    runtime_messages(&recording->processes.items[number].facts, catalog, number);
}

static void make_process(struct recording *recording, uint32_t number)
{
    struct catalog *catalog = &recording->base.source.catalog;
    struct process *process = &recording->processes.items[number];
    const struct session_info *info = &process->info;
    struct host *host = &catalog->hosts.items[number];
    if (info->instance.size > 0)
        host->name = host->machine = catalog_string(catalog, info->instance);
    host->has_rank = info->rank > 0;
    host->rank = (int64_t)info->rank - host->has_rank;
    host->world_size = info->world_size;
    uint32_t instance = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, 0, host->name);
    struct text name = info->process_name;
    const char *slash =
        info->program.size > 0 ? memrchr(info->program.data, '/', info->program.size) : NULL;
    if (name.size == 0)
        name = info->program;
    if (slash && info->process_name.size == 0)
        name =
            (struct text){slash + 1, (size_t)(info->program.data + info->program.size - slash) - 1};
    process->track = catalog_group(catalog, instance, TRACK_PROCESS, info->process,
                                   catalog_string(catalog, name));
}

/* The directory part of a path. */
static struct text directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (struct text){path, slash ? (size_t)(slash - path) : 0};
}

/* A file of that name beside the events that cannot be read: its content is missing. */
static void check_gpu_file(struct recording *recording, uint32_t number)
{
    struct text directory = directory_of(recording->base.files.items[number].path);
    char *path = path_format("%.*s%sgpu_trace.pb", (int)directory.size, directory.data,
                             directory.size > 0 ? "/" : "");
    if (access(path, F_OK) == 0)
        import_message(&recording->base.source.catalog, number, true,
                       "gpu_trace.pb is empty or damaged at its start: GPU activity is not shown");
    mem_free(path);
}

/* Times of GPUs use the monotonic clock; the capture's metadata has samples of it. */
static void open_gpu(struct recording *recording, uint32_t number)
{
    struct process *process = &recording->processes.items[number];
    if (process->gpu_file.size == 0) {
        check_gpu_file(recording, number);
        return;
    }
    xla_ranges_finish(&process->ranges);
    if (!session_clock_read(process->info_file.data, process->info_file.size,
                            &process->monotonic)) {
        import_message(&recording->base.source.catalog, number, true,
                       "trace_info.pb has no samples of the clock: GPU activity is not shown");
        return;
    }
    process->gpu = gpu_open(recording, number);
    gpu_messages(process->gpu, &recording->base.source.catalog, number);
    recording->base.source.catalog.is_sampled |= gpu_is_sampled(process->gpu);
}

static bool lay_out_process(struct recording *recording, uint32_t number, struct error *err)
{
    struct catalog *catalog = &recording->base.source.catalog;
    struct process *process = &recording->processes.items[number];
    make_process(recording, number);
    hlo_dump_read(catalog, number, directory_of(recording->base.files.items[number].path));
    if (!recorded_layout(&process->events, catalog, recording->base.files.items[number].path, err))
        return false;
    session_lanes_read(process->info_file.data, process->info_file.size, &process->events);
    process->types = mem_zeroed(process->events.names.count, sizeof *process->types);
    if (!recording_gather(recording, number, err))
        return false;
    runtime_settle(&process->facts);
    if (process->facts.span.sample.count == 0) { /* no events: use the samples' times */
        span_sample(&process->facts.span, process->info.start_ns);
        span_settle(&process->facts.span);
    }
    open_gpu(recording, number);
    if (!recording_take(recording, number, NULL, err))
        return false;
    span_set_host(&process->facts.span, &catalog->hosts.items[number]);
    add_messages(recording, number);
    return true;
}

/* The other files of the session. */
static bool open_session_files(struct catalog *catalog, const struct capture *capture,
                               const char *path, struct process *process, struct error *err)
{
    const struct capture_file *input;
    array_each (input, &capture->files) {
        struct file file;
        if (input->is_rings || !text_equal(directory_of(input->path), directory_of(path)) ||
            strcmp(input->path, path) == 0)
            continue;
        if (!file_open(&file, input->path, err))
            return false;
        enum session_file kind = session_recognize(file.data, file.size);
        struct pb_reader failed;
        if (kind != SESSION_NONE &&
            !session_version_check(file.data, file.size, input->path, err)) {
            file_close(&file);
            return false;
        }
        if (kind == SESSION_INFO && !process->info_file.data) {
            process->info_file = file;
            if (!session_info_read(file.data, file.size, &process->info, &failed))
                return error_at(err, input->path, (uint64_t)(failed.at - file.data),
                                "the recording is damaged: %s", failed.problem);
        } else if ((kind == SESSION_CPU || kind == SESSION_MEMORY) && !process->usage[kind].data) {
            process->usage[kind] = file;
        } else if (kind == SESSION_GPU && !process->gpu_file.data) {
            process->gpu_file = file;
            catalog_give(catalog, file.size, false);
        } else {
            file_close(&file);
        }
    }
    return true;
}

/* Takes ownership of the file. */
static struct process *push_process(struct recording *recording, struct json_file file)
{
    *array_push(&recording->base.files) = file;
    struct process *process = array_push(&recording->processes);
    *process = (struct process){.events = {.data = (const uint8_t *)file.data, .size = file.size}};
    runtime_facts_init(&process->facts);
    return process;
}

static bool add_process(struct recording *recording, struct process *process,
                        const struct capture *capture, struct error *err)
{
    uint32_t number = (uint32_t)recording->base.files.count - 1;
    struct json_file *file = &recording->base.files.items[number];
    struct catalog *catalog = &recording->base.source.catalog;
    return json_file_open(file, catalog, err) &&
           (!capture || open_session_files(catalog, capture, file->path, process, err)) &&
           lay_out_process(recording, number, err);
}

/* Converts rings to session files, in unnamed temporary files. */
static bool convert_rings(const char *directory, bool in_memory, struct file maps[RECORD_FILES],
                          struct record_summary *summary, struct error *err)
{
    int files[RECORD_FILES];
    bool ok = true;
    for (size_t i = 0; i < RECORD_FILES; i++) {
        files[i] = ok ? file_temporary(in_memory, err) : -1;
        ok = files[i] >= 0;
    }
    ok = ok && record_convert(directory, files, summary, err);
    for (size_t i = 0; i < RECORD_FILES && ok; i++)
        ok = file_map(&maps[i], files[i], directory, err);
    for (size_t i = 0; i < RECORD_FILES; i++) {
        if (files[i] >= 0)
            close(files[i]);
        if (!ok)
            file_close(&maps[i]);
    }
    return ok;
}

/* was_read is false when these are not rings: other processes may still be read. */
static bool add_rings(struct recording *recording, const struct capture *capture,
                      const struct capture_file *input, bool *was_read, struct error *err)
{
    struct file maps[RECORD_FILES] = {0};
    struct record_summary summary;
    struct pb_reader failed;
    struct text directory = directory_of(input->path);
    char *path = mem_copy_text(directory.data, directory.size);
    /* If there is no disk space for temporary files, use memory. */
    *was_read = convert_rings(path, false, maps, &summary, err) ||
                convert_rings(path, true, maps, &summary, err);
    mem_free(path);
    if (!*was_read)
        return false;
    struct process *process =
        push_process(recording, (struct json_file){.map = maps[RECORD_EVENTS],
                                                   .path = input->path,
                                                   .label = input->label,
                                                   .data = (const char *)maps[RECORD_EVENTS].data,
                                                   .size = maps[RECORD_EVENTS].size});
    process->is_from_rings = true;
    process->rings = summary;
    process->info_file = maps[RECORD_INFO];
    process->usage[SESSION_CPU] = maps[RECORD_CPU];
    process->usage[SESSION_MEMORY] = maps[RECORD_MEMORY];
    process->gpu_file = maps[RECORD_GPU];
    catalog_give(&recording->base.source.catalog, process->gpu_file.size, false);
    if (!session_info_read(process->info_file.data, process->info_file.size, &process->info,
                           &failed))
        return error_in_file(err, input->path, "is damaged: %s", failed.problem);
    return add_process(recording, process, capture, err);
}

static bool add_file(struct recording *recording, const struct capture *capture,
                     const struct capture_file *input, struct error *err)
{
    struct file map;
    if (!file_open(&map, input->path, err))
        return false;
    if (session_recognize(map.data, map.size) != SESSION_EVENTS) {
        file_close(&map);
        return true;
    }
    struct process *process =
        push_process(recording, (struct json_file){.map = map,
                                                   .path = input->path,
                                                   .label = input->label,
                                                   .data = (const char *)map.data,
                                                   .size = map.size});
    return session_version_check(map.data, map.size, input->path, err) &&
           add_process(recording, process, capture, err);
}

bool import_recording_bytes(const char *name, const uint8_t *data, size_t size,
                            struct source **source, struct error *err)
{
    struct recording *recording = recording_create();
    struct process *process = push_process(
        recording, (struct json_file){
                       .path = name, .label = "host", .data = (const char *)data, .size = size});
    return record_source_finish(&recording->base, add_process(recording, process, NULL, err),
                                source);
}

static void add_unread(struct recording *recording, const path_list *unread)
{
    char **line;
    array_each (line, unread)
        import_message(&recording->base.source.catalog, 0, true, "%s", *line);
}

/* Processes whose rings cannot be read are skipped with a message as long as another one can be
 * read; only if none can is that an error. */
bool import_recording(const struct capture *capture, struct pool *pool, struct source **source,
                      struct error *err)
{
    (void)pool;
    struct recording *recording = recording_create();
    path_list unread = {0};
    bool ok = true;
    for (size_t i = 0; i < capture->files.count && ok; i++) {
        const struct capture_file *input = &capture->files.items[i];
        bool was_read = true;
        ok = input->is_rings ? add_rings(recording, capture, input, &was_read, err)
                             : add_file(recording, capture, input, err);
        if (!was_read) {
            char line[ERROR_LINE_SIZE];
            const char *text = error_line(err, line);
            *array_push(&unread) = mem_copy_text(text, strlen(text));
            ok = true;
        }
    }
    if (ok && recording->base.files.count > 0)
        add_unread(recording, &unread);
    else if (ok && unread.count > 0)
        ok = false; /* with the last error */
    else if (ok)
        ok = error_in_file(err, capture->files.items[0].path,
                           "ntrace.pb, which contains the events, is missing from this directory");
    paths_free(&unread);
    return record_source_finish(&recording->base, ok, source);
}

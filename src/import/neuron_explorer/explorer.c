/*
 * Neuron Explorer JSON. Three passes over a file: metadata and the range of times; lanes and event
 * types; events.
 */
#include "import/neuron_explorer/explorer.h"
#include "import/neuron_explorer/explorer_passes.h"

static const char *const keys[KEY_COUNT] = {
    [KEY_NAME] = "name",
    [KEY_TIME] = "timestamp",
    [KEY_DURATION] = "duration",
    [KEY_START] = "start",
    [KEY_END_TIME] = "end",
    [KEY_GROUP] = "group",
    [KEY_INSTANCE] = "instance_id",
    [KEY_PROCESS] = "process_id",
    [KEY_THREAD] = "thread_id",
    [KEY_LOGICAL_CORE] = "lnc_idx",
    [KEY_CORE] = "nc_idx",
    [KEY_SUBGROUP] = "subgroup",
    [KEY_LABEL] = "label",
    [KEY_OPCODE] = "opcode",
    [KEY_VARIABLE] = "variable",
    [KEY_UTIL] = "util",
    [KEY_USAGE] = "usage",
    [KEY_PERCENT_USAGE] = "percent_usage",
    [KEY_CPU_ID] = "cpu_id",
    [KEY_DEVICE_IDX] = "device_idx",
    [KEY_HBM_IDX] = "hbm_idx",
    [KEY_ARGS] = "args",
    [KEY_ID] = "id",
    [KEY_TRACK] = "track",
    [KEY_EVENT_TYPE] = "event_type",
    [KEY_WORKER] = "worker_gid",
    [KEY_TYPE] = "type",
    [KEY_START_PS] = "start_ps",
    [KEY_DURATION_PS] = "duration_ps",
    [KEY_OCCURRENCES] = "num_occurrences",
    [KEY_STEP] = "step",
    [KEY_VALUE] = "value",
    [KEY_TENSOR_NAME] = "tensor_name",
    [KEY_TENSOR_ID] = "tensor_id",
    [KEY_SIZE] = "size",
    [KEY_PARENT] = "parent_id",
};

static const struct {
    const char *key;
    enum explorer_list list;
} lists[] = {
    {"trace_events", LIST_EVENTS},
    {"trace_event", LIST_EVENTS},
    {"counter_samples", LIST_EVENTS}, /* of Kymo's own documents */
    {"cpu_util", LIST_CPU},
    {"mem_usage", LIST_MEMORY},
    {"instruction", LIST_INSTRUCTIONS},
    {"device_mem_usage", LIST_DEVICE_MEMORY},
    {"dma", LIST_DMA},
};

static enum explorer_list list_of(struct text key)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (text_equal(key, text_of(lists[i].key)))
            return lists[i].list;
    return LIST_OTHER;
}

/* Lists with a known meaning, and all others whose records have a time. */
static bool is_records(struct text key, const struct json_value *first)
{
    struct json_value value;
    if (list_of(key) != LIST_OTHER)
        return true;
    return first && (value_member(first, TEXT("timestamp"), &value) ||
                     (value_member(first, TEXT("start"), &value) &&
                      value_member(first, TEXT("end"), &value)));
}

void explorer_pass_begin(struct explorer_pass *pass, struct explorer_source *source,
                         uint32_t number, bool is_reread)
{
    *pass = (struct explorer_pass){
        .source = source,
        .number = number,
        .file = &source->base.files.items[number],
        .facts = &source->facts.items[number],
        .record = {.catalog = &source->base.source.catalog, .is_reread = is_reread}};
    walk_begin(&pass->walk, pass->file, is_records, is_reread);
}

/* The core of a device profile, given in its summary. */
static void find_device_core(struct explorer_file *facts, const struct json_value *value)
{
    struct json_reader in = json_read(value->text);
    struct json_value first = *value, core;
    if (value->kind == JSON_LIST && (!json_enter(&in, '[') || !json_read_value(&in, &first)))
        return;
    if (value_member(&first, TEXT("nc_idx"), &core) && value_whole(&core, &facts->core))
        facts->has_core = true;
}

static void take_fact(struct explorer_pass *pass, const struct json_value *value)
{
    struct catalog *catalog = &pass->source->base.source.catalog;
    struct text key = pass->walk.key.text;
    if (own_read_fact(pass->source, pass->number, key, value))
        return;
    if (text_equal(key, TEXT("warnings")) && take_messages(catalog, pass->number, false, value))
        return;
    if (text_equal(key, TEXT("summary")) || text_equal(key, TEXT("metadata")))
        find_device_core(pass->facts, value);
    uint32_t string = value_string(catalog, &pass->walk.key);
    if (value->text.size <= ARG_LARGEST)
        *array_push(&pass->facts->args) =
            value_arg(catalog, catalog_key(catalog, catalog_text(catalog, string)), value);
}

/* First pass. */
static bool survey(struct explorer_source *source, uint32_t number, struct error *err)
{
    struct explorer_pass pass;
    struct json_value value;
    enum walk_found found;
    explorer_pass_begin(&pass, source, number, false);
    while ((found = walk_next(&pass.walk, &value)) != WALK_END) {
        if (found == WALK_FACT) {
            take_fact(&pass, &value);
        } else if (value.kind != JSON_OBJECT) {
            pass.facts->non_events++;
        } else if (record_read(&pass.record, &value, KEY_ARGS, &pass.walk.in)) {
            pass.list = list_of(pass.walk.key.text);
            explorer_sample_time(&pass);
        }
    }
    pass.facts->is_cut_off = pass.walk.is_cut_off;
    bool ok = !pass.walk.in.problem || json_damaged(pass.file, &pass.walk.in, err);
    record_free(&pass.record);
    return ok;
}

/* Second and third pass. */
static bool read_records(struct explorer_source *source, uint32_t number, struct pusher *pusher,
                         struct error *err)
{
    struct explorer_pass pass;
    struct json_value value;
    enum walk_found found;
    bool ok = true;
    explorer_pass_begin(&pass, source, number, true);
    pass.record.is_reread = pusher != NULL; /* names and groups are new in the second pass */
    pass.pusher = pusher;
    pass.err = err;
    while (ok && (found = walk_next(&pass.walk, &value)) != WALK_END) {
        if (found != WALK_RECORD || value.kind != JSON_OBJECT)
            continue;
        pass.list = list_of(pass.walk.key.text);
        ok = record_read(&pass.record, &value, KEY_ARGS, &pass.walk.in) && explorer_put(&pass);
    }
    if (pass.walk.in.problem)
        ok = json_damaged(pass.file, &pass.walk.in, err);
    record_free(&pass.record);
    return ok;
}

static void add_messages(struct catalog *catalog, uint32_t file, const struct explorer_file *facts)
{
    if (facts->is_cut_off)
        import_message(catalog, file, false,
                       "the file is truncated; all complete records were read");
    if (facts->non_events > 0)
        import_message(catalog, file, false, "%llu item%s skipped: not a record",
                       (unsigned long long)facts->non_events,
                       facts->non_events == 1 ? " was" : "s were");
    span_messages(&facts->span, catalog, file);
}

/* Metadata is assigned to the instance of the first record, as most records belong to it. */
static void keep_facts(struct explorer_source *source, uint32_t number, size_t first_track)
{
    struct catalog *catalog = &source->base.source.catalog;
    struct explorer_file *facts = &source->facts.items[number];
    if (facts->args.count == 0)
        return;
    uint32_t instance = TRACK_NONE;
    for (size_t i = first_track; i < catalog->tracks.count && instance == TRACK_NONE; i++)
        instance = catalog_ancestor(catalog, (uint32_t)i, TRACK_INSTANCE);
    if (instance == TRACK_NONE || catalog->tracks.items[instance].args.count > 0)
        instance = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, number, facts->instance);
    catalog->tracks.items[instance].args =
        catalog_keep_args(catalog, facts->args.items, facts->args.count);
}

static void set_times(struct catalog *catalog, uint32_t number, const struct explorer_file *facts)
{
    struct host *host = &catalog->hosts.items[number];
    if (!facts->own.is_own) {
        span_set_host(&facts->span, host);
        return;
    }
    if (facts->own.has_start)
        host->start_epoch_ns = facts->own.start_epoch_ns;
    if (facts->own.has_stop)
        host->stop_epoch_ns = facts->own.stop_epoch_ns;
}

static bool add_file(void *context, struct json_file *file, struct error *err)
{
    struct explorer_source *source = context;
    struct catalog *catalog = &source->base.source.catalog;
    uint32_t number = (uint32_t)source->base.files.count;
    bool ok = json_file_open(file, catalog, err);
    *array_push(&source->base.files) = *file;
    struct explorer_file *facts = array_push(&source->facts);
    *facts = (struct explorer_file){.instance = catalog->hosts.items[number].name};
    size_t first_track = catalog->tracks.count;
    ok = ok && survey(source, number, err);
    if (ok) {
        span_settle(&facts->span);
        ok = read_records(source, number, NULL, err);
    }
    if (ok) {
        keep_facts(source, number, first_track);
        set_times(catalog, number, facts);
        add_messages(catalog, number, facts);
    }
    return ok;
}

void explorer_close(struct source *base)
{
    struct explorer_source *source = (struct explorer_source *)base;
    struct explorer_file *facts;
    array_each (facts, &source->facts) {
        span_free(&facts->span);
        own_free(&facts->own);
        array_free(&facts->args);
    }
    array_free(&source->facts);
    record_source_free(&source->base);
    mem_free(source);
}

static bool read_file(struct record_source *base, uint32_t file, struct pusher *pusher,
                      struct error *err)
{
    return read_records((struct explorer_source *)base, file, pusher, err);
}

void explorer_init(struct explorer_source *source)
{
    record_source_init(&source->base, "neuron-explorer", keys, KEY_COUNT);
    source->base.read_file = read_file;
    source->base.source.close = explorer_close;
}

bool import_explorer_bytes(const char *name, const uint8_t *data, size_t size,
                           struct source **result, struct error *err)
{
    struct explorer_source *source = mem_zeroed(1, sizeof *source);
    struct json_file file = {
        .path = name, .label = "host", .data = (const char *)data, .size = size};
    explorer_init(source);
    return record_source_finish(&source->base, add_file(source, &file, err), result);
}

bool import_explorer(const struct capture *capture, struct pool *pool, struct source **result,
                     struct error *err)
{
    (void)pool;
    struct explorer_source *source = mem_zeroed(1, sizeof *source);
    explorer_init(source);
    return record_source_finish(&source->base, json_files_each(capture, add_file, source, err),
                                result);
}

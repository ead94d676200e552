/*
 * Device profiles as a source: an instance, its devices, on each the cores with their lanes.
 */
#include "import/ntff/device_source.h"

#include "import/json_file.h"

#include <inttypes.h>
#include <stdio.h>

static void device_source_close(struct source *base)
{
    struct device_source *source = (struct device_source *)base;
    for (size_t i = 0; source->types && i < source->cores.count; i++)
        free_types(&source->types[i]);
    mem_free(source->types);
    array_free(&source->parts);
    device_cores_free(&source->cores);
    catalog_free(&source->source.catalog);
    mem_free(source);
}

/* Everything that is missing or wrong in the profile of a core, as messages of its host: a partial
 * profile is shown, not refused. */
static void add_messages(struct catalog *catalog, uint32_t host, const struct device_core *core)
{
    uint64_t unpaired = 0;
    const char *tracker = core->tracks_memory ? device_scratchpad_warning(core->profile) : NULL;
    if (tracker)
        import_message(catalog, host, false, "%s", tracker);
    if (core->profile->other_executions > 0)
        import_message(catalog, host, false,
                       "the file also has %" PRIu32
                       " executions of other NEFFs; select one of these "
                       "with -n",
                       core->profile->other_executions);
    char loss[NTFF_LOSS_SIZE];
    if (core->analysis->loss.places > 0)
        import_message(catalog, host, false, "%s", ntff_loss_text(&core->analysis->loss, loss));
    if (ntff_is_partial(core->profile->ntff))
        import_message(
            catalog, host, false,
            "the capture was interrupted: the profile has only what was written until then");
    for (uint32_t i = 0; i < core->execution_count; i++) {
        const struct device_execution *execution = &core->executions[i];
        unpaired += execution->unpaired;
        if (execution->has_info && execution->info.status != 0)
            import_message(catalog, host, true,
                           "execution %" PRIu32 " failed: %s (status %" PRIu32 ")",
                           execution->info.index, ntff_status_name(execution->info.status),
                           execution->info.status);
    }
    if (unpaired > 0)
        import_message(catalog, host, false,
                       "%" PRIu64 " of %" PRIu64
                       " notifications lack a counterpart or are invalid; they are left out",
                       unpaired, core->profile->notifications);
}

/* Each NTFF file is a host of the catalog, as in other formats. A file that cannot be opened again
 * has no size, which is not an error. */
static void add_host(struct device_source *source, const struct device_core *core)
{
    struct catalog *catalog = &source->source.catalog;
    const struct ntff_header *header = ntff_header(core->profile->ntff);
    const struct device_span *spans = core->profile->spans;
    struct file file = {0};
    struct error ignored;
    struct host host = {.name = catalog_string(catalog, text_of(header->instance_id)),
                        .file = catalog_string(catalog, text_of(core->ntff_path)),
                        .compression = catalog_string(catalog, TEXT("none")),
                        .start_epoch_ns = TIME_UNSET,
                        .stop_epoch_ns = TIME_UNSET,
                        .is_nameless = header->instance_id[0] == '\0'};
    if (file_open(&file, core->ntff_path, &ignored)) {
        host.size_bytes = file.size;
        catalog_give(catalog, file.size, false);
        file_close(&file);
    }
    for (uint32_t i = 0; i < core->profile->span_count; i++) {
        if (!spans[i].has_info || spans[i].info.start_ns > INT64_MAX / 2 ||
            spans[i].info.end_ns > INT64_MAX / 2)
            continue;
        if (host.start_epoch_ns == TIME_UNSET)
            host.start_epoch_ns = (int64_t)spans[i].info.start_ns;
        host.stop_epoch_ns = (int64_t)spans[i].info.end_ns;
    }
    if (catalog->start_epoch_ns == TIME_UNSET) {
        catalog->start_epoch_ns = host.start_epoch_ns;
        catalog->stop_epoch_ns = host.stop_epoch_ns;
    }
    *array_push(&catalog->hosts) = host;
    add_messages(catalog, (uint32_t)catalog->hosts.count - 1, core);
}

/* A source track of a core: its work, its packets, its semaphores. */
static uint32_t add_source(struct device_source *source, const struct device_core *core,
                           uint32_t process, enum source_role role, const char *what)
{
    struct catalog *catalog = &source->source.catalog;
    const struct ntff_header *header = ntff_header(core->profile->ntff);
    char name[64], label[96];
    snprintf(name, sizeof name, "/device:NEURON:%" PRIu32, header->core_index);
    if (source->cores.count > 1 && header->rank_count > 1)
        snprintf(label, sizeof label, "NC%" PRIu32 ", rank %" PRIu32 "%s", header->core_index,
                 header->rank, what);
    else
        snprintf(label, sizeof label, "NC%" PRIu32 "%s", header->core_index, what);
    struct track *track = catalog_add_track(catalog, process, TRACK_SOURCE);
    uint32_t number = (uint32_t)(track - catalog->tracks.items);
    track->source = role;
    track->name = catalog_string(catalog, text_of(name));
    track->display_name = catalog_string(catalog, text_of(label));
    track->id = header->rank;
    track->sort_key = number;
    return number;
}

static enum lane_role role_of(enum device_lane_kind kind)
{
    switch (kind) {
    case DEVICE_LANE_ENGINE:
    case DEVICE_LANE_MATRIX:
        return LANE_STREAM;
    case DEVICE_LANE_QUEUE:
    case DEVICE_LANE_CC_CORE:
        return LANE_ASYNC;
    case DEVICE_LANE_SERIES:
    case DEVICE_LANE_SEMAPHORE:
        return LANE_COUNTER;
    default:
        return LANE_ASIDE;
    }
}

/* Lanes of a core have consecutive tracks, so their sources come before all of them. */
static void add_lanes(struct device_source *source, uint32_t number, uint32_t process)
{
    struct catalog *catalog = &source->source.catalog;
    struct device_core *core = &source->cores.items[number];
    uint32_t work = add_source(source, core, process, SOURCE_DEVICE, "");
    uint32_t packets = add_source(source, core, process, SOURCE_OTHER, " DMA packets");
    uint32_t semaphores = add_source(source, core, process, SOURCE_OTHER, " semaphores");
    core->first_track = (uint32_t)catalog->tracks.count;
    for (uint32_t i = 0; i < core->lanes.count; i++) {
        const struct device_lane *lane = &core->lanes.items[i];
        char name[256];
        size_t size = device_lane_name(core, i, name, sizeof name);
        uint32_t parent = lane->kind == DEVICE_LANE_PACKETS     ? packets
                          : lane->kind == DEVICE_LANE_SEMAPHORE ? semaphores
                                                                : work;
        struct track *track = catalog_add_track(catalog, parent, TRACK_LANE);
        track->lane = role_of((enum device_lane_kind)lane->kind);
        track->name = catalog_string(catalog, (struct text){name, size});
        track->id = track->sort_key = i;
        track->events = lane->events;
    }
}

/* The origin of instructions: operations and stack frames, as in HLO modules. */
static void add_program(struct device_source *source, const struct device_core *core)
{
    struct catalog *catalog = &source->source.catalog;
    const struct core_program *program = core->profile->program;
    const struct neff_header *neff = &neff_info(core->profile->neff)->header;
    struct program *added = array_push(&catalog->programs);
    *added = (struct program){.host = (uint32_t)catalog->hosts.count - 1,
                              .name = catalog_string(catalog, text_of(neff->name)),
                              .id = catalog->programs.count - 1};
    added->label = added->name;
    for (uint32_t i = 0; i < program->origin_count; i++) {
        const struct origin *origin = &program->origins[i];
        *array_push(&added->operations) =
            (struct operation){.name = catalog_string(catalog, text_of(origin->operation)),
                               .opcode = catalog_string(catalog, text_of(origin->opcode)),
                               .op_name = catalog_string(catalog, text_of(origin->framework)),
                               .file = catalog_string(catalog, text_of(origin->file)),
                               .line = origin->line,
                               .frame = origin->stack_frame,
                               OPERATION_COSTS_UNKNOWN};
    }
    for (uint32_t i = 0; i < program->frame_count; i++) {
        const struct source_frame *frame = &program->frames[i];
        *array_push(&added->frames) =
            (struct stack_frame){.file = catalog_string(catalog, text_of(frame->file)),
                                 .function = catalog_string(catalog, text_of(frame->function)),
                                 .line = frame->line,
                                 .column = frame->column,
                                 .parent = frame->parent};
    }
}

/* The track of an earlier core of the same device, process and rank: ranks have rows of their own,
 * be they processes or threads of one. */
static uint32_t find_process(const struct device_source *source, uint32_t number)
{
    const struct track *tracks = source->source.catalog.tracks.items;
    const struct device_core *cores = source->cores.items;
    const struct ntff_header *own = ntff_header(cores[number].profile->ntff);
    for (uint32_t i = 0; i < number; i++) {
        const struct ntff_header *other = ntff_header(cores[i].profile->ntff);
        if (cores[i].lanes.count > 0 && other->device_index == own->device_index &&
            other->process_id == own->process_id && other->rank == own->rank &&
            strcmp(other->instance_id, own->instance_id) == 0)
            return tracks[tracks[cores[i].first_track].parent].parent;
    }
    return TRACK_NONE;
}

static void add_core(struct device_source *source, uint32_t number)
{
    struct catalog *catalog = &source->source.catalog;
    const struct device_core *core = &source->cores.items[number];
    const struct ntff_header *header = ntff_header(core->profile->ntff);
    char name[32];
    struct text instance = text_of(header->instance_id);
    add_host(source, core);
    uint32_t top = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, 0,
                                 catalog_string(catalog, instance.size ? instance : TEXT("host")));
    snprintf(name, sizeof name, "ND%" PRIu32, header->device_index);
    uint32_t process = find_process(source, number);
    if (process == TRACK_NONE) {
        struct track *added = catalog_add_track(catalog, top, TRACK_PROCESS);
        process = (uint32_t)(added - catalog->tracks.items);
        added->id = header->process_id;
        added->name = catalog_string(catalog, text_of(name));
        added->sort_key = header->device_index;
    }
    add_lanes(source, number, process);
    add_program(source, core);
    make_types(source, number);
}

/* Packets and semaphores of an execution are one part each. */
static bool is_continued(const struct core_part *last, const struct core_part *part)
{
    return (part->kind == DEVICE_LANE_PACKETS || part->kind == DEVICE_LANE_SEMAPHORE) &&
           last->kind == part->kind && last->core == part->core &&
           last->execution == part->execution;
}

static void list_parts(struct device_source *source, uint32_t number)
{
    const struct device_core *core = &source->cores.items[number];
    for (size_t i = 0; i < core->parts.count; i++) {
        const struct device_part *part = &core->parts.items[i];
        const struct core_part next = {.core = number,
                                       .execution = part->execution,
                                       .lane = part->lane,
                                       .kind = core->lanes.items[part->lane].kind,
                                       .first = part->first,
                                       .count = part->count};
        size_t count = source->parts.count;
        if (count > 0 && is_continued(&source->parts.items[count - 1], &next))
            source->parts.items[count - 1].count += part->count;
        else
            *array_push(&source->parts) = next;
    }
}

static bool open_core(struct device_source *source, const struct capture_file *file,
                      struct error *err)
{
    char *found = NULL;
    if (!file->neff && !find_neff(file->path, &found, err))
        return false;
    const char *neff = file->neff ? file->neff : found;
    struct device_profile *profile = device_open(neff, file->path, err);
    if (profile)
        device_cores_add(&source->cores, profile, neff, file->path);
    mem_free(found);
    return profile != NULL;
}

static struct device_source *new_source(void)
{
    struct device_source *source = mem_zeroed(1, sizeof *source);
    catalog_init(&source->source.catalog);
    source->source.catalog.format = "ntff";
    source->source.catalog.has_own_findings = true;
    source->source.read = read_parts;
    source->source.close = device_source_close;
    return source;
}

/* Reads the executions of its cores and lays out their lanes. */
static struct source *finish_source(struct device_source *source, struct pool *pool)
{
    device_cores_read(&source->cores, pool);
    source->types = mem_zeroed(source->cores.count, sizeof *source->types);
    for (uint32_t i = 0; i < source->cores.count; i++) {
        add_core(source, i);
        list_parts(source, i);
    }
    return &source->source;
}

bool import_device(const struct capture *capture, struct pool *pool, struct source **result,
                   struct error *err)
{
    struct device_source *source = new_source();
    bool ok = true;
    for (size_t i = 0; ok && i < capture->files.count; i++)
        ok = open_core(source, &capture->files.items[i], err);
    if (!ok) {
        source_close(&source->source);
        return false;
    }
    struct device_core *core;
    array_each (core, &source->cores)
        core->tracks_memory = capture->tracks_memory;
    *result = finish_source(source, pool);
    return true;
}

struct source *import_device_profile(struct device_profile *profile, const char *name,
                                     struct pool *pool)
{
    struct device_source *source = new_source();
    device_cores_add(&source->cores, profile, name, name);
    return finish_source(source, pool);
}

const struct device_cores *import_device_cores(const struct source *source)
{
    while (source->inner)
        source = source->inner;
    return source->read == read_parts ? &((const struct device_source *)source)->cores : NULL;
}

/*
 * The collectives of a rank: kernels and operations on its devices that communicate, with what is
 * known of each: from its own args, from those of the host's call that launched it, from its HLO
 * instruction, else from names alone.
 */
#include "store/tables/rank_tables.h"

#include "store/tables/profile.h"

/* A collective being described. */
struct rank_collective {
    struct event_ref work;
    const struct launch *launch;
    struct text communicator, operation, data_type;
    int64_t sequence, peer, group_size, bytes;
    char buffer[OPERATION_SIZE];
    int64_t device; /* its number in the job, NOT_KNOWN outside of datasets */
};

struct describer {
    const struct profile_maker *maker;
    struct idmap fact_by_event;
    struct output group; /* of the collective that was described last */
    struct idmap starts; /* of asynchronous operations: display name -> event type */
};

static const struct collective_fact *fact_of(const struct describer *describer, uint64_t event)
{
    uint32_t index = idmap_get(&describer->fact_by_event, event);
    return index == IDMAP_NONE ? NULL : &describer->maker->collectives.items[index];
}

/* The fact of the work itself or of a call around its launch. */
static const struct collective_fact *find_fact(const struct describer *describer,
                                               const struct rank_collective *at)
{
    const struct profile_maker *maker = describer->maker;
    const struct call *calls = maker->analysis->calls.items;
    const struct collective_fact *fact =
        fact_of(describer, maker->first_event[at->work.track] + at->work.event);
    uint32_t call = at->launch ? at->launch->call : NO_INDEX;
    for (; !fact && call != NO_INDEX; call = calls[call].parent)
        fact = fact_of(describer, calls[call].index);
    return fact;
}

/* The name of the annotation "nccl:all_to_all" around the launch: one kernel does several. */
static struct text annotation(const struct describer *describer, const struct rank_collective *at)
{
    const struct analysis *analysis = describer->maker->analysis;
    uint32_t call = at->launch ? at->launch->call : NO_INDEX;
    for (; call != NO_INDEX; call = analysis->calls.items[call].parent) {
        uint32_t type = analysis->trace.type[analysis->calls.items[call].index];
        struct text name = catalog_type_label(analysis->catalog, type);
        if (text_starts(name, TEXT("nccl:")))
            return (struct text){name.data + 5, name.size - 5};
    }
    return (struct text){0};
}

/* The text of the HLO instruction: that of its program, or on TPUs the name of the event. */
static struct text expression_of(const struct analysis *analysis, struct event_ref work)
{
    const struct catalog *catalog = analysis->catalog;
    const uint32_t *labels = analysis->lanes[work.track].label;
    uint32_t type = analysis->trace.lanes[work.track].type[work.event];
    const struct operation *operation =
        labels && labels[work.event]
            ? kernel_operation_of(analysis, &analysis->labels.items[labels[work.event] - 1], type)
            : NULL;
    if (operation && operation->expression)
        return catalog_text(catalog, operation->expression);
    struct text name = catalog_text(catalog, catalog->types.items[type].name);
    return text_starts(name, TEXT("%")) ? name : (struct text){0};
}

static void find_starts(struct describer *describer)
{
    const struct catalog *catalog = describer->maker->analysis->catalog;
    for (uint32_t i = 0; i < catalog->types.count; i++) {
        struct text name = catalog_text(catalog, catalog->types.items[i].display_name);
        if (describer->maker->analysis->device_class[i] == DEVICE_COMMUNICATION &&
            memmem(name.data, name.size, "-start", 6))
            idmap_put(&describer->starts, catalog->types.items[i].display_name, i);
    }
}

/* The instruction that a wait is for, "all-gather-done(... %all-gather-start.1)": that has the
 * groups. */
static struct text start_of(const struct describer *describer, struct text expression)
{
    const struct catalog *catalog = describer->maker->analysis->catalog;
    const char *sign = memrchr(expression.data, '%', expression.size);
    size_t size = 0, most = sign ? (size_t)(expression.data + expression.size - sign) - 1 : 0;
    while (size < most && sign[1 + size] != ')' && sign[1 + size] != ',')
        size++;
    uint32_t name =
        sign ? intern_find(&catalog->strings, (struct text){sign + 1, size}) : INTERN_NONE;
    uint32_t type = name == INTERN_NONE ? IDMAP_NONE : idmap_get(&describer->starts, name);
    return type == IDMAP_NONE ? (struct text){0}
                              : catalog_text(catalog, catalog->types.items[type].name);
}

static void take_fact(const struct describer *describer, struct rank_collective *at,
                      const struct collective_fact *fact)
{
    const struct intern *texts = &describer->maker->collective_texts;
    at->communicator = intern_text(texts, fact->communicator);
    at->operation = intern_text(texts, fact->operation);
    at->data_type = intern_text(texts, fact->data_type);
    at->sequence = fact->sequence;
    at->peer = fact->peer;
    at->group_size = fact->group_size;
    at->bytes = fact->bytes;
}

static void take_expression(struct describer *describer, struct rank_collective *at,
                            struct text expression)
{
    struct text groups = hlo_groups(expression);
    if (groups.size == 0)
        groups = hlo_groups(start_of(describer, expression));
    at->group_size = hlo_group_size(groups);
    bool are_pairs = text_equal(at->operation, TEXT("permute"));
    describer->group.size = 0;
    bool is_own = !are_pairs && hlo_own_group(groups, at->device, &describer->group);
    at->communicator =
        is_own ? (struct text){describer->group.data, describer->group.size} : groups;
    if (are_pairs)
        at->group_size = NOT_KNOWN; /* each has a source and a target */
    at->bytes = hlo_result_bytes(expression, &at->data_type);
    if (text_equal(at->operation, TEXT("reducescatter")) && at->bytes > 0)
        at->bytes = at->group_size > 0 && at->bytes < INT64_MAX / at->group_size
                        ? at->bytes * at->group_size
                        : NOT_KNOWN;
}

/* Facts recorded by the framework are best; without them, the annotation or the kernel's name
 * and the HLO expression have to do. Texts point into `at` or the analysis. */
static void describe(struct describer *describer, struct rank_collective *at)
{
    const struct analysis *analysis = describer->maker->analysis;
    uint32_t type = analysis->trace.lanes[at->work.track].type[at->work.event];
    at->sequence = at->peer = at->group_size = at->bytes = NOT_KNOWN;
    at->operation = at->communicator = at->data_type = TEXT("");
    const uint64_t *correlation = analysis->lanes[at->work.track].correlation;
    at->launch =
        correlation && correlation[at->work.event]
            ? find_launch(analysis,
                          catalog_ancestor(analysis->catalog, at->work.track, TRACK_PROCESS),
                          correlation[at->work.event])
            : NULL;
    const struct collective_fact *fact = find_fact(describer, at);
    if (fact) {
        take_fact(describer, at, fact);
    } else {
        struct text said = annotation(describer, at);
        struct text expression = expression_of(analysis, at->work);
        at->operation = collective_operation(
            said.size > 0 ? said : catalog_type_label(analysis->catalog, type), at->buffer);
        if (expression.size > 0)
            take_expression(describer, at, expression);
    }
    if (at->communicator.size == 0)
        at->communicator = TEXT("unknown");
}

/* How many like it came before in its communicator and step. */
static int64_t occurrence_of(struct idmap *counts, const struct rank_collective *at, uint32_t group)
{
    uint64_t identity[] = {hash_bytes(at->communicator.data, at->communicator.size),
                           hash_bytes(at->operation.data, at->operation.size), (uint64_t)at->peer,
                           group};
    uint64_t key = hash_bytes(identity, sizeof identity);
    uint32_t count = idmap_get(counts, key);
    count = count == IDMAP_NONE ? 0 : count;
    idmap_put(counts, key, count + 1);
    return count;
}

/* Waits for asynchronous operations stand for them: they end when these do. */
static bool is_start(const struct analysis *analysis, struct event_ref work)
{
    uint32_t type = analysis->trace.lanes[work.track].type[work.event];
    struct text name = catalog_type_label(analysis->catalog, type);
    size_t size = 0;
    while (size < name.size && name.data[size] != '.' && name.data[size] != ' ')
        size++;
    return text_ends((struct text){name.data, size}, TEXT("-start"));
}

static void put_text(struct filler *filler, size_t column, struct text text)
{
    if (text.size > 0)
        fill_word(filler, column, text);
    else
        rows_nulls(&filler->rows, column, 1);
}

static void put_number(struct filler *filler, size_t column, int64_t number)
{
    fill_index(filler, column, number != NOT_KNOWN, (uint64_t)number);
}

static void put_collective(struct filler *filler, const struct rank_collective *at, uint32_t group,
                           int64_t occurrence)
{
    const struct analysis *analysis = filler->maker->analysis;
    const struct lane_events *events = &analysis->trace.lanes[at->work.track];
    uint64_t event = at->work.event;
    struct rows *rows = &filler->rows;
    rows_int(rows, RANK_COLLECTIVE_EVENT,
             (int64_t)(filler->maker->first_event[at->work.track] + event));
    fill_index(filler, RANK_COLLECTIVE_STEP, group > 0,
               group > 0 ? (uint64_t)analysis->steps.items[group - 1].number : 0);
    fill_word(filler, RANK_COLLECTIVE_COMMUNICATOR, at->communicator);
    fill_word(filler, RANK_COLLECTIVE_OPERATION, at->operation);
    put_number(filler, RANK_COLLECTIVE_SEQUENCE, at->sequence);
    rows_int(rows, RANK_COLLECTIVE_OCCURRENCE, occurrence);
    put_number(filler, RANK_COLLECTIVE_PEER, at->peer);
    put_number(filler, RANK_COLLECTIVE_GROUP_SIZE, at->group_size);
    fill_span(filler, RANK_COLLECTIVE_START, events->start_ps[event], events->duration_ps[event]);
    put_number(filler, RANK_COLLECTIVE_BYTES, at->bytes);
    put_text(filler, RANK_COLLECTIVE_DATA_TYPE, at->data_type);
    rows_name(rows, RANK_COLLECTIVE_NAME, analysis->catalog->types.items[events->type[event]].name);
}

static void put_place(struct filler *filler, const struct location *location, uint32_t device,
                      const int64_t *numbers)
{
    bool is_known = device != IDMAP_NONE;
    fill_index(filler, RANK_COLLECTIVE_DEVICE, is_known, device);
    rows_int(&filler->rows, RANK_COLLECTIVE_DEVICE_INDEX, is_known ? numbers[device] : 0);
    rows_int(&filler->rows, RANK_COLLECTIVE_STREAM, location->thread);
}

/* The number of a device in the job, whose ranks have as many devices each, in order: as XLA
 * numbers them unless a mesh reorders them. */
static int64_t device_in_job(const struct profile_maker *maker, int64_t number)
{
    const struct rank_info *rank = maker->options->rank;
    int64_t devices = 0;
    const struct device_figures *device;
    array_each (device, &maker->analysis->devices)
        devices += device->work.has_times;
    return rank ? rank->rank * devices + number : NOT_KNOWN;
}

/* Collectives are sorted by device, and occurrences are counted per device, as ranks are
 * matched by them later. */
bool make_rank_collectives(struct profile_maker *maker, struct error *err)
{
    const struct analysis *analysis = maker->analysis;
    struct filler filler = fill_begin(maker, TABLE_RANK_COLLECTIVES, err);
    struct describer describer = {.maker = maker};
    output_memory(&describer.group);
    if (analysis->collectives.count > 0)
        find_starts(&describer);
    struct idmap counts = {0};
    struct location *locations = locations_of(analysis->catalog);
    int64_t *numbers = rank_device_numbers(analysis);
    uint32_t last_source = TRACK_NONE;
    for (size_t i = 0; i < maker->collectives.count; i++)
        idmap_put(&describer.fact_by_event, maker->collectives.items[i].event, (uint32_t)i);
    for (size_t i = 0; i < analysis->collectives.count && fill_continue(&filler); i++) {
        struct rank_collective at = {.work = analysis->collectives.items[i]};
        const uint32_t *groups = analysis->lanes[at.work.track].group;
        uint32_t source = analysis->catalog->tracks.items[at.work.track].parent;
        uint32_t group = groups ? groups[at.work.event] : 0;
        mem_touched(MEM_JUMP);
        if (is_start(analysis, at.work))
            continue;
        if (source != last_source) { /* the next device */
            idmap_free(&counts);
            counts = (struct idmap){0};
            last_source = source;
        }
        uint32_t device = idmap_get(&analysis->device_by_track, source);
        at.device = device_in_job(maker, device == IDMAP_NONE ? 0 : numbers[device]);
        describe(&describer, &at);
        put_place(&filler, &locations[at.work.track], device, numbers);
        put_collective(&filler, &at, group, occurrence_of(&counts, &at, group));
    }
    idmap_free(&describer.fact_by_event);
    output_discard(&describer.group);
    idmap_free(&describer.starts);
    idmap_free(&counts);
    mem_free(numbers);
    mem_free(locations);
    return fill_end(&filler);
}

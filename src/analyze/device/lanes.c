/*
 * Cores and their lanes.
 */
#include "analyze/device/device.h"

#include <stdio.h>

enum { BYTE_UNITS = 256 };

/* Slots of a kind are unit by unit, part by part. */
static uint32_t slot_of(const struct core_program *program, enum device_lane_kind kind,
                        uint32_t unit, uint32_t part)
{
    uint32_t queues = program->queue_count;
    const uint32_t counts[DEVICE_LANE_KINDS] = {[DEVICE_LANE_ENGINE] = ENGINE_COUNT,
                                                [DEVICE_LANE_MATRIX] = 1,
                                                [DEVICE_LANE_QUEUE] = queues,
                                                [DEVICE_LANE_CC_CORE] = BYTE_UNITS,
                                                [DEVICE_LANE_COLLECTIVES] = BYTE_UNITS,
                                                [DEVICE_LANE_ERRORS] = 1,
                                                [DEVICE_LANE_THROTTLE] = 1,
                                                [DEVICE_LANE_SERIES] = DEVICE_SERIES,
                                                [DEVICE_LANE_SCRATCHPAD] = 1,
                                                [DEVICE_LANE_PACKETS] = queues * DMA_ENGINES,
                                                [DEVICE_LANE_SEMAPHORE] = SEMAPHORES};
    uint32_t slot = kind == DEVICE_LANE_PACKETS ? unit * DMA_ENGINES + part : unit;
    for (unsigned i = 0; i < kind; i++)
        slot += counts[i];
    return slot;
}

static uint32_t slot_count(const struct core_program *program)
{
    return slot_of(program, DEVICE_LANE_KINDS, 0, 0);
}

uint32_t device_lane_of(const struct device_core *core, enum device_lane_kind kind, uint32_t unit,
                        uint32_t part)
{
    return core->lane_of_slot[slot_of(core->profile->program, kind, unit, part)];
}

uint32_t device_instruction_lane(const struct device_core *core, enum engine engine, uint32_t pc)
{
    return core->profile->facts[engine][pc].is_matmul
               ? device_lane_of(core, DEVICE_LANE_MATRIX, 0, 0)
               : device_lane_of(core, DEVICE_LANE_ENGINE, engine, 0);
}

uint64_t device_lane_first(const struct device_core *core, uint32_t execution, uint32_t lane)
{
    size_t low = 0, high = core->parts.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct device_part *part = &core->parts.items[middle];
        if (part->execution < execution || (part->execution == execution && part->lane < lane))
            low = middle + 1;
        else
            high = middle;
    }
    bool is_there = low < core->parts.count && core->parts.items[low].execution == execution &&
                    core->parts.items[low].lane == lane;
    return is_there ? core->parts.items[low].first : 0;
}

/* Tables and the timeline show these names. The text is cut to fit. */
size_t device_lane_name(const struct device_core *core, uint32_t number, char *text, size_t size)
{
    const struct device_lane *lane = &core->lanes.items[number];
    const struct core_program *program = core->profile->program;
    int length = 0;
    switch ((enum device_lane_kind)lane->kind) {
    case DEVICE_LANE_ENGINE:
        length = snprintf(text, size, "%s", hardware_engine_name((enum engine)lane->unit));
        break;
    case DEVICE_LANE_MATRIX:
        length = snprintf(text, size, "TensorMatrix");
        break;
    case DEVICE_LANE_QUEUE:
        length = snprintf(text, size, "%s", program->queues[lane->unit].name);
        break;
    case DEVICE_LANE_CC_CORE:
        length = snprintf(text, size, "CC-core %u", lane->unit);
        break;
    case DEVICE_LANE_COLLECTIVES:
        length = snprintf(text, size, "Collectives, CC-core %u", lane->unit);
        break;
    case DEVICE_LANE_ERRORS:
        length = snprintf(text, size, "Custom Notification");
        break;
    case DEVICE_LANE_THROTTLE:
        length = snprintf(text, size, "Throttling");
        break;
    case DEVICE_LANE_SERIES:
        length =
            snprintf(text, size, "%s", device_series_name((enum device_series_kind)lane->unit));
        break;
    case DEVICE_LANE_SCRATCHPAD:
        length = snprintf(text, size, "Scratchpad");
        break;
    case DEVICE_LANE_PACKETS:
        length =
            snprintf(text, size, "%s, DMA engine %u", program->queues[lane->unit].name, lane->part);
        break;
    case DEVICE_LANE_SEMAPHORE:
        length = snprintf(text, size, "Semaphore %u", lane->unit);
        break;
    case DEVICE_LANE_KINDS:
        break;
    }
    return length > 0 && (size_t)length < size ? (size_t)length : strlen(text);
}

/* --- What happens in an execution, by slot. --- */
struct counting {
    struct device_core *core;
    uint64_t *now, *before; /* by slot: of this execution, of those before */
};

static void count_one(struct counting *counting, enum device_lane_kind kind, uint32_t unit,
                      uint32_t part, uint64_t events)
{
    counting->now[slot_of(counting->core->profile->program, kind, unit, part)] += events;
}

/* Matrix multiplications have their own lane and are taken out of the Tensor engine's count.
 * Packets and updates are the many: their slots are looked up once. */
static void count_execution(struct counting *counting, const struct device_execution *execution)
{
    const struct device_core *core = counting->core;
    const struct core_program *program = core->profile->program;
    uint64_t matrix = 0;
    for (size_t i = 0; i < execution->instructions[ENGINE_TENSOR].count; i++) {
        mem_touched(sizeof *execution->instructions[0].items);
        matrix +=
            core->profile->facts[ENGINE_TENSOR][execution->instructions[ENGINE_TENSOR].items[i].pc]
                .is_matmul;
    }
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        count_one(counting, DEVICE_LANE_ENGINE, e, 0,
                  execution->instructions[e].count - (e == ENGINE_TENSOR ? matrix : 0));
    count_one(counting, DEVICE_LANE_MATRIX, 0, 0, matrix);
    uint64_t *packets = counting->now + slot_of(program, DEVICE_LANE_PACKETS, 0, 0);
    for (size_t i = 0; i < execution->blocks.count; i++)
        count_one(counting, DEVICE_LANE_QUEUE,
                  program->blocks[execution->blocks.items[i].block].queue, 0, 1);
    for (size_t i = 0; i < execution->transfers.count; i++) {
        const struct device_transfer *at = &execution->transfers.items[i];
        uint32_t queue = program->blocks[execution->blocks.items[at->run].block].queue;
        mem_touched(sizeof *at);
        packets[queue * DMA_ENGINES + at->engine]++;
    }
    for (size_t i = 0; i < execution->cc_steps.count; i++)
        count_one(counting, DEVICE_LANE_CC_CORE, execution->cc_steps.items[i].cc_core, 0, 1);
    for (size_t i = 0; i < execution->collectives.count; i++)
        count_one(counting, DEVICE_LANE_COLLECTIVES, execution->collectives.items[i].cc_core, 0, 1);
    uint64_t *semaphores = counting->now + slot_of(program, DEVICE_LANE_SEMAPHORE, 0, 0);
    for (size_t i = 0; i < execution->updates.count; i++) {
        mem_touched(sizeof *execution->updates.items);
        semaphores[execution->updates.items[i].semaphore]++;
    }
    count_one(counting, DEVICE_LANE_ERRORS, 0, 0, execution->errors.count);
    count_one(counting, DEVICE_LANE_THROTTLE, 0, 0, execution->throttles.count);
}

/* Series that the schema has a table for and that would repeat others on a timeline. */
static bool is_shown(enum device_series_kind kind)
{
    return !(kind >= SERIES_SBUF_0 && kind <= SERIES_SBUF_96) &&
           !(kind >= SERIES_PSUM_BANK_0 && kind <= SERIES_PSUM_BANK_7);
}

static void end_execution(struct counting *counting, uint32_t number)
{
    uint32_t slots = slot_count(counting->core->profile->program);
    for (uint32_t slot = 0; slot < slots; slot++) {
        if (counting->now[slot] == 0)
            continue;
        *array_push(&counting->core->parts) =
            (struct device_part){.execution = number,
                                 .lane = slot, /* until lanes are known */
                                 .first = counting->before[slot],
                                 .count = counting->now[slot]};
        counting->before[slot] += counting->now[slot];
        counting->now[slot] = 0;
    }
}

static void add_lanes(struct device_core *core, enum device_lane_kind kind, uint32_t units,
                      uint32_t parts, const uint64_t *events)
{
    for (uint32_t unit = 0; unit < units; unit++)
        for (uint32_t part = 0; part < parts; part++) {
            uint32_t slot = slot_of(core->profile->program, kind, unit, part);
            bool is_always = kind == DEVICE_LANE_ENGINE || kind == DEVICE_LANE_MATRIX;
            if (events[slot] == 0 && !is_always)
                continue;
            core->lane_of_slot[slot] = (uint32_t)core->lanes.count;
            *array_push(&core->lanes) = (struct device_lane){
                .kind = (uint8_t)kind, .unit = unit, .part = part, .events = events[slot]};
        }
}

static void make_lanes(struct device_core *core, const uint64_t *events)
{
    const struct core_program *program = core->profile->program;
    uint32_t slots = slot_count(program);
    core->lane_of_slot = mem_alloc(slots * sizeof *core->lane_of_slot);
    for (uint32_t i = 0; i < slots; i++)
        core->lane_of_slot[i] = NO_INDEX;
    static const uint32_t one = 1;
    const uint32_t units[DEVICE_LANE_KINDS] = {
        ENGINE_COUNT,  one, program->queue_count, BYTE_UNITS, BYTE_UNITS, one, one,
        DEVICE_SERIES, one, program->queue_count, SEMAPHORES};
    for (unsigned kind = 0; kind < DEVICE_LANE_KINDS; kind++)
        add_lanes(core, (enum device_lane_kind)kind, units[kind],
                  kind == DEVICE_LANE_PACKETS ? DMA_ENGINES : 1, events);
    for (size_t i = 0; i < core->parts.count; i++)
        core->parts.items[i].lane = core->lane_of_slot[core->parts.items[i].lane];
}

void device_cores_add(struct device_cores *cores, struct device_profile *profile,
                      const char *neff_path, const char *ntff_path)
{
    *array_push(cores) =
        (struct device_core){.profile = profile,
                             .neff_path = mem_copy_text(neff_path, strlen(neff_path)),
                             .ntff_path = mem_copy_text(ntff_path, strlen(ntff_path))};
}

/* Where a core's execution would begin later than another's, all of them do. */
static void align_executions(struct device_cores *cores)
{
    for (uint32_t number = 0;; number++) {
        int64_t latest = INT64_MIN;
        struct device_core *core;
        array_each (core, cores)
            if (number < core->profile->span_count &&
                core->profile->spans[number].start_ps > latest)
                latest = core->profile->spans[number].start_ps;
        if (latest == INT64_MIN)
            return;
        array_each (core, cores)
            if (number < core->profile->span_count)
                core->profile->spans[number].start_ps = latest;
    }
}

static void track_memory(struct device_core *core, uint32_t number, struct device_usage *usage)
{
    if (!core->tracks_memory)
        return;
    device_scratchpad(core->profile, &core->executions[number], &core->scratchpad[number]);
    device_scratchpad_steps steps = {0};
    device_scratchpad_over_time(&core->scratchpad[number], &steps);
    const struct device_scratchpad_step *step;
    array_each (step, &steps)
        *array_push(&usage->series[SERIES_SCRATCHPAD]) =
            (struct device_point){step->time_ps, (double)step->bytes};
    array_free(&steps);
}

/* A core whose executions are read: each on its own, then added in their order. */
struct cores_reader {
    struct device_core *core;
    struct pool *pool; /* for the parts of an execution; NULL: executions are read in parallel */
    struct device_tracker **trackers; /* by worker */
    struct counting counting;
    struct sequencer sequencer;
};

/* Moves a list to the last slab. Slabs grow: a core with many executions has few of them, and
 * hundreds of cores with little in them take little. */
static void *packed(struct device_core *core, void *items, size_t size)
{
    enum { FIRST_SLAB = 64 << 10, LARGEST_SLAB = 64 << 20, ALIGNED = 16 };
    size_t taken = (size + ALIGNED - 1) / ALIGNED * ALIGNED;
    char *target = NULL;
    if (size > 0) {
        if (taken > core->slab_left) {
            size_t next = core->slab_size ? 2 * core->slab_size : FIRST_SLAB;
            next = next < LARGEST_SLAB ? next : LARGEST_SLAB;
            core->slab_size = core->slab_left = taken > next ? taken : next;
            *array_push(&core->slabs) = mem_alloc(core->slab_size);
        }
        char *slab = core->slabs.items[core->slabs.count - 1];
        target = slab + (core->slab_size - core->slab_left);
        mem_write(slab, target, items, size);
        core->slab_left -= taken;
    }
    mem_free(items);
    return target;
}

#define PACK(core, list)                                                                           \
    ((list)->items = packed(core, (list)->items, (list)->count * sizeof *(list)->items),           \
     (list)->capacity = (list)->count)

static void pack_execution(struct device_core *core, struct device_execution *execution)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        PACK(core, &execution->instructions[e]);
    PACK(core, &execution->transfers);
    PACK(core, &execution->blocks);
    PACK(core, &execution->collectives);
    PACK(core, &execution->cc_steps);
    PACK(core, &execution->updates);
    PACK(core, &execution->errors);
    PACK(core, &execution->throttles);
    execution->is_packed = true;
}

static void add_execution(struct cores_reader *reader, uint32_t number,
                          const struct device_usage *usage, const struct device_prepared *prepared)
{
    struct device_core *core = reader->core;
    struct device_execution *execution = &core->executions[number];
    core->usage.window_ps = usage->window_ps;
    for (unsigned k = 0; k < DEVICE_SERIES; k++) {
        const device_points *from = &usage->series[k];
        device_points *to = &core->usage.series[k];
        if (from->count > 0) {
            array_reserve(to, to->count + from->count);
            memcpy(to->items + to->count, from->items, from->count * sizeof *from->items);
            to->count += from->count;
        }
        if (is_shown((enum device_series_kind)k))
            count_one(&reader->counting, DEVICE_LANE_SERIES, k, 0, from->count);
    }
    count_execution(&reader->counting, execution);
    if (core->scratchpad)
        count_one(&reader->counting, DEVICE_LANE_SCRATCHPAD, 0, 0, core->scratchpad[number].count);
    end_execution(&reader->counting, number);
    device_analysis_add(core->analysis, execution, prepared);
    pack_execution(core, execution);
}

static bool read_execution(void *context, size_t index, unsigned worker)
{
    struct cores_reader *reader = context;
    const struct device_profile *profile = reader->core->profile;
    struct device_execution *execution = &reader->core->executions[index];
    struct device_usage usage = {0};
    struct device_prepared prepared = {0};
    device_read_execution(profile, (uint32_t)index, reader->pool, execution);
    device_usage_add(&usage, reader->trackers[worker], profile, execution);
    track_memory(reader->core, (uint32_t)index, &usage);
    device_prepare(&prepared, profile, execution);
    if (sequencer_wait(&reader->sequencer, index)) {
        add_execution(reader, (uint32_t)index, &usage, &prepared);
        sequencer_pass(&reader->sequencer);
    }
    device_usage_free(&usage);
    device_prepared_free(&prepared);
    return true;
}

/* Several executions are read in parallel, one alone uses the pool inside itself. The sequencer
 * makes counts and analysis add up in order, so the result does not depend on threads. */
static void read_core(struct device_core *core, struct pool *pool)
{
    uint32_t slots = slot_count(core->profile->program);
    uint32_t count = device_execution_count(core->profile);
    struct cores_reader reader = {.core = core,
                                  .pool = count > 1 ? NULL : pool,
                                  .counting = {.core = core,
                                               .now = mem_zeroed(slots, sizeof(uint64_t)),
                                               .before = mem_zeroed(slots, sizeof(uint64_t))}};
    core->executions = mem_zeroed(count, sizeof *core->executions);
    core->execution_count = count;
    if (core->tracks_memory)
        core->scratchpad = mem_zeroed(count, sizeof *core->scratchpad);
    core->analysis = mem_alloc(sizeof *core->analysis);
    device_analysis_begin(core->analysis, core->profile);
    unsigned workers = pool_workers(pool);
    reader.trackers = mem_alloc(workers * sizeof *reader.trackers);
    for (unsigned i = 0; i < workers; i++)
        reader.trackers[i] = device_tracker_create();
    sequencer_init(&reader.sequencer);
    if (count == 1)
        read_execution(&reader, 0, 0);
    else
        pool_run(pool, count, read_execution, &reader);
    sequencer_destroy(&reader.sequencer);
    for (unsigned i = 0; i < workers; i++)
        device_tracker_free(reader.trackers[i]);
    mem_free(reader.trackers);
    make_lanes(core, reader.counting.before);
    device_analysis_end(core->analysis);
    mem_free(reader.counting.now);
    mem_free(reader.counting.before);
}

void device_cores_read(struct device_cores *cores, struct pool *pool)
{
    struct device_core *core;
    align_executions(cores);
    array_each (core, cores)
        read_core(core, pool);
}

/* Lists of packed executions live in the slabs. The profile goes last: the analysis points into
 * it. */
void device_cores_free(struct device_cores *cores)
{
    struct device_core *core;
    array_each (core, cores) {
        for (uint32_t i = 0; i < core->execution_count; i++)
            device_execution_free(&core->executions[i]);
        for (size_t i = 0; i < core->slabs.count; i++)
            mem_free(core->slabs.items[i]);
        array_free(&core->slabs);
        for (uint32_t i = 0; core->scratchpad && i < core->execution_count; i++)
            array_free(&core->scratchpad[i]);
        mem_free(core->scratchpad);
        mem_free(core->executions);
        device_usage_free(&core->usage);
        if (core->analysis)
            device_analysis_free(core->analysis);
        mem_free(core->analysis);
        array_free(&core->lanes);
        array_free(&core->parts);
        mem_free(core->lane_of_slot);
        mem_free(core->neff_path);
        mem_free(core->ntff_path);
        device_close(core->profile);
    }
    array_free(cores);
}

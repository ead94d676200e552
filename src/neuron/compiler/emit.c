/*
 * Instructions, DMA blocks and their waits.
 */
#include "neuron/compiler/emit.h"

#include <inttypes.h>
#include <stdio.h>

static const uint32_t first_slot[ENGINE_COUNT + 1] = {
    [ENGINE_SYNC] = ENGINE_COUNT,
    [ENGINE_GPSIMD] = ENGINE_COUNT + SLOTS_SYNC,
    [ENGINE_SCALAR] = ENGINE_COUNT + SLOTS_SYNC + SLOTS_GPSIMD,
    [ENGINE_COUNT] = ENGINE_COUNT + SLOTS_SYNC + SLOTS_GPSIMD + SLOTS_SCALAR,
};
static const uint32_t slot_count[ENGINE_COUNT + 1] = {
    [ENGINE_SYNC] = SLOTS_SYNC,
    [ENGINE_GPSIMD] = SLOTS_GPSIMD,
    [ENGINE_SCALAR] = SLOTS_SCALAR,
    [ENGINE_COUNT] = SLOTS_COLLECTIVE,
};

void clock_merge(struct clock *clock, const struct clock *other)
{
    for (int i = 0; i < TIMELINES; i++)
        clock->at[i] = clock->at[i] > other->at[i] ? clock->at[i] : other->at[i];
}

void emit_fail(struct emit *emit, const char *text)
{
    if (!emit->failed)
        error_set(&emit->error, "%s", text);
    emit->failed = true;
}

void emit_fail_large(struct emit *emit)
{
    char text[ERROR_TEXT_SIZE];
    snprintf(text, sizeof text,
             "the program would have more than %" PRIu64
             " instructions and transfers; the model has too "
             "many operations, or tensors that are too large",
             emit->limit);
    emit_fail(emit, text);
}

/* What a timeline's step knows, including itself. */
static void learn(const struct emit *emit, struct clock *clock, uint32_t timeline, uint32_t step)
{
    const struct knowledge *point = &emit->points[timeline].items[step - 1];
    clock_merge(clock, &emit->snapshots.items[point->snapshot]);
    if (clock->at[point->engine] < point->step)
        clock->at[point->engine] = point->step;
    if (clock->at[timeline] < step)
        clock->at[timeline] = step;
}

static bool knows(const struct emit *emit, uint32_t timeline, uint32_t step, uint32_t other,
                  uint32_t wanted)
{
    const struct knowledge *point = &emit->points[timeline].items[step - 1];
    if (emit->snapshots.items[point->snapshot].at[other] >= wanted)
        return true;
    return point->engine == other && point->step >= wanted;
}

/* Appends an instruction; its step is the list's new length. */
static uint32_t append(struct emit *emit, enum engine engine, const struct instruction *instruction)
{
    if (++emit->count > emit->limit)
        emit_fail_large(emit);
    *array_push(&emit->code[engine]) = *instruction;
    uint32_t step = (uint32_t)emit->code[engine].count;
    if (emit->known_snapshot[engine] == IR_NONE) {
        emit->known_snapshot[engine] = (uint32_t)emit->snapshots.count;
        *array_push(&emit->snapshots) = emit->known[engine];
    }
    *array_push(&emit->points[engine]) =
        (struct knowledge){emit->known_snapshot[engine], engine, step};
    emit->known[engine].at[engine] = step;
    return step;
}

static struct instruction plain(const struct emit *emit, enum opcode opcode)
{
    return (struct instruction){
        .opcode = (uint8_t)opcode,
        .wait_semaphore = NO_SEMAPHORE,
        .update_semaphore = NO_SEMAPHORE,
        .origin = emit->origin,
    };
}

static void wait_for(struct emit *emit, enum engine engine, struct instruction *instruction,
                     uint32_t timeline, uint32_t step)
{
    instruction->wait_semaphore = (uint16_t)timeline;
    instruction->wait_value = step; /* emit_finish makes it the semaphore's value */
    learn(emit, &emit->known[engine], timeline, step);
    emit->known_snapshot[engine] = IR_NONE;
}

/* Steps of `need` that the engine does not know to be complete, without those that others imply. */
static uint32_t unknown(const struct emit *emit, enum engine engine, const struct clock *need,
                        uint32_t pending[static TIMELINES])
{
    uint32_t all[TIMELINES], count = 0, kept = 0;
    for (uint32_t i = 0; i < TIMELINES; i++)
        if (i != engine && need->at[i] > emit->known[engine].at[i])
            all[count++] = i;
    for (uint32_t i = 0; i < count; i++) {
        bool is_implied = false;
        for (uint32_t j = 0; j < count && !is_implied; j++)
            is_implied = j != i && knows(emit, all[j], need->at[all[j]], all[i], need->at[all[i]]);
        if (!is_implied)
            pending[kept++] = all[i];
    }
    return kept;
}

static uint32_t emit_instruction(struct emit *emit, enum engine engine,
                                 struct instruction instruction, const struct clock *need)
{
    uint32_t pending[TIMELINES];
    uint32_t count = unknown(emit, engine, need, pending);
    for (uint32_t i = 0; i + 1 < count; i++) {
        struct instruction event = plain(emit, OP_EVENT_SEMAPHORE);
        wait_for(emit, engine, &event, pending[i], need->at[pending[i]]);
        append(emit, engine, &event);
    }
    if (count > 0)
        wait_for(emit, engine, &instruction, pending[count - 1], need->at[pending[count - 1]]);
    return append(emit, engine, &instruction);
}

static void need_of_uses(struct clock *need, const struct uses *uses)
{
    for (size_t i = 0; i < sizeof uses->read / sizeof *uses->read; i++)
        if (uses->read[i])
            clock_merge(need, &uses->read[i]->write);
    for (size_t i = 0; i < sizeof uses->write / sizeof *uses->write; i++)
        if (uses->write[i]) {
            clock_merge(need, &uses->write[i]->before);
            if (!uses->is_part)
                clock_merge(need, &uses->write[i]->write);
            clock_merge(need, &uses->write[i]->read);
        }
}

static void mark_uses(const struct uses *uses, uint32_t timeline, uint32_t step)
{
    for (size_t i = 0; i < sizeof uses->read / sizeof *uses->read; i++)
        if (uses->read[i])
            uses->read[i]->read.at[timeline] = step;
    for (size_t i = 0; i < sizeof uses->write / sizeof *uses->write; i++)
        if (uses->write[i])
            uses->write[i]->write.at[timeline] = step;
}

void emit_compute(struct emit *emit, enum engine engine, const struct instruction *instruction,
                  const struct uses *uses)
{
    struct clock need = {0};
    need_of_uses(&need, uses);
    struct instruction copy = *instruction;
    copy.wait_semaphore = copy.update_semaphore = NO_SEMAPHORE;
    copy.origin = emit->origin;
    mark_uses(uses, engine, emit_instruction(emit, engine, copy, &need));
    const struct operand *measured =
        copy.opcode == OP_REDUCE || copy.dst.memory == MEMORY_NONE ? &copy.src[0] : &copy.dst;
    uint64_t elements = 64; /* about the fixed cost of an instruction */
    elements +=
        (uint64_t)measured->size[0] * measured->size[1] * measured->size[2] * measured->size[3];
    emit->work[engine] += elements;
}

/* A slot whose last use is known to be complete, otherwise the least recently used one. */
static uint32_t take_slot(struct emit *emit, enum engine engine, uint32_t pool, struct clock *need)
{
    uint32_t first = first_slot[pool], count = slot_count[pool], chosen = emit->next_slot[pool];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = (emit->next_slot[pool] + i) % count;
        if (emit->points[first + slot].count <= emit->known[engine].at[first + slot]) {
            chosen = slot;
            break;
        }
    }
    emit->next_slot[pool] = (chosen + 1) % count;
    uint32_t timeline = first + chosen, last = (uint32_t)emit->points[timeline].count;
    if (need->at[timeline] < last)
        need->at[timeline] = last;
    return timeline;
}

static void need_of_hbm(struct clock *need, const struct hbm_use *use, bool is_write)
{
    const struct storage *storage = use->storage;
    if (!storage)
        return;
    if (is_write)
        clock_merge(need, &storage->before);
    if (is_write && !use->is_ordered)
        return;
    const struct hbm_write *write;
    array_each (write, &storage->writes)
        if (write->first < use->end && use->first < write->end &&
            need->at[write->timeline] < write->step)
            need->at[write->timeline] = write->step;
}

static void mark_hbm(const struct hbm_use *use, bool is_write, uint32_t timeline, uint32_t step)
{
    if (!use->storage)
        return;
    use->storage->all.at[timeline] = step;
    use->storage->is_read |= !is_write;
    if (is_write)
        *array_push(&use->storage->writes) =
            (struct hbm_write){use->first, use->end, timeline, step};
}

/* Step of a slot that the engine's last instruction started. */
static uint32_t start_slot(struct emit *emit, enum engine engine, uint32_t timeline)
{
    *array_push(&emit->points[timeline]) = emit->points[engine].items[emit->code[engine].count - 1];
    return (uint32_t)emit->points[timeline].count;
}

/* One queue per engine and kind; inputs and outputs share one, whose kind is that of its first use.
 * Created when first needed. */
static uint32_t queue_of(struct emit *emit, enum engine engine, const char *kind)
{
    char name[64];
    bool is_io = strcmp(kind, "Input") == 0 || strcmp(kind, "Output") == 0;
    snprintf(name, sizeof name, "q%s%s0", hardware_engine_name(engine), is_io ? "IO" : kind);
    for (uint32_t i = 0; i < emit->queues.count; i++)
        if (strcmp(emit->queues.items[i].name, name) == 0)
            return i;
    enum queue_kind type = QUEUE_DATA;
    if (strcmp(kind, "Input") == 0)
        type = QUEUE_IN;
    else if (strcmp(kind, "Output") == 0)
        type = QUEUE_OUT;
    else if (strcmp(kind, "Embedding") == 0)
        type = QUEUE_EMBEDDING;
    else if (strcmp(kind, "Dynamic") == 0)
        type = QUEUE_DYNAMIC;
    *array_push(&emit->queues) = (struct dma_queue){
        .name = arena_copy_text(&emit->memory, name, strlen(name)),
        .kind = (uint8_t)type,
        .engine = (uint8_t)engine,
        .rings = DMA_ENGINES,
    };
    return (uint32_t)emit->queues.count - 1;
}

void emit_dma(struct emit *emit, enum engine engine, const char *kind, uint32_t first,
              const struct uses *uses, const struct hbm_use *from, const struct hbm_use *to)
{
    struct clock need = {0};
    need_of_uses(&need, uses);
    need_of_hbm(&need, from, false);
    need_of_hbm(&need, to, true);
    uint32_t timeline = take_slot(emit, engine, engine, &need);
    struct instruction trigger = plain(emit, OP_DMA_TRIGGER);
    trigger.index = (uint32_t)emit->blocks.count;
    emit_instruction(emit, engine, trigger, &need);
    emit->count += emit->descriptors.count - first;
    *array_push(&emit->blocks) = (struct dma_block){
        .first = first,
        .count = (uint32_t)emit->descriptors.count - first,
        .queue = queue_of(emit, engine, kind),
        .semaphore = (uint16_t)timeline,
        .increment = 1,
    };
    uint32_t step = start_slot(emit, engine, timeline);
    mark_uses(uses, timeline, step);
    mark_hbm(from, false, timeline, step);
    mark_hbm(to, true, timeline, step);
}

void emit_collective(struct emit *emit, const struct collective *collective, struct storage *from,
                     struct storage *to)
{
    struct clock need = {0};
    const struct hbm_use input = {from, 0, from->bytes, false}, output = {to, 0, to->bytes, true};
    need_of_hbm(&need, &input, false);
    need_of_hbm(&need, &output, true);
    uint32_t timeline = take_slot(emit, ENGINE_GPSIMD, ENGINE_COUNT, &need);
    struct instruction trigger = plain(emit, OP_TRIGGER_COLLECTIVE);
    trigger.index = (uint32_t)emit->collectives.count;
    emit_instruction(emit, ENGINE_GPSIMD, trigger, &need);
    struct collective *copy = array_push(&emit->collectives);
    *copy = *collective;
    copy->semaphore = (uint16_t)timeline;
    copy->increment = 1;
    uint32_t step = start_slot(emit, ENGINE_GPSIMD, timeline);
    mark_hbm(&input, false, timeline, step);
    mark_hbm(&output, true, timeline, step);
}

/* Steps that others wait for get an update; a wait for a step becomes a wait for the number of
 * updates up to it. */
static void number_engine_steps(struct emit *emit)
{
    uint32_t *updates[ENGINE_COUNT];
    for (int e = 0; e < ENGINE_COUNT; e++)
        updates[e] = mem_zeroed(emit->code[e].count + 1, sizeof *updates[e]);
    for (int e = 0; e < ENGINE_COUNT; e++) {
        const struct instruction *in;
        array_each (in, &emit->code[e])
            if (in->wait_semaphore < ENGINE_COUNT)
                updates[in->wait_semaphore][in->wait_value] = 1;
    }
    for (int e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 1; i <= emit->code[e].count; i++) {
            struct instruction *in = &emit->code[e].items[i - 1];
            if (updates[e][i]) {
                in->update_semaphore = (uint16_t)e;
                in->update_value = 1;
            }
            updates[e][i] += updates[e][i - 1];
        }
    for (int e = 0; e < ENGINE_COUNT; e++) {
        struct instruction *in;
        array_each (in, &emit->code[e])
            if (in->wait_semaphore < ENGINE_COUNT)
                in->wait_value = updates[in->wait_semaphore][in->wait_value];
    }
    for (int e = 0; e < ENGINE_COUNT; e++)
        mem_free(updates[e]);
}

void emit_finish(struct emit *emit)
{
    struct clock all = {0};
    for (uint32_t i = 0; i < TIMELINES; i++)
        all.at[i] = (uint32_t)emit->points[i].count;
    emit->origin = 0;
    struct instruction stop = plain(emit, OP_NOTIFY);
    stop.index = 1;
    emit_instruction(emit, ENGINE_SYNC, stop, &all);
    struct instruction clear = plain(emit, OP_SEMAPHORE_RANGE_CLEAR);
    clear.count = TIMELINES;
    append(emit, ENGINE_SYNC, &clear);
    number_engine_steps(emit);
}

void emit_init(struct emit *emit, const struct core_hardware *hardware, uint64_t limit)
{
    memset(emit, 0, sizeof *emit);
    emit->hardware = hardware;
    emit->limit = limit;
    for (int i = 0; i < ENGINE_COUNT; i++)
        emit->known_snapshot[i] = IR_NONE;
    memset(array_push(&emit->epochs), 0, sizeof(struct epoch)); /* of space never used */
    emit->sbuf.granules = hardware->sbuf_bytes / GRANULE;
    emit->psum.granules = PSUM_BANKS;
    struct instruction start = plain(emit, OP_NOTIFY);
    append(emit, ENGINE_SYNC, &start);
}

void emit_free(struct emit *emit)
{
    for (int i = 0; i < ENGINE_COUNT; i++)
        array_free(&emit->code[i]);
    for (int i = 0; i < TIMELINES; i++)
        array_free(&emit->points[i]);
    array_free(&emit->descriptors);
    array_free(&emit->blocks);
    array_free(&emit->queues);
    array_free(&emit->variables);
    array_free(&emit->collectives);
    array_free(&emit->snapshots);
    array_free(&emit->epochs);
    arena_free(&emit->memory);
}

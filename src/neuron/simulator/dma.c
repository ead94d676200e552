/*
 * The DMA engines: when transfers start and end. transfer.c moves the data.
 */
#include "neuron/simulator/dma.h"

#include "neuron/simulator/notify.h"
#include "neuron/simulator/semaphores.h"
#include "neuron/simulator/timing.h"
#include "neuron/simulator/transfer.h"

#include "base/base.h"

#include <string.h>

void dma_prepare(struct core *core)
{
    struct dma_state *dma = &core->dma;
    const struct core_program *program = core->program;
    uint32_t sharing = core->options.cores_on_stack ? core->options.cores_on_stack : 1;
    for (unsigned i = 0; i < DMA_ENGINES; i++) {
        struct dma_engine *engine = &dma->engines[i];
        engine->head = engine->count = 0;
        engine->is_busy = engine->is_scheduled = false;
    }
    dma->runs.count = 0;
    dma->free_run = 0;
    dma->hbm_free = 0;
    dma->hbm_bytes_per_us = core->hardware->hbm_bytes_per_us / sharing;
    memset(dma->dge_free, 0, sizeof dma->dge_free);
    mem_free(dma->next_ring);
    mem_free(dma->costs);
    dma->next_ring = mem_zeroed(program->queue_count, sizeof *dma->next_ring);
    dma->costs = mem_zeroed(program->descriptor_count, sizeof *dma->costs);
}

void dma_free(struct core *core)
{
    for (unsigned i = 0; i < DMA_ENGINES; i++)
        mem_free(core->dma.engines[i].items);
    array_free(&core->dma.runs);
    mem_free(core->dma.next_ring);
    mem_free(core->dma.costs);
}

/* When the descriptors of a block are ready: at once, or when they have been generated. */
static uint64_t descriptors_ready(struct core *core, enum engine engine,
                                  const struct dma_block *block)
{
    bool dynamic = false;
    uint64_t indices = 0;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct dma_descriptor *descriptor = &core->program->descriptors[block->first + i];
        dynamic |= dma_is_dynamic(descriptor);
        if (descriptor->indirect != DMA_DIRECT)
            indices += descriptor->indirect == DMA_GATHER ? descriptor->from.size[0]
                                                          : descriptor->to.size[0];
    }
    if (!dynamic)
        return core->now;
    /* Gathers, scatters and the second generation have no hardware for it. */
    bool is_software = indices > 0 || core->hardware->version < 3;
    uint64_t *generator = &core->dma.dge_free[is_software ? 2 : engine == ENGINE_SYNC ? 0 : 1];
    uint64_t begin = core->now > *generator ? core->now : *generator;
    *generator = begin + core_ns(core, DGE_NS) +
                 indices * DGE_INDEX_CYCLES * core->cycle_ticks[ENGINE_GPSIMD];
    return *generator;
}

static uint32_t new_run(struct dma_state *dma)
{
    if (dma->free_run == 0) {
        (void)array_push(&dma->runs);
        return (uint32_t)dma->runs.count - 1;
    }
    uint32_t index = dma->free_run - 1;
    dma->free_run = dma->runs.items[index].next;
    return index;
}

static void enqueue(struct dma_engine *engine, const struct queued_transfer *transfer)
{
    if (engine->count == engine->capacity) {
        size_t capacity = engine->capacity ? 2 * engine->capacity : 64;
        struct queued_transfer *items = mem_alloc(capacity * sizeof *items);
        for (size_t i = 0; i < engine->count; i++)
            items[i] = engine->items[(engine->head + i) & (engine->capacity - 1)];
        mem_free(engine->items);
        engine->items = items;
        engine->capacity = capacity;
        engine->head = 0;
    }
    engine->items[(engine->head + engine->count++) & (engine->capacity - 1)] = *transfer;
}

static int64_t register_value(const struct core *core, enum engine engine,
                              const struct dma_end *end)
{
    return end->offset_register == NO_REGISTER
               ? 0
               : core->engines[engine].registers[end->offset_register];
}

/* Registers are read now, at the trigger's time: they may have changed when the transfer begins.
 * Transfers go to the rings in turn, continuing where the queue's last block ended. */
void dma_trigger(struct core *core, enum engine e, uint32_t index)
{
    struct dma_state *dma = &core->dma;
    const struct dma_block *block = &core->program->blocks[index];
    const struct dma_queue *queue = &core->program->queues[block->queue];
    uint64_t ready = descriptors_ready(core, e, block) + core_ns(core, DMA_START_NS);
    uint32_t run = new_run(dma);
    dma->runs.items[run] =
        (struct block_run){.block = index, .remaining = block->count, .engine = (uint8_t)e};
    if (block->count == 0) {
        events_push(&core->events, ready, EVENT_BLOCK_DONE, e, run, 0);
        return;
    }
    for (uint32_t i = 0; i < block->count; i++) {
        const struct dma_descriptor *descriptor = &core->program->descriptors[block->first + i];
        uint8_t *ring = &dma->next_ring[block->queue];
        unsigned unit = (queue->first_ring + *ring) % DMA_ENGINES;
        *ring = (uint8_t)(*ring + 1 < queue->rings ? *ring + 1 : 0);
        struct dma_engine *engine = &dma->engines[unit];
        enqueue(engine, &(struct queued_transfer){
                            .descriptor = block->first + i,
                            .block_run = run,
                            .ready = ready,
                            .from_register = register_value(core, e, &descriptor->from),
                            .to_register = register_value(core, e, &descriptor->to)});
        if (!engine->is_busy && !engine->is_scheduled) {
            engine->is_scheduled = true;
            events_push(&core->events, ready, EVENT_DMA_BEGIN, unit, 0, 0);
        }
    }
}

static const struct transfer_cost *cost_of(struct core *core, uint32_t descriptor)
{
    struct transfer_cost *cost = &core->dma.costs[descriptor];
    if (cost->ticks == 0)
        *cost = descriptor_cost(core, &core->program->descriptors[descriptor]);
    return cost;
}

static bool is_notified(const struct core *core, uint32_t descriptor)
{
    return core_is_profiled(core) && (core->run->dge_notifications ||
                                      !dma_is_dynamic(&core->program->descriptors[descriptor]));
}

static void begin_transfer(struct core *core, unsigned unit)
{
    struct dma_state *dma = &core->dma;
    struct dma_engine *engine = &dma->engines[unit];
    const struct queued_transfer *transfer = &engine->current;
    const struct transfer_cost *cost = cost_of(core, transfer->descriptor);
    uint64_t end = core->now + cost->ticks;
    if (cost->hbm_ticks > 0) {
        dma->hbm_free = (dma->hbm_free > core->now ? dma->hbm_free : core->now) + cost->hbm_ticks;
        end = end > dma->hbm_free ? end : dma->hbm_free;
    }
    core->result->dma_bytes += cost->bytes;
    bool notified = is_notified(core, transfer->descriptor);
    if (notified) {
        uint32_t block = dma->runs.items[transfer->block_run].block;
        notify_at(core, core->now, NOTIFICATION_TRACE_DMA, PHASE_START, unit, transfer->descriptor,
                  block, core->program->blocks[block].queue);
    }
    engine->crc = 0;
    if (core->options.compute)
        transfer_run(core, transfer, notified ? &engine->crc : NULL);
    engine->is_busy = true;
    events_push(&core->events, end, EVENT_DMA_END, unit, 0, 0);
}

void dma_begin(struct core *core, unsigned unit)
{
    struct dma_engine *engine = &core->dma.engines[unit];
    engine->is_scheduled = false;
    const struct queued_transfer *first = &engine->items[engine->head];
    if (first->ready > core->now) {
        engine->is_scheduled = true;
        events_push(&core->events, first->ready, EVENT_DMA_BEGIN, unit, 0, 0);
        return;
    }
    engine->current = *first;
    engine->head = (engine->head + 1) & (engine->capacity - 1);
    engine->count--;
    begin_transfer(core, unit);
}

void dma_end(struct core *core, unsigned unit)
{
    struct dma_state *dma = &core->dma;
    struct dma_engine *engine = &dma->engines[unit];
    const struct queued_transfer *transfer = &engine->current;
    struct block_run *run = &dma->runs.items[transfer->block_run];
    if (is_notified(core, transfer->descriptor))
        notify_at(core, core->now, NOTIFICATION_TRACE_DMA, PHASE_END, unit, transfer->descriptor,
                  engine->crc, core->program->blocks[run->block].queue);
    if (--run->remaining == 0)
        events_push(&core->events, core->now + core_ns(core, DMA_END_NS), EVENT_BLOCK_DONE,
                    run->engine, transfer->block_run, 0);
    engine->is_busy = false;
    if (engine->count > 0)
        dma_begin(core, unit);
}

void dma_block_done(struct core *core, uint32_t index)
{
    struct dma_state *dma = &core->dma;
    struct block_run *run = &dma->runs.items[index];
    const struct dma_block *block = &core->program->blocks[run->block];
    unsigned engine = run->engine;
    run->next = dma->free_run;
    dma->free_run = index + 1;
    if (block->semaphore != NO_SEMAPHORE)
        semaphore_set(
            core, block->semaphore,
            semaphore_updated(core->semaphores[block->semaphore], UPDATE_ADD, block->increment),
            engine, NO_INDEX);
}

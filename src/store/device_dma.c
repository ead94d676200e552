/*
 * DmaPacket, DmaPacketAggregated, DmaQueuesInfo.
 */
#include "store/device_tables.h"

#include <inttypes.h>
#include <stdio.h>

static double rate_of(uint64_t bytes, int64_t start_ps, int64_t end_ps)
{
    return end_ps > start_ps ? (double)bytes * 1e12 / (double)(end_ps - start_ps) : 0;
}

/* Ids of packets: those of a lane are in order of start, as the list is within a DMA engine. */
static int64_t *packet_ids(const struct device_at *at)
{
    size_t count = at->execution->transfers.count, lanes = at->core->lanes.count;
    int64_t *ids = mem_alloc(count * sizeof *ids), *next = mem_alloc(lanes * sizeof *next);
    for (uint32_t i = 0; i < lanes; i++)
        next[i] = at->core->lanes.items[i].kind == DEVICE_LANE_PACKETS ? device_first_id(at, i) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct device_transfer *item = &at->execution->transfers.items[i];
        uint32_t block = at->execution->blocks.items[item->run].block;
        ids[i] = next[device_lane_of(at->core, DEVICE_LANE_PACKETS,
                                     at->program->blocks[block].queue, item->engine)]++;
    }
    mem_free(next);
    return ids;
}

static void put_packets(struct filler *filler, const struct device_at *at)
{
    int64_t *ids = packet_ids(at), *block_ids = device_block_ids(at);
    int64_t index = at->core->profile->spans[at->number].index;
    for (size_t i = 0; i < at->execution->transfers.count && fill_continue(filler); i++) {
        const struct device_transfer *item = &at->execution->transfers.items[i];
        const struct descriptor_facts *facts = &at->core->profile->descriptors[item->descriptor];
        const struct dma_block *block =
            &at->program->blocks[at->execution->blocks.items[item->run].block];
        mem_touched(sizeof *item + 2 * sizeof *ids);
        fill_span(filler, PACKET_START_TS, item->start_ps, item->end_ps - item->start_ps);
        fill_int(filler, PACKET_PCORE_IDX, at->physical_core);
        fill_int(filler, PACKET_ID, ids[i]);
        fill_int(filler, PACKET_PACKET_IDX, item->descriptor - block->first);
        fill_int(filler, PACKET_PACKET_AGGREGATION_ID, block_ids[item->run]);
        fill_int(filler, PACKET_ENGINE_IDX, item->engine);
        fill_int(filler, PACKET_READ_BYTES, (int64_t)facts->read);
        fill_int(filler, PACKET_WRITE_BYTES, (int64_t)facts->written);
        fill_int(filler, PACKET_TRANSFER_BYTES, (int64_t)facts->bytes);
        rows_double(&filler->rows, PACKET_THROUGHPUT,
                    rate_of(facts->bytes, item->start_ps, item->end_ps));
        fill_name(filler, PACKET_QUEUE_TYPE,
                  at->names->queue_types[device_queue_type(at->program, block->queue)]);
        fill_maybe_name(filler, PACKET_VARIABLE,
                        facts->variable == NO_INDEX ? 0 : at->names->variables[facts->variable]);
        fill_name(filler, PACKET_QUEUE_NAME, at->names->queues[block->queue]);
        fill_int(filler, PACKET_QUEUE_IDX, block->queue);
        fill_int(filler, PACKET_CRC, item->crc);
        fill_int(filler, PACKET_EXECUTION_INDEX, index);
        fill_int(filler, PACKET_RANK, at->rank);
    }
    mem_free(ids);
    mem_free(block_ids);
}

bool make_packets(struct profile_maker *maker, struct error *err)
{
    return fill_executions(maker, TABLE_PACKET, put_packets, err);
}

/* Columns of one side of a transfer, in the order of the schema. */
enum side_column {
    SIDE_PARTITIONS,
    SIDE_PARTITION_COUNT,
    SIDE_SHAPE,
    SIDE_OFFSET,
    SIDE_STEPS,
};

/* "[128, 512]": dimensions in use. */
static void put_dimensions(struct filler *filler, size_t column, const struct dma_end *end,
                           bool steps)
{
    char text[256];
    size_t size = 0;
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++) {
        if (end->size[i] == 1 && (i + 1 < DMA_DIMENSIONS || size > 0))
            continue;
        int64_t value = steps ? end->step[i] : (int64_t)end->size[i];
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%" PRId64,
                                 size > 0 ? ", " : "[", value);
    }
    fill_format(filler, column, "%s]", text);
}

/* Of a transfer's first packet; the others go on behind it. */
static void put_side(struct filler *filler, size_t first, const struct dma_end *end)
{
    bool is_sbuf = end->memory == MEMORY_SBUF;
    if (is_sbuf)
        fill_format(filler, first + SIDE_PARTITIONS, "%u-%u", end->partition,
                    end->partition + end->size[0] - 1);
    else
        fill_format(filler, first + SIDE_PARTITIONS, "%s", "");
    fill_int(filler, first + SIDE_PARTITION_COUNT, is_sbuf ? (int64_t)end->size[0] : 0);
    put_dimensions(filler, first + SIDE_SHAPE, end, false);
    fill_format(filler, first + SIDE_OFFSET, "%" PRIu64, end->offset);
    put_dimensions(filler, first + SIDE_STEPS, end, true);
}

/* By run: the instruction whose wait its semaphore ended; ids, or -1. */
static int64_t *completions_of(const struct device_at *at, int64_t *const ids[ENGINE_COUNT])
{
    const struct device_execution *execution = at->execution;
    int64_t *completions = mem_alloc(execution->blocks.count * sizeof *completions);
    struct device_dependencies dependencies;
    for (size_t i = 0; i < execution->blocks.count; i++)
        completions[i] = -1;
    device_dependencies_find(&dependencies, at->core->profile, execution);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (size_t i = execution->instructions[e].count; i-- > 0;) {
            uint32_t update = dependencies.met_by[e][i];
            if (update != NO_INDEX && execution->updates.items[update].block != NO_INDEX)
                completions[execution->updates.items[update].block] = ids[e][i];
        }
    device_dependencies_free(&dependencies);
    return completions;
}

static void put_block_work(struct filler *filler, const struct device_at *at,
                           const struct device_block *run)
{
    const struct dma_block *block = &at->program->blocks[run->block];
    const struct dma_descriptor *descriptor = &at->program->descriptors[block->first];
    const struct descriptor_facts *facts = &at->core->profile->descriptors[block->first];
    uint64_t read = 0, written = 0;
    for (uint32_t i = 0; i < block->count; i++) {
        read += at->core->profile->descriptors[block->first + i].read;
        written += at->core->profile->descriptors[block->first + i].written;
    }
    bool is_cast =
        descriptor->operation == DMA_COPY && descriptor->from.dtype != descriptor->to.dtype;
    fill_int(filler, TRANSFER_BLOCK_ID, run->block);
    fill_int(filler, TRANSFER_QUEUE_IDX, block->queue);
    fill_name(filler, TRANSFER_QUEUE_NAME, at->names->queues[block->queue]);
    fill_name(filler, TRANSFER_QUEUE_TYPE,
              at->names->queue_types[device_queue_type(at->program, block->queue)]);
    if (is_cast)
        fill_word(filler, TRANSFER_OP, TEXT("cast"));
    else
        fill_name(filler, TRANSFER_OP, at->names->dma_operations[descriptor->operation]);
    fill_name(filler, TRANSFER_VARIABLE,
              facts->variable == NO_INDEX ? 0 : at->names->variables[facts->variable]);
    fill_int(filler, TRANSFER_READ_BYTES, (int64_t)read);
    fill_int(filler, TRANSFER_WRITE_BYTES, (int64_t)written);
    fill_int(filler, TRANSFER_TRANSFER_BYTES, (int64_t)run->bytes);
    rows_double(&filler->rows, TRANSFER_THROUGHPUT,
                rate_of(run->bytes, run->start_ps, run->end_ps));
    fill_name(filler, TRANSFER_SOURCE, at->names->memories[descriptor->from.memory]);
    fill_name(filler, TRANSFER_DEST, at->names->memories[descriptor->to.memory]);
    if (block->semaphore == NO_SEMAPHORE)
        fill_format(filler, TRANSFER_SEMAPHORE_ID, "%s", "");
    else
        fill_format(filler, TRANSFER_SEMAPHORE_ID, "%u", block->semaphore);
    put_side(filler, TRANSFER_READ_SBUF_PARTITIONS, &descriptor->from);
    put_side(filler, TRANSFER_WRITE_SBUF_PARTITIONS, &descriptor->to);
}

static void put_transfers(struct filler *filler, const struct device_at *at)
{
    static const size_t unknown[] = {
        TRANSFER_MODULAR_FLOW_FUNCTION, TRANSFER_TRANSPOSE_ELEMENT_SIZE,
        TRANSFER_TRANSPOSE_SHAPE,       TRANSFER_TRANSPOSE_FROM_SHAPE,
        TRANSFER_TRANSPOSE_TO_SHAPE,    TRANSFER_TRANSPOSE_UNROLL_FACTOR};
    int64_t *ids[ENGINE_COUNT], *block_ids = device_block_ids(at);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        ids[e] = device_instruction_ids(at, (enum engine)e);
    int64_t *completions = completions_of(at, ids);
    for (size_t i = 0; i < at->execution->blocks.count && fill_continue(filler); i++) {
        const struct device_block *run = &at->execution->blocks.items[i];
        mem_touched(sizeof *run);
        fill_span(filler, TRANSFER_START_TS, run->start_ps, run->end_ps - run->start_ps);
        fill_int(filler, TRANSFER_ID, block_ids[i]);
        fill_int(filler, TRANSFER_PCORE_IDX, at->physical_core);
        put_block_work(filler, at, run);
        for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++)
            fill_null(filler, unknown[k]);
        fill_int(filler, TRANSFER_IS_TRANSPOSE_MODE, false);
        fill_index(filler, TRANSFER_TRIGGER, run->trigger != NO_INDEX,
                   run->trigger != NO_INDEX ? (uint64_t)ids[run->trigger_engine][run->trigger] : 0);
        fill_index(filler, TRANSFER_COMPLETION, completions[i] >= 0, (uint64_t)completions[i]);
        fill_int(filler, TRANSFER_EXECUTION_INDEX, at->core->profile->spans[at->number].index);
        fill_int(filler, TRANSFER_RANK, at->rank);
    }
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        mem_free(ids[e]);
    mem_free(completions);
    mem_free(block_ids);
}

bool make_transfers(struct profile_maker *maker, struct error *err)
{
    return fill_executions(maker, TABLE_TRANSFER, put_transfers, err);
}

static void put_queues(struct filler *filler, const struct device_at *at)
{
    for (uint32_t i = 0; i < at->program->queue_count && fill_continue(filler); i++)
        for (uint32_t ring = 0; ring < at->program->queues[i].rings; ring++) {
            fill_name(filler, QUEUE_INFO_NAME, at->names->queues[i]);
            fill_name(filler, QUEUE_INFO_TYPE,
                      at->names->queue_types[device_queue_type(at->program, i)]);
            fill_int(filler, QUEUE_INFO_PCORE_IDX, at->physical_core);
            fill_int(filler, QUEUE_INFO_IDX, ring);
            fill_int(filler, QUEUE_INFO_ENGINE_IDX,
                     (at->program->queues[i].first_ring + ring) % DMA_ENGINES);
            fill_int(filler, QUEUE_INFO_AXI_PORT, 0);
            fill_int(filler, QUEUE_INFO_DRAM_CHANNEL, 0);
            fill_int(filler, QUEUE_INFO_RANK, at->rank);
        }
}

bool make_queues(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_QUEUE_INFO, put_queues, err);
}

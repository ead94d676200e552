/*
 * DmaPacket, DmaPacketAggregated, DmaQueuesInfo.
 */
#include "store/tables/device_tables.h"

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

/* Columns that differ between executions that are alike, of some packets. */
static void put_packet_times(struct filler *filler, const struct device_at *at, const int64_t *ids,
                             size_t first, size_t count)
{
    struct rows *rows = &filler->rows;
    int64_t *start = rows_numbers(rows, PACKET_START_TS, count);
    int64_t *end = rows_numbers(rows, PACKET_END_TS, count);
    int64_t *duration = rows_numbers(rows, PACKET_DURATION_NS, count);
    int64_t *run = rows_numbers(rows, PACKET_PACKET_AGGREGATION_ID, count);
    int64_t *throughput = rows_numbers(rows, PACKET_THROUGHPUT, count);
    int64_t *crc = rows_numbers(rows, PACKET_CRC, count);
    for (size_t i = 0; i < count; i++) {
        const struct device_transfer *item = &at->execution->transfers.items[first + i];
        const struct descriptor_facts *facts = &at->core->profile->descriptors[item->descriptor];
        double rate = rate_of(facts->bytes, item->start_ps, item->end_ps);
        start[i] = whole_ns(item->start_ps);
        end[i] = whole_ns(item->end_ps);
        duration[i] = end[i] - start[i];
        run[i] = at->ids.blocks[item->run];
        memcpy(&throughput[i], &rate, sizeof rate);
        crc[i] = item->crc;
    }
    memcpy(rows_numbers(rows, PACKET_ID, count), ids + first, count * sizeof *ids);
    rows_fill(rows, PACKET_EXECUTION_INDEX, at->core->profile->spans[at->number].index, count);
    mem_touched(count * (sizeof *at->execution->transfers.items + sizeof *ids));
}

/* The other columns. */
static void put_packet_work(struct filler *filler, const struct device_at *at, size_t first,
                            size_t count)
{
    struct rows *rows = &filler->rows;
    int64_t *number = rows_numbers(rows, PACKET_PACKET_IDX, count);
    int64_t *engine = rows_numbers(rows, PACKET_ENGINE_IDX, count);
    int64_t *read = rows_numbers(rows, PACKET_READ_BYTES, count);
    int64_t *written = rows_numbers(rows, PACKET_WRITE_BYTES, count);
    int64_t *bytes = rows_numbers(rows, PACKET_TRANSFER_BYTES, count);
    int64_t *queue = rows_numbers(rows, PACKET_QUEUE_IDX, count);
    uint32_t *type = rows_names(rows, PACKET_QUEUE_TYPE, count);
    uint32_t *name = rows_names(rows, PACKET_QUEUE_NAME, count);
    for (size_t i = 0; i < count; i++) {
        const struct device_transfer *item = &at->execution->transfers.items[first + i];
        const struct descriptor_facts *facts = &at->core->profile->descriptors[item->descriptor];
        const struct dma_block *block =
            &at->program->blocks[at->execution->blocks.items[item->run].block];
        number[i] = item->descriptor - block->first;
        engine[i] = item->engine;
        read[i] = (int64_t)facts->read;
        written[i] = (int64_t)facts->written;
        bytes[i] = (int64_t)facts->bytes;
        queue[i] = block->queue;
        type[i] = at->names->queue_types[device_queue_type(at->program, block->queue)];
        name[i] = at->names->queues[block->queue];
        fill_maybe_name(filler, PACKET_VARIABLE,
                        facts->variable == NO_INDEX ? 0 : at->names->variables[facts->variable]);
    }
    rows_fill(rows, PACKET_PCORE_IDX, at->physical_core, count);
    rows_fill(rows, PACKET_RANK, at->rank, count);
}

static void put_all_packets(struct filler *filler, const struct device_at *at, const int64_t *ids)
{
    enum { TOGETHER = 4096 };
    size_t count = at->execution->transfers.count, some;
    fill_mark_begin(filler);
    for (size_t first = 0; first < count && fill_continue(filler); first += some) {
        some = count - first < TOGETHER ? count - first : TOGETHER;
        put_packet_times(filler, at, ids, first, some);
        put_packet_work(filler, at, first, some);
    }
    fill_mark_end(filler);
}

void put_packets(struct filler *filler, const struct device_at *at)
{
    static const size_t repeated[] = {PACKET_PCORE_IDX,  PACKET_PACKET_IDX,  PACKET_ENGINE_IDX,
                                      PACKET_READ_BYTES, PACKET_WRITE_BYTES, PACKET_TRANSFER_BYTES,
                                      PACKET_QUEUE_TYPE, PACKET_VARIABLE,    PACKET_QUEUE_NAME,
                                      PACKET_QUEUE_IDX,  PACKET_RANK};
    int64_t *ids = packet_ids(at);
    if (at->is_alike && fill_repeatable(filler) > 0) {
        put_packet_times(filler, at, ids, 0, at->execution->transfers.count);
        for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++)
            fill_repeat(filler, repeated[i]);
    } else {
        put_all_packets(filler, at, ids);
    }
    mem_free(ids);
}

/* By run: the instruction whose wait its semaphore ended; ids, or -1. */
static int64_t *completions_of(const struct device_at *at)
{
    const struct device_execution *execution = at->execution;
    int64_t *completions = mem_alloc(execution->blocks.count * sizeof *completions);
    for (size_t i = 0; i < execution->blocks.count; i++)
        completions[i] = -1;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (size_t i = execution->instructions[e].count; i-- > 0;) {
            uint32_t update = at->dependencies->met_by[e][i];
            if (update != NO_INDEX && execution->updates.items[update].block != NO_INDEX)
                completions[execution->updates.items[update].block] = at->ids.instructions[e][i];
        }
    return completions;
}

/* Columns of one side of a transfer, in the order of the schema. */
static void put_side(struct record *record, size_t first, const struct side_names *names,
                     const struct dma_end *end)
{
    record_put(record, first, names->partitions);
    record_put(record, first + 1, end->memory == MEMORY_SBUF ? (int64_t)end->size[0] : 0);
    record_put(record, first + 2, names->shape);
    record_put(record, first + 3, names->offset);
    record_put(record, first + 4, names->steps);
}

static void put_block_work(struct record *record, const struct device_at *at,
                           const struct device_block *run)
{
    const struct dma_block *block = &at->program->blocks[run->block];
    const struct dma_descriptor *descriptor = &at->program->descriptors[block->first];
    const struct block_names *names = &at->names->blocks[run->block];
    const struct block_facts *facts = &at->core->profile->block_facts[run->block];
    record_put(record, TRANSFER_BLOCK_ID, run->block);
    record_put(record, TRANSFER_QUEUE_IDX, block->queue);
    record_put(record, TRANSFER_QUEUE_NAME, at->names->queues[block->queue]);
    record_put(record, TRANSFER_QUEUE_TYPE,
               at->names->queue_types[device_queue_type(at->program, block->queue)]);
    record_put(record, TRANSFER_OP, names->operation);
    record_put(record, TRANSFER_VARIABLE, names->variable);
    record_put(record, TRANSFER_READ_BYTES, (int64_t)facts->read);
    record_put(record, TRANSFER_WRITE_BYTES, (int64_t)facts->written);
    record_put(record, TRANSFER_TRANSFER_BYTES, (int64_t)run->bytes);
    record_put_real(record, TRANSFER_THROUGHPUT, rate_of(run->bytes, run->start_ps, run->end_ps));
    record_put(record, TRANSFER_SOURCE, names->source);
    record_put(record, TRANSFER_DEST, names->target);
    record_put(record, TRANSFER_SEMAPHORE_ID, names->semaphore);
    put_side(record, TRANSFER_READ_SBUF_PARTITIONS, &names->read, &descriptor->from);
    put_side(record, TRANSFER_WRITE_SBUF_PARTITIONS, &names->write, &descriptor->to);
}

void put_transfers(struct filler *filler, const struct device_at *at)
{
    int64_t *completions = completions_of(at);
    for (size_t i = 0; i < at->execution->blocks.count && fill_continue(filler); i++) {
        const struct device_block *run = &at->execution->blocks.items[i];
        struct record *record = fill_record(filler);
        mem_touched(sizeof *run);
        record_put_ends(record, TRANSFER_START_TS, run->start_ps, run->end_ps);
        record_put(record, TRANSFER_ID, at->ids.blocks[i]);
        record_put(record, TRANSFER_PCORE_IDX, at->physical_core);
        put_block_work(record, at, run);
        record_put(record, TRANSFER_IS_TRANSPOSE_MODE, false);
        if (run->trigger != NO_INDEX)
            record_put(record, TRANSFER_TRIGGER,
                       at->ids.instructions[run->trigger_engine][run->trigger]);
        if (completions[i] >= 0)
            record_put(record, TRANSFER_COMPLETION, completions[i]);
        record_put(record, TRANSFER_EXECUTION_INDEX, at->core->profile->spans[at->number].index);
        record_put(record, TRANSFER_RANK, at->rank);
    }
    mem_free(completions);
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

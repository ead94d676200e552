/*
 * What rules look at: gathered from one execution after the other.
 */
#include "analyze/device/findings.h"
#include "analyze/device/intervals.h"

/* Keeps the longest. */
static void keep(struct evidence *evidence, uint32_t number,
                 const struct device_execution *execution, struct device_item item, int64_t from_ps,
                 int64_t to_ps)
{
    if (evidence->to_ps - evidence->from_ps < to_ps - from_ps)
        *evidence = (struct evidence){.from_ps = from_ps,
                                      .to_ps = to_ps,
                                      .item = {.kind = item.kind,
                                               .engine = item.engine,
                                               .index = item.index,
                                               .part = device_item_part(execution, item),
                                               .execution = number}};
}

/* At k/n of the rate, a matmul takes n/k of the time: 1 - k/n of it is lost. */
static void gather_throttling(struct device_analysis *analysis, uint32_t number,
                              const struct device_execution *execution)
{
    struct device_gathered *gathered = &analysis->gathered;
    if (execution->throttles.count == 0)
        return;
    device_intervals active = {0};
    device_active(execution, DEVICE_UNIT_TENSOR, &active);
    size_t first = 0;
    const struct device_throttle *item;
    array_each (item, &execution->throttles) {
        int64_t both_ps = 0;
        while (first < active.count && active.items[first].end_ps <= item->start_ps)
            first++;
        for (size_t i = first; i < active.count && active.items[i].start_ps < item->end_ps; i++) {
            int64_t from_ps = active.items[i].start_ps > item->start_ps ? active.items[i].start_ps
                                                                        : item->start_ps;
            int64_t to_ps =
                active.items[i].end_ps < item->end_ps ? active.items[i].end_ps : item->end_ps;
            both_ps += interval_length(from_ps, to_ps);
        }
        gathered->throttle_lost_ps +=
            (int64_t)((double)both_ps * (FULL_RATE - item->rate) / FULL_RATE);
        keep(&gathered->throttle, number, execution, (struct device_item){0}, item->start_ps,
             item->end_ps);
    }
    array_free(&active);
}

bool device_is_small_dma(const struct descriptor_facts *facts)
{
    return facts->queue_type != DMA_TYPE_INSTRUCTION && facts->bytes > SIGNAL_BYTES &&
           facts->bytes < SMALL_DMA_BYTES;
}

/* One pass over the packets collects for two rules. The ideal time of a small packet is its
 * bytes at the full DMA rate. */
static void gather_packets(struct device_analysis *analysis, uint32_t number,
                           const struct device_execution *execution)
{
    const struct device_profile *profile = analysis->profile;
    struct device_gathered *gathered = &analysis->gathered;
    const struct device_transfer *item;
    array_each (item, &execution->transfers) {
        const struct descriptor_facts *facts = &profile->descriptors[item->descriptor];
        struct device_item run = {.kind = ITEM_BLOCK, .index = item->run};
        int64_t time_ps = interval_length(item->start_ps, item->end_ps);
        if (facts->is_spill_save || facts->is_spill_reload) {
            gathered->spill_ps += time_ps;
            keep(&gathered->spill, number, execution, run, item->start_ps, item->end_ps);
        }
        if (!device_is_small_dma(facts))
            continue;
        int64_t ideal_ps =
            (int64_t)(facts->bytes * UINT64_C(1000000) / profile->hardware->dma_bytes_per_us);
        gathered->small_packets++;
        gathered->small_bytes += facts->bytes;
        gathered->small_ps += time_ps;
        gathered->small_excess_ps += time_ps > ideal_ps ? time_ps - ideal_ps : 0;
        keep(&gathered->small, number, execution, run, item->start_ps, item->end_ps);
    }
}

static void gather_instructions(struct device_analysis *analysis, uint32_t number,
                                const struct device_execution *execution)
{
    const struct core_program *program = analysis->profile->program;
    struct device_gathered *gathered = &analysis->gathered;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < execution->instructions[e].count; i++) {
            const struct device_instruction *item = &execution->instructions[e].items[i];
            const struct instruction *code = &program->code[e][item->pc];
            struct device_item ref = {ITEM_INSTRUCTION, (uint8_t)e, i};
            if (code->opcode == OP_TRANSPOSE) {
                gathered->transpose_ps += interval_length(item->start_ps, item->end_ps);
                keep(&gathered->transpose, number, execution, ref, item->start_ps, item->end_ps);
            }
            analysis->runs[e][item->pc]++;
        }
}

static uint32_t group_of(struct device_analysis *analysis, const struct collective *collective)
{
    uint64_t bytes = collective->input_bytes > collective->output_bytes ? collective->input_bytes
                                                                        : collective->output_bytes;
    uint64_t key = bytes << 4 | collective->kind;
    uint32_t known = idmap_get(&analysis->group_ids, key);
    if (known != IDMAP_NONE)
        return known;
    *array_push(&analysis->groups) = key;
    idmap_put(&analysis->group_ids, key, (uint32_t)analysis->groups.count - 1);
    return (uint32_t)analysis->groups.count - 1;
}

static void gather_collectives(struct device_analysis *analysis, uint32_t number,
                               const struct device_execution *execution)
{
    const struct core_program *program = analysis->profile->program;
    for (uint32_t i = 0; i < execution->collectives.count; i++) {
        const struct device_collective *item = &execution->collectives.items[i];
        *array_push(&analysis->durations) = (struct device_collective_run){
            .group = group_of(analysis, &program->collectives[item->collective]),
            .duration_ps = interval_length(item->start_ps, item->end_ps),
            .evidence = {.from_ps = item->start_ps,
                         .to_ps = item->end_ps,
                         .item = {.kind = ITEM_COLLECTIVE,
                                  .index = i,
                                  .part = item->collective,
                                  .execution = number}}};
    }
}

/* Of the first that failed; the others are counted. */
static void gather_failure(struct device_analysis *analysis, uint32_t number,
                           const struct device_execution *execution)
{
    bool has_error = execution->errors.count > 0;
    if (!has_error && !(execution->has_info && execution->info.status != 0))
        return;
    if (analysis->gathered.failed.count++ > 0)
        return;
    analysis->gathered.failed.info = execution->info;
    analysis->gathered.failed.has_info = execution->has_info;
    analysis->gathered.failed.has_error = has_error;
    if (has_error)
        analysis->gathered.failed.error = execution->errors.items[0];
    struct device_item item = {.kind = has_error ? ITEM_ERROR : ITEM_NONE};
    keep(&analysis->gathered.failed.evidence, number, execution, item, execution->start_ps,
         execution->end_ps);
}

static void gather_path(struct device_analysis *analysis, uint32_t number,
                        const struct device_execution *execution, const struct device_path *path)
{
    struct device_gathered *gathered = &analysis->gathered;
    const struct device_segment *segment;
    array_each (segment, &path->segments) {
        keep(&gathered->waits[segment->wait], number, execution, segment->item, segment->start_ps,
             segment->end_ps);
        if (segment->wait == WAIT_NOT && segment->item.kind == ITEM_INSTRUCTION &&
            segment->item.engine == ENGINE_TENSOR)
            keep(&gathered->matmul, number, execution, segment->item, segment->start_ps,
                 segment->end_ps);
    }
}

void findings_gather(struct device_analysis *analysis, const struct device_execution *execution,
                     const struct device_path *path)
{
    uint32_t number = analysis->sums.executions - 1;
    gather_throttling(analysis, number, execution);
    gather_packets(analysis, number, execution);
    gather_instructions(analysis, number, execution);
    gather_collectives(analysis, number, execution);
    gather_path(analysis, number, execution, path);
    gather_failure(analysis, number, execution);
}

/*
 * What is in SBUF and PSUM: instructions and transfers in order of time write to ranges of the
 * sampled partitions and read from them.
 */
#include "device/device.h"

/* A range of a partition with what was written last. */
struct live {
    uint32_t begin, end;
    int64_t start_ps, last_ps;
    uint32_t item; /* that wrote it */
};

/* In order of address, without overlap. */
typedef ARRAY(struct live) live_list;

/* An instruction or a transfer. */
struct item {
    int64_t start_ps;
    uint32_t index;
    uint8_t engine; /* ENGINE_COUNT: a transfer */
};

struct tracker {
    const struct device_profile *profile;
    const struct device_execution *execution;
    struct item *items;
    size_t count;
    live_list memory[2][SAMPLED_PARTITIONS]; /* SBUF, PSUM */
    device_allocation_visit *visit;
    void *context;
};

/* Bytes of each partition that an operand or an end covers. */
struct range {
    uint32_t begin, end, partition, partitions;
    uint8_t memory;
};

static struct range operand_range(const struct operand *operand)
{
    int64_t low = 0, high = 0;
    for (unsigned i = 0; i < 4; i++) {
        int64_t reach = (int64_t)operand->step[i] * ((int64_t)operand->size[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t bytes = dtype_bytes((enum dtype)operand->dtype);
    return (struct range){.begin = (uint32_t)(operand->offset + low * bytes),
                          .end = (uint32_t)(operand->offset + (high + 1) * bytes),
                          .partition = operand->partition,
                          .partitions = operand->partitions,
                          .memory = operand->memory};
}

static struct range end_range(const struct dma_end *end)
{
    int64_t low = 0, high = 0;
    for (unsigned i = 1; i < DMA_DIMENSIONS; i++) {
        int64_t reach = end->step[i] * ((int64_t)end->size[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t bytes = dtype_bytes((enum dtype)end->dtype);
    int64_t rows = end->step[0] * ((int64_t)end->size[0] - 1);
    return (struct range){.begin = (uint32_t)((int64_t)end->offset + low * bytes),
                          .end = (uint32_t)((int64_t)end->offset + (high + 1) * bytes),
                          .partition = (uint32_t)(end->partition + (rows < 0 ? rows : 0)),
                          .partitions = (uint32_t)(rows < 0 ? -rows : rows) + 1,
                          .memory = end->memory};
}

/* The first range that ends after an address. */
static size_t find_live(const live_list *list, uint32_t begin)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].end <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void tell(const struct tracker *tracker, unsigned memory, unsigned partition,
                 const struct live *live, uint32_t begin, uint32_t end)
{
    const struct item *item = &tracker->items[live->item];
    tracker->visit(tracker->context,
                   &(struct device_allocation){.start_ps = live->start_ps,
                                               .end_ps = live->last_ps,
                                               .begin = begin,
                                               .end = end,
                                               .memory = memory ? MEMORY_PSUM : MEMORY_SBUF,
                                               .partition = (uint8_t)(partition * SAMPLED_STEP),
                                               .is_transfer = item->engine == ENGINE_COUNT,
                                               .engine = item->engine,
                                               .index = item->index});
}

/* Makes room for, or takes away, ranges. */
static struct live *replace(live_list *list, size_t at, size_t removed, size_t added)
{
    size_t behind = list->count - at - removed;
    array_reserve(list, list->count - removed + added);
    memmove(list->items + at + added, list->items + at + removed, behind * sizeof *list->items);
    list->count = list->count - removed + added;
    return list->items + at;
}

static void write_range(struct tracker *tracker, unsigned memory, unsigned partition,
                        const struct range *range, const struct live *written)
{
    live_list *list = &tracker->memory[memory][partition];
    size_t first = find_live(list, range->begin), end = first, kept = 0;
    struct live parts[3]; /* what is left before and behind, with the new one between them */
    struct live behind = {0};
    bool has_behind = false;
    for (; end < list->count && list->items[end].begin < range->end; end++) {
        const struct live *old = &list->items[end];
        uint32_t from = old->begin > range->begin ? old->begin : range->begin;
        uint32_t to = old->end < range->end ? old->end : range->end;
        tell(tracker, memory, partition, old, from, to);
        if (old->begin < range->begin) {
            parts[kept] = *old;
            parts[kept++].end = range->begin;
        }
        if (old->end > range->end) {
            behind = *old;
            behind.begin = range->end;
            has_behind = true;
        }
    }
    parts[kept++] = *written;
    if (has_behind)
        parts[kept++] = behind;
    memcpy(replace(list, first, end - first, kept), parts, kept * sizeof *parts);
}

static void read_range(struct tracker *tracker, unsigned memory, unsigned partition,
                       const struct range *range, int64_t end_ps)
{
    live_list *list = &tracker->memory[memory][partition];
    for (size_t i = find_live(list, range->begin);
         i < list->count && list->items[i].begin < range->end; i++)
        if (end_ps > list->items[i].last_ps)
            list->items[i].last_ps = end_ps;
}

/* One access; written NULL: it reads. */
static void touch(struct tracker *tracker, const struct range *range, const struct live *written,
                  int64_t end_ps)
{
    if (range->memory != MEMORY_SBUF && range->memory != MEMORY_PSUM)
        return;
    unsigned memory = range->memory == MEMORY_PSUM;
    for (unsigned i = 0; i < SAMPLED_PARTITIONS; i++) {
        uint32_t partition = i * SAMPLED_STEP;
        if (partition < range->partition || partition - range->partition >= range->partitions)
            continue;
        if (written)
            write_range(tracker, memory, i, range, written);
        else
            read_range(tracker, memory, i, range, end_ps);
    }
}

static void touch_written(struct tracker *tracker, const struct range *range, uint32_t item,
                          int64_t start_ps, int64_t end_ps)
{
    struct live written = {range->begin, range->end, start_ps, end_ps, item};
    touch(tracker, range, &written, end_ps);
}

static void run_instruction(struct tracker *tracker, uint32_t number)
{
    const struct item *item = &tracker->items[number];
    const struct device_instruction *at =
        &tracker->execution->instructions[item->engine].items[item->index];
    const struct instruction *code = &tracker->profile->program->code[item->engine][at->pc];
    for (unsigned i = 0; i < 3; i++) {
        struct range range = operand_range(&code->src[i]);
        touch(tracker, &range, NULL, at->end_ps);
    }
    struct range range = operand_range(&code->dst);
    if (code->opcode == OP_MATMUL && code->flags & FLAG_ACCUMULATE) /* goes on with what is there */
        touch(tracker, &range, NULL, at->end_ps);
    else
        touch_written(tracker, &range, number, at->start_ps, at->end_ps);
}

static void run_transfer(struct tracker *tracker, uint32_t number)
{
    const struct device_transfer *at =
        &tracker->execution->transfers.items[tracker->items[number].index];
    const struct dma_descriptor *descriptor =
        &tracker->profile->program->descriptors[at->descriptor];
    struct range from = end_range(&descriptor->from), to = end_range(&descriptor->to);
    touch(tracker, &from, NULL, at->end_ps);
    touch_written(tracker, &to, number, at->start_ps, at->end_ps);
}

static bool item_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct item *)a)->start_ps < ((const struct item *)b)->start_ps;
}

/* Everything that has operands, in order of time. */
static void list_items(struct tracker *tracker)
{
    const struct device_execution *execution = tracker->execution;
    size_t count = execution->transfers.count;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        count += execution->instructions[e].count;
    tracker->items = mem_alloc(count * sizeof *tracker->items);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (size_t i = 0; i < execution->instructions[e].count; i++) {
            const struct device_instruction *at = &execution->instructions[e].items[i];
            if (tracker->profile->program->code[e][at->pc].opcode > OP_IOTA)
                continue;
            tracker->items[tracker->count++] = (struct item){at->start_ps, (uint32_t)i, (uint8_t)e};
        }
    for (size_t i = 0; i < execution->transfers.count; i++)
        tracker->items[tracker->count++] =
            (struct item){execution->transfers.items[i].start_ps, (uint32_t)i, ENGINE_COUNT};
    sort_items(tracker->items, tracker->count, sizeof *tracker->items, item_before, NULL);
}

void device_allocations(const struct device_profile *profile,
                        const struct device_execution *execution, device_allocation_visit *visit,
                        void *context)
{
    struct tracker tracker = {
        .profile = profile, .execution = execution, .visit = visit, .context = context};
    list_items(&tracker);
    for (size_t i = 0; i < tracker.count; i++) {
        mem_touched(sizeof(struct device_instruction) + sizeof(struct item));
        if (tracker.items[i].engine == ENGINE_COUNT)
            run_transfer(&tracker, (uint32_t)i);
        else
            run_instruction(&tracker, (uint32_t)i);
    }
    for (unsigned memory = 0; memory < 2; memory++)
        for (unsigned i = 0; i < SAMPLED_PARTITIONS; i++) {
            const struct live *live;
            array_each (live, &tracker.memory[memory][i])
                tell(&tracker, memory, i, live, live->begin, live->end);
            array_free(&tracker.memory[memory][i]);
        }
    mem_free(tracker.items);
}

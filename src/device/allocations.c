/*
 * What is in SBUF and PSUM: instructions and transfers in order of time write to ranges of the
 * sampled partitions and read from them. What they access follows from the program alone. Most
 * work is on all partitions alike: those with equal contents share a list.
 */
#include "device/execution.h"

/* A range of partitions with what was written last. */
struct live {
    uint32_t begin, end;
    int64_t start_ps, last_ps;
    uint32_t index; /* of what wrote it, as in device_allocation */
    uint8_t engine;
};

/* Partitions of a memory with the same contents. */
struct contents {
    uint8_t partitions;        /* a bit for each that is sampled */
    ARRAY(struct live) ranges; /* in order of address, without overlap */
};

struct memory_contents {
    struct contents parts[SAMPLED_PARTITIONS];
    unsigned count;
};

/* An instruction or a transfer. */
struct item {
    int64_t start_ps, end_ps;
    const struct device_accesses *accesses;
    uint32_t index;
    uint8_t engine; /* ENGINE_COUNT: a transfer */
};

struct tracker {
    struct memory_contents memory[2]; /* SBUF, PSUM */
    device_allocation_visit *visit;
    void *context;
};

/* --- What the program accesses --- */

static struct device_access access_to(uint8_t memory, int64_t begin, int64_t end,
                                      uint32_t partition, uint32_t partitions)
{
    struct device_access access = {
        .begin = (uint32_t)begin, .end = (uint32_t)end, .is_psum = memory == MEMORY_PSUM};
    for (uint32_t i = 0; i < SAMPLED_PARTITIONS; i++)
        if (i * SAMPLED_STEP >= partition && i * SAMPLED_STEP - partition < partitions)
            access.partitions |= (uint8_t)(1 << i);
    return access;
}

static struct device_access operand_access(const struct operand *operand)
{
    int64_t low = 0, high = 0;
    for (unsigned i = 0; i < 4; i++) {
        int64_t reach = (int64_t)operand->step[i] * ((int64_t)operand->size[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t bytes = dtype_bytes((enum dtype)operand->dtype);
    return access_to(operand->memory, operand->offset + low * bytes,
                     operand->offset + (high + 1) * bytes, operand->partition, operand->partitions);
}

static struct device_access end_access(const struct dma_end *end)
{
    int64_t low = 0, high = 0;
    for (unsigned i = 1; i < DMA_DIMENSIONS; i++) {
        int64_t reach = end->step[i] * ((int64_t)end->size[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t bytes = dtype_bytes((enum dtype)end->dtype), offset = (int64_t)end->offset;
    int64_t rows = end->step[0] * ((int64_t)end->size[0] - 1);
    return access_to(end->memory, offset + low * bytes, offset + (high + 1) * bytes,
                     (uint32_t)(end->partition + (rows < 0 ? rows : 0)),
                     (uint32_t)(rows < 0 ? -rows : rows) + 1);
}

static bool is_on_chip(uint8_t memory)
{
    return memory == MEMORY_SBUF || memory == MEMORY_PSUM;
}

static void add_access(struct device_accesses *accesses, struct device_access access)
{
    if (access.partitions)
        accesses->items[accesses->count++] = access;
}

static struct device_accesses instruction_accesses(const struct instruction *code)
{
    struct device_accesses accesses = {0};
    if (code->opcode > OP_IOTA)
        return accesses;
    for (unsigned i = 0; i < 3; i++)
        if (is_on_chip(code->src[i].memory))
            add_access(&accesses, operand_access(&code->src[i]));
    if (is_on_chip(code->dst.memory)) {
        struct device_access target = operand_access(&code->dst);
        /* A matmul that accumulates goes on with what is there. */
        target.is_write = !(code->opcode == OP_MATMUL && code->flags & FLAG_ACCUMULATE);
        add_access(&accesses, target);
    }
    return accesses;
}

static struct device_accesses transfer_accesses(const struct dma_descriptor *descriptor)
{
    struct device_accesses accesses = {0};
    if (is_on_chip(descriptor->from.memory))
        add_access(&accesses, end_access(&descriptor->from));
    if (is_on_chip(descriptor->to.memory)) {
        struct device_access target = end_access(&descriptor->to);
        target.is_write = true;
        add_access(&accesses, target);
    }
    return accesses;
}

void device_find_accesses(struct device_profile *profile)
{
    const struct core_program *program = profile->program;
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        profile->accesses[e] = mem_alloc(program->code_count[e] * sizeof *profile->accesses[e]);
        for (uint32_t i = 0; i < program->code_count[e]; i++)
            profile->accesses[e][i] = instruction_accesses(&program->code[e][i]);
    }
    struct device_accesses *transfers = mem_alloc(program->descriptor_count * sizeof *transfers);
    for (uint32_t i = 0; i < program->descriptor_count; i++)
        transfers[i] = transfer_accesses(&program->descriptors[i]);
    profile->accesses[ENGINE_COUNT] = transfers;
}

/* --- What happens to memory in an execution --- */

/* The first range that ends after an address. */
static size_t find_live(const struct contents *contents, uint32_t begin)
{
    size_t low = 0, high = contents->ranges.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (contents->ranges.items[middle].end <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void tell(const struct tracker *tracker, bool is_psum, uint8_t partitions,
                 const struct live *live, uint32_t begin, uint32_t end)
{
    tracker->visit(tracker->context,
                   &(struct device_allocation){.start_ps = live->start_ps,
                                               .end_ps = live->last_ps,
                                               .begin = begin,
                                               .end = end,
                                               .memory = is_psum ? MEMORY_PSUM : MEMORY_SBUF,
                                               .partitions = partitions,
                                               .is_transfer = live->engine == ENGINE_COUNT,
                                               .engine = live->engine,
                                               .index = live->index});
}

/* Makes room for, or takes away, ranges. */
static struct live *replace(struct contents *contents, size_t at, size_t removed, size_t added)
{
    size_t count = contents->ranges.count, behind = count - at - removed;
    if (removed != added) {
        array_reserve(&contents->ranges, count - removed + added);
        memmove(contents->ranges.items + at + added, contents->ranges.items + at + removed,
                behind * sizeof(struct live));
        contents->ranges.count = count - removed + added;
    }
    return contents->ranges.items + at;
}

static void write_range(const struct tracker *tracker, struct contents *contents, bool is_psum,
                        const struct live *written)
{
    size_t first = find_live(contents, written->begin), end = first, kept = 0;
    struct live parts[3]; /* what is left before and behind, with the new one between them */
    struct live behind = {0};
    bool has_behind = false;
    for (; end < contents->ranges.count && contents->ranges.items[end].begin < written->end;
         end++) {
        const struct live *old = &contents->ranges.items[end];
        uint32_t from = old->begin > written->begin ? old->begin : written->begin;
        uint32_t to = old->end < written->end ? old->end : written->end;
        tell(tracker, is_psum, contents->partitions, old, from, to);
        if (old->begin < written->begin) {
            parts[kept] = *old;
            parts[kept++].end = written->begin;
        }
        if (old->end > written->end) {
            behind = *old;
            behind.begin = written->end;
            has_behind = true;
        }
    }
    parts[kept++] = *written;
    if (has_behind)
        parts[kept++] = behind;
    memcpy(replace(contents, first, end - first, kept), parts, kept * sizeof *parts);
}

static void read_range(struct contents *contents, const struct device_access *access,
                       int64_t end_ps)
{
    for (size_t i = find_live(contents, access->begin);
         i < contents->ranges.count && contents->ranges.items[i].begin < access->end; i++)
        if (end_ps > contents->ranges.items[i].last_ps)
            contents->ranges.items[i].last_ps = end_ps;
}

/* Partitions that are accessed no longer have the contents of the others. */
static void split(struct memory_contents *memory, struct contents *contents, uint8_t partitions)
{
    struct contents *others = &memory->parts[memory->count++];
    *others = (struct contents){.partitions = (uint8_t)(contents->partitions & ~partitions)};
    contents->partitions &= partitions;
    if (contents->ranges.count == 0)
        return;
    array_reserve(&others->ranges, contents->ranges.count);
    memcpy(others->ranges.items, contents->ranges.items,
           contents->ranges.count * sizeof(struct live));
    others->ranges.count = contents->ranges.count;
}

static void run_access(struct tracker *tracker, const struct item *item,
                       const struct device_access *access)
{
    struct memory_contents *memory = &tracker->memory[access->is_psum];
    const struct live written = {access->begin, access->end, item->start_ps,
                                 item->end_ps,  item->index, item->engine};
    for (unsigned i = 0, count = memory->count; i < count; i++) {
        struct contents *contents = &memory->parts[i];
        if ((contents->partitions & access->partitions) == 0)
            continue;
        if (contents->partitions & ~access->partitions)
            split(memory, contents, access->partitions);
        if (access->is_write)
            write_range(tracker, contents, access->is_psum, &written);
        else
            read_range(contents, access, item->end_ps);
    }
}

static bool item_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct item *)a)->start_ps < ((const struct item *)b)->start_ps;
}

typedef ARRAY(struct item) item_list;

static void list_item(item_list *items, const struct device_accesses *accesses, int64_t start_ps,
                      int64_t end_ps, size_t index, unsigned engine)
{
    if (accesses->count > 0)
        items->items[items->count++] =
            (struct item){start_ps, end_ps, accesses, (uint32_t)index, (uint8_t)engine};
}

/* Everything that accesses sampled partitions, in order of time. */
static void list_items(const struct device_profile *profile,
                       const struct device_execution *execution, item_list *items)
{
    size_t count = execution->transfers.count;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        count += execution->instructions[e].count;
    array_reserve(items, count);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (size_t i = 0; i < execution->instructions[e].count; i++) {
            const struct device_instruction *at = &execution->instructions[e].items[i];
            mem_touched(sizeof *at + sizeof(struct item));
            list_item(items, &profile->accesses[e][at->pc], at->start_ps, at->end_ps, i, e);
        }
    for (size_t i = 0; i < execution->transfers.count; i++) {
        const struct device_transfer *at = &execution->transfers.items[i];
        mem_touched(sizeof *at + sizeof(struct item));
        list_item(items, &profile->accesses[ENGINE_COUNT][at->descriptor], at->start_ps, at->end_ps,
                  i, ENGINE_COUNT);
    }
    sort_items(items->items, items->count, sizeof(struct item), item_before, NULL);
}

static void end_memory(const struct tracker *tracker, struct memory_contents *memory, bool is_psum)
{
    for (unsigned i = 0; i < memory->count; i++) {
        struct contents *contents = &memory->parts[i];
        const struct live *live;
        array_each (live, &contents->ranges)
            tell(tracker, is_psum, contents->partitions, live, live->begin, live->end);
        array_free(&contents->ranges);
    }
}

void device_allocations(const struct device_profile *profile,
                        const struct device_execution *execution, device_allocation_visit *visit,
                        void *context)
{
    struct tracker tracker = {.visit = visit, .context = context};
    item_list items = {0};
    for (unsigned i = 0; i < 2; i++)
        tracker.memory[i] =
            (struct memory_contents){{{.partitions = (1 << SAMPLED_PARTITIONS) - 1}}, 1};
    list_items(profile, execution, &items);
    const struct item *item;
    array_each (item, &items) {
        mem_touched(sizeof *item);
        for (unsigned i = 0; i < item->accesses->count; i++)
            run_access(&tracker, item, &item->accesses->items[i]);
    }
    for (unsigned i = 0; i < 2; i++)
        end_memory(&tracker, &tracker.memory[i], i == 1);
    array_free(&items);
}

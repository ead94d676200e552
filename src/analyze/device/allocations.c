/*
 * What is in SBUF and PSUM: instructions and transfers in order of time write to ranges of the
 * sampled partitions and read from them. Most work is on all partitions alike: those with equal
 * contents share a list.
 *
 * Which ranges there are follows from the program and from that order, which executions of a
 * program mostly share. So the ranges are found as a plan, without times; a plan is used again as
 * long as the order is the same, and for each execution only the times are filled in.
 */
#include "analyze/device/execution.h"

#include <assert.h>

/* A range of partitions with what was written last. */
struct live {
    uint32_t begin, end;
    uint32_t slot; /* of its times */
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
    int64_t start_ps; /* in the execution that the plan was made of */
    uint32_t index;   /* in its list */
    uint32_t what;    /* its number in the program */
    uint8_t engine;   /* ENGINE_COUNT: a transfer */
    size_t steps_end; /* its steps are those from the item before up to here */
};

/* What happens to the times of a range. */
enum step_kind {
    STEP_WRITE, /* they begin */
    STEP_READ,  /* they last until then */
    STEP_COPY,  /* from those of another range */
    STEP_TELL,  /* they are over */
};
struct step {
    uint32_t slot;
    uint32_t other; /* STEP_COPY: the other slot; STEP_TELL: the number in `told` */
    enum step_kind kind;
};
struct slot {
    int64_t start_ps, last_ps;
    uint32_t item; /* what wrote it, while a plan is made */
};

struct device_tracker {
    const struct device_profile *profile;      /* of the plan; NULL: there is none */
    ARRAY(uint32_t) program[ENGINE_COUNT + 1]; /* the lists, as numbers in the program */
    ARRAY(struct item) items;                  /* that access sampled partitions, by time */
    ARRAY(struct step) steps;
    ARRAY(struct device_allocation) told; /* with the times of the last execution */
    ARRAY(struct slot) slots;
    struct memory_contents memory[2]; /* SBUF, PSUM, while a plan is made */
};

struct device_tracker *device_tracker_create(void)
{
    return mem_zeroed(1, sizeof(struct device_tracker));
}

void device_tracker_free(struct device_tracker *tracker)
{
    if (!tracker)
        return;
    for (unsigned i = 0; i <= ENGINE_COUNT; i++)
        array_free(&tracker->program[i]);
    array_free(&tracker->items);
    array_free(&tracker->steps);
    array_free(&tracker->told);
    array_free(&tracker->slots);
    mem_free(tracker);
}

/* --- Lists of an execution: those of the engines, then the transfers --- */

static size_t list_count(const struct device_execution *execution, unsigned list)
{
    return list == ENGINE_COUNT ? execution->transfers.count : execution->instructions[list].count;
}

static uint32_t what_at(const struct device_execution *execution, unsigned list, size_t index)
{
    return list == ENGINE_COUNT ? execution->transfers.items[index].descriptor
                                : execution->instructions[list].items[index].pc;
}

static int64_t start_of(const struct device_execution *execution, const struct item *item)
{
    return item->engine == ENGINE_COUNT
               ? execution->transfers.items[item->index].start_ps
               : execution->instructions[item->engine].items[item->index].start_ps;
}

static int64_t end_of(const struct device_execution *execution, const struct item *item)
{
    return item->engine == ENGINE_COUNT
               ? execution->transfers.items[item->index].end_ps
               : execution->instructions[item->engine].items[item->index].end_ps;
}

/* --- Making a plan --- */

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

static void add_step(struct device_tracker *tracker, enum step_kind kind, uint32_t slot,
                     uint32_t other)
{
    *array_push(&tracker->steps) = (struct step){slot, other, kind};
}

static uint32_t new_slot(struct device_tracker *tracker, uint32_t item)
{
    *array_push(&tracker->slots) = (struct slot){.item = item};
    return (uint32_t)tracker->slots.count - 1;
}

static uint32_t copied_slot(struct device_tracker *tracker, uint32_t from)
{
    uint32_t slot = new_slot(tracker, tracker->slots.items[from].item);
    add_step(tracker, STEP_COPY, slot, from);
    return slot;
}

static void tell(struct device_tracker *tracker, bool is_psum, uint8_t partitions, uint32_t slot,
                 uint32_t begin, uint32_t end)
{
    const struct item *item = &tracker->items.items[tracker->slots.items[slot].item];
    add_step(tracker, STEP_TELL, slot, (uint32_t)tracker->told.count);
    *array_push(&tracker->told) =
        (struct device_allocation){.begin = begin,
                                   .end = end,
                                   .memory = is_psum ? MEMORY_PSUM : MEMORY_SBUF,
                                   .partitions = partitions,
                                   .is_transfer = item->engine == ENGINE_COUNT,
                                   .engine = item->engine,
                                   .index = item->index};
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

/* Overwritten ranges end, and an old range that sticks out on both sides is split in two with
 * separate slots, so at most three ranges replace all that overlap. */
static void write_range(struct device_tracker *tracker, struct contents *contents, uint32_t item,
                        const struct device_access *access)
{
    size_t first = find_live(contents, access->begin), end = first, kept = 0;
    struct live parts[3]; /* what is left before and behind, with the new one between them */
    struct live behind = {0};
    bool has_behind = false;
    for (; end < contents->ranges.count && contents->ranges.items[end].begin < access->end; end++) {
        const struct live *old = &contents->ranges.items[end];
        uint32_t from = old->begin > access->begin ? old->begin : access->begin;
        uint32_t to = old->end < access->end ? old->end : access->end;
        tell(tracker, access->is_psum, contents->partitions, old->slot, from, to);
        if (old->end > access->end) {
            has_behind = true;
            behind = (struct live){access->end, old->end, old->slot};
        }
        if (old->begin < access->begin) {
            parts[kept++] = (struct live){old->begin, access->begin, old->slot};
            if (has_behind) /* both are left: from now on they last on their own */
                behind.slot = copied_slot(tracker, old->slot);
        }
    }
    parts[kept] = (struct live){access->begin, access->end, new_slot(tracker, item)};
    add_step(tracker, STEP_WRITE, parts[kept++].slot, 0);
    if (has_behind)
        parts[kept++] = behind;
    memcpy(replace(contents, first, end - first, kept), parts, kept * sizeof *parts);
}

static void read_range(struct device_tracker *tracker, const struct contents *contents,
                       const struct device_access *access)
{
    for (size_t i = find_live(contents, access->begin);
         i < contents->ranges.count && contents->ranges.items[i].begin < access->end; i++)
        add_step(tracker, STEP_READ, contents->ranges.items[i].slot, 0);
}

/* Partitions that are accessed no longer have the contents of the others. Each part has a partition
 * at least that no other has, so there are never more parts than partitions. */
static void split(struct device_tracker *tracker, struct memory_contents *memory,
                  struct contents *contents, uint8_t partitions)
{
    assert(memory->count < SAMPLED_PARTITIONS);
    struct contents *others = &memory->parts[memory->count++];
    *others = (struct contents){.partitions = (uint8_t)(contents->partitions & ~partitions)};
    contents->partitions &= partitions;
    const struct live *live;
    array_each (live, &contents->ranges)
        *array_push(&others->ranges) =
            (struct live){live->begin, live->end, copied_slot(tracker, live->slot)};
}

static void plan_access(struct device_tracker *tracker, uint32_t item,
                        const struct device_access *access)
{
    struct memory_contents *memory = &tracker->memory[access->is_psum];
    for (unsigned i = 0, count = memory->count; i < count; i++) {
        struct contents *contents = &memory->parts[i];
        if ((contents->partitions & access->partitions) == 0)
            continue;
        if (contents->partitions & ~access->partitions)
            split(tracker, memory, contents, access->partitions);
        if (access->is_write)
            write_range(tracker, contents, item, access);
        else
            read_range(tracker, contents, access);
    }
}

static bool item_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct item *)a)->start_ps < ((const struct item *)b)->start_ps;
}

/* Everything that accesses sampled partitions, in order of time. */
static void list_items(struct device_tracker *tracker, const struct device_profile *profile,
                       const struct device_execution *execution)
{
    tracker->items.count = 0;
    for (unsigned list = 0; list <= ENGINE_COUNT; list++) {
        size_t count = list_count(execution, list);
        tracker->program[list].count = 0;
        array_reserve(&tracker->program[list], count);
        array_reserve(&tracker->items, tracker->items.count + count);
        for (size_t i = 0; i < count; i++) {
            uint32_t what = what_at(execution, list, i);
            mem_touched(sizeof(struct device_instruction) + sizeof(struct item));
            *array_push(&tracker->program[list]) = what;
            if (profile->accesses[list][what].count == 0)
                continue;
            struct item *item = array_push(&tracker->items);
            *item = (struct item){.index = (uint32_t)i, .what = what, .engine = (uint8_t)list};
            item->start_ps = start_of(execution, item);
        }
    }
    sort_items(tracker->items.items, tracker->items.count, sizeof(struct item), item_before, NULL);
}

/* What is there at the end. */
static void end_memory(struct device_tracker *tracker, bool is_psum)
{
    struct memory_contents *memory = &tracker->memory[is_psum];
    for (unsigned i = 0; i < memory->count; i++) {
        struct contents *contents = &memory->parts[i];
        const struct live *live;
        array_each (live, &contents->ranges)
            tell(tracker, is_psum, contents->partitions, live->slot, live->begin, live->end);
        array_free(&contents->ranges);
    }
}

static void make_plan(struct device_tracker *tracker, const struct device_profile *profile,
                      const struct device_execution *execution)
{
    tracker->profile = profile;
    tracker->steps.count = tracker->told.count = tracker->slots.count = 0;
    for (unsigned i = 0; i < 2; i++)
        tracker->memory[i] =
            (struct memory_contents){{{.partitions = (1 << SAMPLED_PARTITIONS) - 1}}, 1};
    list_items(tracker, profile, execution);
    for (size_t i = 0; i < tracker->items.count; i++) {
        struct item *item = &tracker->items.items[i];
        const struct device_accesses *accesses = &profile->accesses[item->engine][item->what];
        mem_touched(sizeof *item);
        for (unsigned k = 0; k < accesses->count; k++)
            plan_access(tracker, (uint32_t)i, &accesses->items[k]);
        item->steps_end = tracker->steps.count;
    }
    for (unsigned i = 0; i < 2; i++)
        end_memory(tracker, i == 1);
}

/* --- Using a plan --- */

static bool has_same_lists(const struct device_tracker *tracker,
                           const struct device_execution *execution)
{
    for (unsigned list = 0; list <= ENGINE_COUNT; list++) {
        size_t count = list_count(execution, list);
        if (count != tracker->program[list].count)
            return false;
        for (size_t i = 0; i < count; i++) {
            mem_touched(sizeof(struct device_instruction));
            if (what_at(execution, list, i) != tracker->program[list].items[i])
                return false;
        }
    }
    return true;
}

/* Whether sorting this execution's items would lead to the plan's order. */
static bool has_same_order(const struct device_tracker *tracker,
                           const struct device_execution *execution)
{
    const struct item *items = tracker->items.items;
    int64_t before = INT64_MIN;
    for (size_t i = 0; i < tracker->items.count; i++) {
        int64_t start = start_of(execution, &items[i]);
        mem_touched(sizeof *items);
        if (start < before)
            return false;
        if (i > 0 && start == before &&
            (items[i].engine < items[i - 1].engine ||
             (items[i].engine == items[i - 1].engine && items[i].index < items[i - 1].index)))
            return false;
        before = start;
    }
    return true;
}

static void run_step(struct device_tracker *tracker, const struct step *step, int64_t start_ps,
                     int64_t end_ps)
{
    struct slot *slot = &tracker->slots.items[step->slot];
    switch (step->kind) {
    case STEP_WRITE:
        slot->start_ps = start_ps;
        slot->last_ps = end_ps;
        break;
    case STEP_READ:
        slot->last_ps = end_ps > slot->last_ps ? end_ps : slot->last_ps;
        break;
    case STEP_COPY:
        slot->start_ps = tracker->slots.items[step->other].start_ps;
        slot->last_ps = tracker->slots.items[step->other].last_ps;
        break;
    case STEP_TELL:
        tracker->told.items[step->other].start_ps = slot->start_ps;
        tracker->told.items[step->other].end_ps = slot->last_ps;
        break;
    }
}

struct device_allocations device_allocations(struct device_tracker *tracker,
                                             const struct device_profile *profile,
                                             const struct device_execution *execution)
{
    bool is_same = tracker->profile == profile && has_same_lists(tracker, execution) &&
                   has_same_order(tracker, execution);
    if (!is_same)
        make_plan(tracker, profile, execution);
    size_t at = 0;
    const struct item *item;
    array_each (item, &tracker->items) {
        int64_t start = start_of(execution, item), end = end_of(execution, item);
        mem_touched(sizeof *item);
        for (; at < item->steps_end; at++)
            run_step(tracker, &tracker->steps.items[at], start, end);
    }
    for (; at < tracker->steps.count; at++)
        run_step(tracker, &tracker->steps.items[at], 0, 0);
    return (struct device_allocations){tracker->told.items, tracker->told.count, is_same};
}

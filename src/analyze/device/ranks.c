/*
 * Collectives matched across ranks.
 */
#include "analyze/device/device.h"

void device_ranks_begin(struct device_ranks *ranks, const struct device_profile *profile,
                        const struct device_rank *rank)
{
    ranks->program = profile->program;
    for (ranks->current = 0; ranks->current < ranks->ranks.count; ranks->current++)
        if (ranks->ranks.items[ranks->current].rank == rank->rank)
            return;
    *array_push(&ranks->ranks) = *rank;
}

/* The group that a rank is in. All ranks are group 0 where groups are not listed, and in
 * permutations, whose pairs share ranks. */
static uint32_t group_of(const struct collective *collective, uint32_t rank)
{
    uint32_t count = collective->kind == COLLECTIVE_PERMUTE
                         ? 0
                         : collective->group_count * collective->group_size;
    for (uint32_t i = 0; i < count; i++)
        if (collective->members[i] == rank)
            return i / collective->group_size;
    return 0;
}

/* How long each collective waited for other ranks, set-up included. */
static int64_t *find_waits(const struct device_execution *execution)
{
    int64_t *waits = mem_zeroed(execution->collectives.count, sizeof *waits);
    const struct device_cc_step *step;
    array_each (step, &execution->cc_steps)
        if (step->step == STEP_SEMAPHORE_WAIT && step->collective < execution->collectives.count)
            waits[step->collective] = step->end_ps - step->start_ps;
    return waits;
}

/* Keeps no pointer to the execution: its collectives become arrivals. */
void device_ranks_add_execution(struct device_ranks *ranks, uint32_t number,
                                const struct device_execution *execution)
{
    uint32_t index = ranks->current;
    struct device_rank *rank = &ranks->ranks.items[index];
    int64_t *waits = find_waits(execution);
    uint32_t *seen = mem_zeroed(ranks->program->collective_count, sizeof *seen);
    rank->total_ps += execution->end_ps - execution->start_ps;
    for (uint32_t i = 0; i < execution->collectives.count; i++) {
        const struct device_collective *item = &execution->collectives.items[i];
        *array_push(&ranks->arrivals) = (struct device_arrival){
            .execution = number,
            .collective = item->collective,
            .occurrence = seen[item->collective]++,
            .group = group_of(&ranks->program->collectives[item->collective], rank->rank),
            .rank = index,
            .start_ps = item->start_ps,
            .wait_ps = waits[i],
            .from_ns = execution->has_info ? execution->info.start_ns : 0,
            .to_ns = execution->has_info ? execution->info.end_ns : 0};
        rank->collectives++;
    }
    mem_free(seen);
    mem_free(waits);
}

static int compare(const struct device_arrival *a, const struct device_arrival *b)
{
#define ORDER(field)                                                                               \
    if (a->field != b->field)                                                                      \
    return a->field < b->field ? -1 : 1
    ORDER(execution);
    ORDER(collective);
    ORDER(occurrence);
    ORDER(group);
#undef ORDER
    return 0;
}

static bool by_meeting(const void *a, const void *b, const void *context)
{
    (void)context;
    return compare(a, b) < 0;
}

static bool by_skew(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_meeting *)a)->skew_ps >
           ((const struct device_meeting *)b)->skew_ps;
}

/* Hosts keep their clocks this close to each other. */
#define CLOCK_ERROR_NS UINT64_C(100000000)

/* Whether the executions that the collectives are in overlap, as far as clocks can tell. */
static bool is_at_once(const struct device_arrival *arrivals, size_t count)
{
    uint64_t last_from = 0, first_to = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (arrivals[i].to_ns == 0)
            continue;
        last_from = arrivals[i].from_ns > last_from ? arrivals[i].from_ns : last_from;
        first_to = arrivals[i].to_ns < first_to ? arrivals[i].to_ns : first_to;
    }
    return last_from <= first_to || last_from - first_to <= CLOCK_ERROR_NS;
}

/* The rank that waits least came last; what the others wait beyond it is charged to that rank.
 * Needs no common clock. */
static void meet(struct device_ranks *ranks, const struct device_arrival *arrivals, size_t count)
{
    size_t last = 0, first = 0;
    for (size_t i = 1; i < count; i++) {
        last = arrivals[i].wait_ps < arrivals[last].wait_ps ? i : last;
        first = arrivals[i].wait_ps > arrivals[first].wait_ps ? i : first;
    }
    struct device_meeting meeting = {.execution = arrivals->execution,
                                     .collective = arrivals->collective,
                                     .occurrence = arrivals->occurrence,
                                     .group = arrivals->group,
                                     .ranks = (uint32_t)count,
                                     .last = arrivals[last].rank,
                                     .skew_ps = arrivals[first].wait_ps - arrivals[last].wait_ps,
                                     .start_ps = arrivals[last].start_ps};
    for (size_t i = 0; i < count; i++) {
        int64_t waited_ps = arrivals[i].wait_ps - arrivals[last].wait_ps;
        ranks->ranks.items[arrivals[i].rank].waited_ps += waited_ps;
        meeting.waited_ps += waited_ps;
    }
    struct device_rank *late = &ranks->ranks.items[meeting.last];
    late->held_up_ps += meeting.waited_ps;
    late->came_last += meeting.skew_ps > 0;
    *array_push(&ranks->meetings) = meeting;
}

/* Arrivals are sorted so that those of one collective are neighbors. */
void device_ranks_end(struct device_ranks *ranks)
{
    struct device_arrival *arrivals = ranks->arrivals.items;
    size_t count = ranks->arrivals.count;
    sort_items(arrivals, count, sizeof *arrivals, by_meeting, NULL);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && compare(&arrivals[first], &arrivals[end]) == 0;)
            end++;
        if (end - first < 2)
            continue;
        if (is_at_once(arrivals + first, end - first))
            meet(ranks, arrivals + first, end - first);
        else
            ranks->apart++;
    }
    sort_items(ranks->meetings.items, ranks->meetings.count, sizeof *ranks->meetings.items, by_skew,
               NULL);
    ranks->slowest = NO_INDEX;
    for (uint32_t i = 0; i < ranks->ranks.count; i++) {
        int64_t held_up_ps = ranks->ranks.items[i].held_up_ps;
        if (held_up_ps > 0 && (ranks->slowest == NO_INDEX ||
                               held_up_ps > ranks->ranks.items[ranks->slowest].held_up_ps))
            ranks->slowest = i;
    }
}

void device_ranks_of(struct device_ranks *ranks, const struct device_cores *cores)
{
    const struct ntff_neff *neff = device_neff(cores->items[0].profile);
    for (size_t i = 0; i < cores->count; i++) {
        const struct device_core *core = &cores->items[i];
        const struct ntff_header *header = ntff_header(core->profile->ntff);
        if (memcmp(device_neff(core->profile)->uuid, neff->uuid, sizeof neff->uuid) != 0)
            continue;
        device_ranks_begin(ranks, core->profile,
                           &(struct device_rank){.rank = header->rank,
                                                 .device = header->device_index,
                                                 .core = header->core_index});
        for (uint32_t k = 0; k < core->execution_count; k++)
            device_ranks_add_execution(ranks, core->profile->spans[k].index, &core->executions[k]);
    }
    device_ranks_end(ranks);
}

void device_ranks_free(struct device_ranks *ranks)
{
    array_free(&ranks->ranks);
    array_free(&ranks->arrivals);
    array_free(&ranks->meetings);
}

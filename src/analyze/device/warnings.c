/*
 * Warnings with a place on the timeline: tensors that are loaded again and again, throttling, small
 * transfers.
 */
#include "analyze/device/findings.h"

#include <stdio.h>

static int64_t area_gap(const struct device_execution *execution)
{
    return (int64_t)(AREA_GAP_SHARE * (double)(execution->end_ps - execution->start_ps));
}

static void grow(struct device_warning *warning, int64_t start_ps, int64_t end_ps, uint64_t bytes)
{
    warning->from_ps = start_ps < warning->from_ps ? start_ps : warning->from_ps;
    warning->to_ps = end_ps > warning->to_ps ? end_ps : warning->to_ps;
    warning->bytes += bytes;
    warning->count++;
}

/* A box for each queue on which a tensor is loaded that is loaded more than twice. */
static void find_reloads(const struct device_profile *profile,
                         const struct device_execution *execution, device_warnings *warnings)
{
    const struct core_program *program = profile->program;
    struct device_tensor *tensors = device_tensors_new(profile);
    struct idmap known = {0};
    device_tensors_add(tensors, profile, execution);
    const struct device_transfer *item;
    array_each (item, &execution->transfers) {
        const struct dma_descriptor *descriptor = &program->descriptors[item->descriptor];
        uint32_t variable = descriptor->from.variable;
        if (descriptor->from.memory != MEMORY_HBM || descriptor->to.memory == MEMORY_HBM)
            continue;
        double factor = device_repeat_factor(&tensors[variable], &program->variables[variable], 1);
        if (!(factor > MAX_REPEAT_FACTOR))
            continue;
        uint32_t queue = program->blocks[execution->blocks.items[item->run].block].queue;
        uint64_t key = (uint64_t)variable << 32 | queue;
        uint32_t at = idmap_get(&known, key);
        if (at == IDMAP_NONE) {
            at = (uint32_t)warnings->count;
            idmap_put(&known, key, at);
            *array_push(warnings) = (struct device_warning){.kind = WARNING_RELOADED,
                                                            .from_ps = item->start_ps,
                                                            .to_ps = item->end_ps,
                                                            .queue = queue,
                                                            .variable = variable,
                                                            .amount = factor};
        }
        grow(&warnings->items[at], item->start_ps, item->end_ps,
             profile->descriptors[item->descriptor].read);
    }
    idmap_free(&known);
    mem_free(tensors);
}

/* Areas in which the rate is capped at least half of the time. */
static void find_throttling(const struct device_execution *execution, device_warnings *warnings)
{
    struct device_warning *area = NULL;
    double allowed_ps = 0;
    int64_t capped_ps = 0; /* both of the area */
    const struct device_throttle *item;
    array_each (item, &execution->throttles) {
        int64_t time_ps = item->end_ps - item->start_ps;
        if (time_ps <= 0)
            continue;
        if (!area || item->end_ps - area->from_ps > 2 * (capped_ps + time_ps)) {
            area = array_push(warnings);
            *area = (struct device_warning){.kind = WARNING_THROTTLED,
                                            .from_ps = item->start_ps,
                                            .to_ps = item->end_ps,
                                            .queue = NO_INDEX,
                                            .variable = NO_INDEX};
            allowed_ps = 0;
            capped_ps = 0;
        }
        grow(area, item->start_ps, item->end_ps, 0);
        allowed_ps += (double)time_ps * item->rate / FULL_RATE;
        capped_ps += time_ps;
        area->amount = allowed_ps / (double)capped_ps;
    }
}

struct small_packet {
    uint32_t queue;
    int64_t start_ps, end_ps;
    uint64_t bytes;
};

static bool by_queue(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct small_packet *left = a, *right = b;
    return left->queue != right->queue ? left->queue < right->queue
                                       : left->start_ps < right->start_ps;
}

static void add_area(device_warnings *warnings, const struct device_warning *area)
{
    if (area->count >= MIN_AREA_PACKETS)
        *array_push(warnings) = *area;
}

/* Areas of small packets on a queue, where these take a tenth of the time of all packets. */
static void find_small_dma(const struct device_profile *profile,
                           const struct device_execution *execution, device_warnings *warnings)
{
    ARRAY(struct small_packet) small = {0};
    double all_ps = 0, small_ps = 0;
    const struct device_transfer *item;
    array_each (item, &execution->transfers) {
        const struct descriptor_facts *facts = &profile->descriptors[item->descriptor];
        all_ps += (double)(item->end_ps - item->start_ps);
        if (!device_is_small_dma(facts))
            continue;
        small_ps += (double)(item->end_ps - item->start_ps);
        uint32_t block = execution->blocks.items[item->run].block;
        *array_push(&small) = (struct small_packet){profile->program->blocks[block].queue,
                                                    item->start_ps, item->end_ps, facts->bytes};
    }
    struct device_warning area = {.count = 0};
    if (small_ps > 0 && small_ps >= MIN_SMALL_DMA_SHARE * all_ps)
        sort_items(small.items, small.count, sizeof *small.items, by_queue, NULL);
    else
        small.count = 0;
    for (size_t i = 0; i < small.count; i++) {
        const struct small_packet *packet = &small.items[i];
        if (area.count == 0 || packet->queue != area.queue ||
            packet->start_ps - area.to_ps > area_gap(execution)) {
            add_area(warnings, &area);
            area = (struct device_warning){.kind = WARNING_SMALL_DMA,
                                           .from_ps = packet->start_ps,
                                           .to_ps = packet->end_ps,
                                           .queue = packet->queue,
                                           .variable = NO_INDEX};
        }
        grow(&area, packet->start_ps, packet->end_ps, packet->bytes);
    }
    add_area(warnings, &area);
    array_free(&small);
}

void device_warnings_find(const struct device_profile *profile,
                          const struct device_execution *execution, device_warnings *warnings)
{
    find_reloads(profile, execution, warnings);
    find_throttling(execution, warnings);
    find_small_dma(profile, execution, warnings);
}

const char *device_warning_title(enum device_warning_kind kind)
{
    static const char *const titles[] = {
        [WARNING_RELOADED] = "Tensor loaded more than twice",
        [WARNING_THROTTLED] = "Tensor engine throttled",
        [WARNING_SMALL_DMA] = "Small DMA transfers",
    };
    return titles[kind];
}

/* A warning keeps numbers only; its text is made where it is shown, and cut to fit. */
size_t device_warning_text(const struct core_program *program, const struct device_warning *warning,
                           char *text, size_t size)
{
    char bytes[QUANTITY_SIZE], time[QUANTITY_SIZE];
    unsigned long long count = warning->count;
    int length = 0;
    switch ((enum device_warning_kind)warning->kind) {
    case WARNING_RELOADED:
        length = snprintf(text, size,
                          "%s is loaded to SBUF %.1f times in the execution: here %s in %llu DMA "
                          "packets of %s. Keep it in SBUF between its uses.",
                          program->variables[warning->variable].name, warning->amount,
                          format_bytes(warning->bytes, bytes), count,
                          program->queues[warning->queue].name);
        break;
    case WARNING_THROTTLED:
        length = snprintf(text, size,
                          "The rate of the Tensor engine is capped to %.0f %% of its peak on "
                          "average, in %llu interval%s within %s.",
                          100 * warning->amount, count, count == 1 ? "" : "s",
                          format_ps((double)(warning->to_ps - warning->from_ps), time));
        break;
    case WARNING_SMALL_DMA:
        length = snprintf(text, size,
                          "%llu DMA packets of less than 2 KiB, %s on average, on %s. A fixed cost "
                          "for each is most of their time: move more at a time.",
                          count, format_bytes(warning->bytes / count, bytes),
                          program->queues[warning->queue].name);
        break;
    }
    return length > 0 && (size_t)length < size ? (size_t)length : size - 1;
}

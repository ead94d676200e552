/*
 * Which operation of a program a kernel belongs to, and which call an event is: looked up by
 * several passes.
 */
#include "analyze/profile/analysis_passes.h"

/* Inside a CUDA graph the label names the graph; the operation is then found by the kernel name,
 * which XLA derives from the operation's. */
uint32_t kernel_operation(const struct analysis *analysis, const struct hlo_label *label,
                          uint32_t type)
{
    const struct catalog *catalog = analysis->catalog;
    if (label->program == NO_INDEX || label->found != NO_INDEX)
        return label->found;
    const struct program *program = &catalog->programs.items[label->program];
    /* IDMAP_NONE is NO_INDEX */
    return idmap_get(&program->by_kernel_name, catalog->types.items[type].name);
}

enum attributed kernel_attribution(const struct analysis *analysis, const struct hlo_label *label,
                                   uint32_t type)
{
    if (label->found != NO_INDEX)
        return label->is_by_order ? ATTRIBUTED_ORDER : ATTRIBUTED_RECORDED;
    return kernel_operation(analysis, label, type) != NO_INDEX ? ATTRIBUTED_NAME : ATTRIBUTED_NOT;
}

struct text attribution_name(enum attributed attribution)
{
    static const char *const names[] = {[ATTRIBUTED_NOT] = "none",
                                        [ATTRIBUTED_RECORDED] = "recorded",
                                        [ATTRIBUTED_NAME] = "kernel name",
                                        [ATTRIBUTED_ORDER] = "schedule order",
                                        [ATTRIBUTED_OPERATOR] = "framework operator"};
    return text_of(names[attribution]);
}

const struct operation *kernel_operation_of(const struct analysis *analysis,
                                            const struct hlo_label *label, uint32_t type)
{
    uint32_t index = kernel_operation(analysis, label, type);
    return index == NO_INDEX
               ? NULL
               : &analysis->catalog->programs.items[label->program].operations.items[index];
}

bool is_same_execution(const struct execution *a, const struct execution *b)
{
    return a->has_id == b->has_id && a->id == b->id && a->scope == b->scope &&
           a->number == b->number;
}

uint32_t find_call(const struct analysis *analysis, uint32_t track, uint64_t event)
{
    const struct lane_analysis *lane = &analysis->lanes[track];
    uint64_t first = lane_first(&analysis->trace, track);
    uint64_t position = lane->rank ? lane->rank[event] : event;
    uint32_t low = lane->first_call, end = lane->first_call + lane->calls, high = end;
    mem_touched((size_t)4 * MEM_JUMP);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t other = analysis->calls.items[middle].index - first;
        if ((lane->rank ? lane->rank[other] : other) < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && analysis->calls.items[low].index == first + event ? low : NO_INDEX;
}

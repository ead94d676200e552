/*
 * Which operation of a program a kernel belongs to, and which call an event is: looked up by
 * several passes. Kernels that the source names no operation of get that of the kernels around.
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

struct execution execution_of(const struct launch *launch)
{
    return launch ? (struct execution){launch->has_run, launch->run, launch->outer_scope,
                                       launch->execution}
                  : (struct execution){0};
}

/* --- kernels that the source names no operation of --- */

/* Work without a label, and the label of the work around it; plus one, as in the lanes. */
struct unlabeled {
    struct event_ref work;
    uint32_t label;
};
typedef ARRAY(struct unlabeled) unlabeled_list;

/* Adds what is between two pieces of work of one label: the positions [from + 1, to). Of different
 * executions, or where these are not known, it may be of neither. */
static void add_between(const struct analysis *analysis, uint32_t track, uint64_t from, uint64_t to,
                        unlabeled_list *list)
{
    const struct lane_analysis *lane = &analysis->lanes[track];
    struct execution runs[2];
    for (unsigned i = 0; i < 2; i++)
        runs[i] = execution_of(launch_of_work(
            analysis, (struct event_ref){track, event_at(lane, i == 0 ? from : to)}));
    bool is_known = runs[0].has_id || runs[0].scope || runs[0].number;
    if (!is_known || !is_same_execution(&runs[0], &runs[1]))
        return;
    for (uint64_t at = from + 1; at < to; at++) {
        struct event_ref work = {track, event_at(lane, at)};
        const struct launch *launch = launch_of_work(analysis, work);
        struct execution run = execution_of(launch);
        if (!launch || is_same_execution(&run, &runs[0]))
            *array_push(list) = (struct unlabeled){work, lane->label[event_at(lane, from)]};
    }
}

static void find_unlabeled(const struct analysis *analysis, uint32_t track, unlabeled_list *list)
{
    const struct lane_analysis *lane = &analysis->lanes[track];
    uint64_t last = UINT64_MAX; /* position of the last work with a label */
    for (uint64_t at = 0; at < analysis->trace.lanes[track].count; at++) {
        uint32_t label = lane->label[event_at(lane, at)];
        touch_event(at);
        if (!label)
            continue;
        if (last != UINT64_MAX && at > last + 1 && lane->label[event_at(lane, last)] == label &&
            analysis->labels.items[label - 1].found != NO_INDEX)
            add_between(analysis, track, last, at, list);
        last = at;
    }
}

static uint64_t key_of(uint32_t label, uint32_t type)
{
    return (uint64_t)label << 32 | type;
}

/* Runs on one thread, once labels are known. All streams are looked at for what operations launch
 * elsewhere, but only if there is work without a label. */
void fill_labels(struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    unlabeled_list list = {0};
    struct idmap known = {0}; /* label and type */
    for (int pass = 0; pass < 2 && (pass == 0 || list.count > 0); pass++)
        for (uint32_t track = 0; track < catalog->tracks.count; track++) {
            const struct lane_events *events = &analysis->trace.lanes[track];
            const uint32_t *labels = analysis->lanes[track].label;
            if (catalog->tracks.items[track].lane != LANE_STREAM || !labels)
                continue;
            if (pass == 0)
                find_unlabeled(analysis, track, &list);
            for (uint64_t i = 0; pass == 1 && i < events->count; i++)
                if (labels[i])
                    idmap_put(&known, key_of(labels[i], events->type[i]), 1);
        }
    struct idmap by_place = {0}; /* label -> the same, found by place */
    const struct unlabeled *one;
    array_each (one, &list) {
        uint32_t type = analysis->trace.lanes[one->work.track].type[one->work.event];
        if (idmap_get(&known, key_of(one->label, type)) == IDMAP_NONE)
            continue;
        uint32_t label = idmap_get(&by_place, one->label);
        if (label == IDMAP_NONE) {
            struct hlo_label copy = analysis->labels.items[one->label - 1];
            copy.is_by_order = true;
            *array_push(&analysis->labels) = copy;
            label = (uint32_t)analysis->labels.count;
            idmap_put(&by_place, one->label, label);
        }
        analysis->lanes[one->work.track].label[one->work.event] = label;
    }
    idmap_free(&by_place);
    idmap_free(&known);
    array_free(&list);
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

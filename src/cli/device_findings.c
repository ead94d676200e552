/*
 * Findings of device profiles, among those of the capture they are in.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>

static const char *copied(struct analysis *analysis, const char *text)
{
    return arena_copy_text(&analysis->finding_texts, text, strlen(text));
}

/* The lane of an item, and its number among the events that its execution has there. */
static uint32_t lane_of(const struct device_core *core, const struct device_evidence *evidence,
                        uint64_t *number)
{
    const struct device_execution *execution = &core->executions[evidence->execution];
    const struct core_program *program = core->profile->program;
    uint32_t index = evidence->item.index, lane = NO_INDEX;
    *number = 0;
    if (evidence->item.kind == ITEM_INSTRUCTION) {
        enum engine engine = (enum engine)evidence->item.engine;
        const struct device_instruction *items = execution->instructions[engine].items;
        lane = device_instruction_lane(core, engine, items[index].pc);
        for (uint32_t i = 0; i < index; i++)
            *number += device_instruction_lane(core, engine, items[i].pc) == lane;
        return lane;
    }
    if (evidence->item.kind == ITEM_TRANSFER) /* people see its block */
        index = execution->transfers.items[index].run;
    if (evidence->item.kind == ITEM_TRANSFER || evidence->item.kind == ITEM_BLOCK) {
        uint32_t queue = program->blocks[execution->blocks.items[index].block].queue;
        lane = device_lane_of(core, DEVICE_LANE_QUEUE, queue, 0);
        for (uint32_t i = 0; i < index; i++)
            *number += program->blocks[execution->blocks.items[i].block].queue == queue;
    } else if (evidence->item.kind == ITEM_COLLECTIVE) {
        const struct device_collective *items = execution->collectives.items;
        lane = device_lane_of(core, DEVICE_LANE_COLLECTIVES, items[index].cc_core, 0);
        for (uint32_t i = 0; i < index; i++)
            *number += items[i].cc_core == items[index].cc_core;
    }
    return lane;
}

static void put_evidence(const struct session *session, const struct device_core *core,
                         struct finding *finding, const struct device_evidence *from)
{
    struct evidence *evidence = &finding->evidence[finding->evidence_count++];
    *evidence =
        (struct evidence){.label = from->label, .from_ps = from->from_ps, .to_ps = from->to_ps};
    if (session->source->inner) /* a filter may have left its lane out */
        return;
    uint64_t number;
    uint32_t lane = lane_of(core, from, &number);
    if (lane == NO_INDEX)
        return;
    evidence->has_event = true;
    evidence->event_id = lane_first(&session->analysis.trace, core->first_track + lane) +
                         device_lane_first(core, from->execution, lane) + number;
}

/* Of several cores, a rule's finding is that of the core which could gain most. */
static struct finding *finding_of(struct analysis *analysis, const struct device_finding *from,
                                  size_t own)
{
    for (size_t i = own; i < analysis->findings.count; i++) {
        struct finding *known = &analysis->findings.items[i];
        if (strcmp(known->rule, from->rule) == 0)
            return from->gain_ps > known->cost_ps ? known : NULL;
    }
    return array_push(&analysis->findings);
}

/* Texts are copied into the analysis, which outlives the device's. With several cores the text
 * begins with the one it is about. */
static void add_finding(struct session *session, const struct device_core *core, bool is_one,
                        const struct device_finding *from, size_t own)
{
    struct analysis *analysis = &session->analysis;
    struct finding *finding = finding_of(analysis, from, own);
    if (!finding)
        return;
    const struct ntff_header *header = ntff_header(core->profile->ntff);
    char place[64] = "";
    if (!is_one)
        snprintf(place, sizeof place,
                 "Most of all on rank %" PRIu32 ", ND%" PRIu32 " NC%" PRIu32 ": ", header->rank,
                 header->device_index, header->core_index);
    struct output text;
    output_memory(&text);
    output_format(&text, "%s%s", place, from->text);
    *finding =
        (struct finding){.rule = from->rule,
                         .title = from->title,
                         .text = arena_copy_text(&analysis->finding_texts, text.data, text.size),
                         .advice = copied(analysis, from->advice),
                         .sql = copied(analysis, from->sql),
                         .cost_ps = from->gain_ps,
                         .share = from->share,
                         .share_of = "the total time"};
    output_discard(&text);
    for (size_t i = 0; i < from->evidence_count && i < MAX_EVIDENCE; i++)
        put_evidence(session, core, finding, &from->evidence[i]);
}

/* The rank for which others waited longest. */
static void add_slowest_rank(struct analysis *analysis, const struct device_cores *cores)
{
    struct device_ranks ranks = {0};
    device_ranks_of(&ranks, cores);
    if (ranks.slowest != NO_INDEX) {
        const struct device_rank *slowest = &ranks.ranks.items[ranks.slowest];
        int64_t each_ps = slowest->held_up_ps / (int64_t)(ranks.ranks.count - 1);
        char time[QUANTITY_SIZE], each[QUANTITY_SIZE], text[512];
        snprintf(text, sizeof text,
                 "Rank %" PRIu32 " (ND%" PRIu32 " NC%" PRIu32 ") came last to %" PRIu64
                 " of %" PRIu64 " collectives. The others waited %s for it, %s each on average.",
                 slowest->rank, slowest->device, slowest->core, slowest->came_last,
                 slowest->collectives, format_ps((double)slowest->held_up_ps, time),
                 format_ps((double)each_ps, each));
        *array_push(&analysis->findings) = (struct finding){
            .rule = "slowest-rank",
            .title = "Ranks wait for the slowest one",
            .text = copied(analysis, text),
            .advice = "Balance the work of the ranks, or look at what the slowest one does before "
                      "it comes to the collective.",
            .sql = "SELECT operation, start_ts, duration_ns FROM CcOp ORDER BY duration_ns DESC",
            .cost_ps = each_ps,
            .share = slowest->total_ps > 0 ? (double)each_ps / (double)slowest->total_ps : 0,
            .share_of = "the total time"};
    }
    device_ranks_free(&ranks);
}

static bool by_cost(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct finding *)a)->cost_ps > ((const struct finding *)b)->cost_ps;
}

void session_find_on_devices(struct session *session, const char *nki_source_root)
{
    const struct device_cores *cores = import_device_cores(session->source);
    if (!cores)
        return;
    struct analysis *analysis = &session->analysis;
    size_t own = analysis->findings.count;
    for (size_t i = 0; i < cores->count; i++) {
        device_analysis_find(cores->items[i].analysis, nki_source_root);
        const struct device_finding *finding;
        array_each (finding, &cores->items[i].analysis->findings)
            if (finding->share >= DEVICE_MIN_SHARE)
                add_finding(session, &cores->items[i], cores->count == 1, finding, own);
    }
    if (cores->count > 1)
        add_slowest_rank(analysis, cores);
    if (analysis->findings.count > own)
        sort_items(analysis->findings.items + own, analysis->findings.count - own,
                   sizeof *analysis->findings.items, by_cost, NULL);
}

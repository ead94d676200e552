/*
 * Findings of device profiles, among those of the capture they are in.
 */
#include "analyze/findings/thresholds.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>

/* The lane of an item, and its number among the events that its execution has there. */
static uint32_t lane_of(const struct device_core *core, const struct evidence *evidence,
                        uint64_t *number)
{
    const struct device_execution *execution = &core->executions[evidence->item.execution];
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
    if (evidence->item.kind == ITEM_ERROR) {
        lane = device_lane_of(core, DEVICE_LANE_ERRORS, 0, 0);
        *number = index;
    }
    return lane;
}

/* Names the event that shows it. */
static void find_event(const struct session *session, const struct device_core *core,
                       struct evidence *evidence)
{
    if (session->source->inner) /* a filter may have left its lane out */
        return;
    uint64_t number;
    uint32_t lane = lane_of(core, evidence, &number);
    if (lane == NO_INDEX)
        return;
    evidence->has_event = true;
    evidence->event_id = lane_first(&session->analysis.trace, core->first_track + lane) +
                         device_lane_first(core, evidence->item.execution, lane) + number;
}

/* Of several cores, a rule's finding is that of the core which could gain most. */
static struct finding *finding_of(struct analysis *analysis, const struct finding *from, size_t own)
{
    for (size_t i = own; i < analysis->findings.count; i++) {
        struct finding *known = &analysis->findings.items[i];
        if (strcmp(known->rule, from->rule) == 0)
            return from->cost_ps > known->cost_ps ? known : NULL; /* of failures, the first */
    }
    return array_push(&analysis->findings);
}

/* Texts are copied into the analysis, which outlives the device's. With several cores the text
 * begins with the one it is about. */
static void add_finding(struct session *session, const struct device_core *core, bool is_one,
                        const struct finding *from, size_t own)
{
    struct analysis *analysis = &session->analysis;
    struct finding *finding = finding_of(analysis, from, own);
    if (!finding)
        return;
    const struct ntff_header *header = ntff_header(core->profile->ntff);
    char place[64] = "";
    if (!is_one)
        snprintf(place, sizeof place, "%s rank %" PRIu32 ", ND%" PRIu32 " NC%" PRIu32 ": ",
                 from->is_failure ? "On" : "Most of all on", header->rank, header->device_index,
                 header->core_index);
    *finding = *from;
    finding->text = finding_text(analysis, "%s%s", place, from->text);
    finding->advice = finding_text(analysis, "%s", from->advice);
    finding->sql = finding_text(analysis, "%s", from->sql);
    for (size_t i = 0; i < finding->evidence_count; i++)
        find_event(session, core, &finding->evidence[i]);
}

void session_find_on_devices(struct session *session, const char *nki_source_root)
{
    const struct device_cores *cores = import_device_cores(session->source);
    if (!cores)
        return;
    struct findings *findings = &session->analysis.findings;
    size_t own = findings->count;
    for (size_t i = 0; i < cores->count; i++) {
        device_analysis_find(cores->items[i].analysis, nki_source_root);
        const struct finding *finding;
        array_each (finding, &cores->items[i].analysis->findings)
            if (finding->share >= MIN_SHARE || finding->is_failure)
                add_finding(session, &cores->items[i], cores->count == 1, finding, own);
    }
    if (cores->count > 1)
        device_cores_find(cores, findings);
    findings_sort(findings, own, finding_costs_more);
}

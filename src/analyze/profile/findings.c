/*
 * Analysis pass: findings. Runs the rules, ranks what they say, and keeps their texts.
 */
#include "analyze/profile/findings.h"

#include <stdarg.h>
#include <stdio.h>

const char *finding_text(struct analysis *analysis, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t kept = size < 0 ? 0 : (size_t)size;
    kept = text_utf8_prefix(text, kept < sizeof text ? kept : sizeof text - 1);
    return arena_copy_text(&analysis->finding_texts, text, kept);
}

struct finding *finding_add(struct analysis *analysis, const char *rule, const char *title,
                            int64_t cost_ps, double share, const char *share_of)
{
    struct finding *finding = array_push(&analysis->findings);
    *finding = (struct finding){.rule = rule,
                                .title = title,
                                .text = "",
                                .advice = "",
                                .sql = "",
                                .cost_ps = cost_ps,
                                .share = share,
                                .share_of = share_of};
    return finding;
}

void finding_span(const struct analysis *analysis, struct finding *finding, const char *label,
                  int64_t from_ps, int64_t to_ps, struct event_ref event)
{
    bool has_event = event.track != TRACK_NONE;
    if (finding->evidence_count == MAX_EVIDENCE)
        return;
    finding->evidence[finding->evidence_count++] = (struct evidence){
        .label = label,
        .has_event = has_event,
        .event_id = has_event ? lane_first(&analysis->trace, event.track) + event.event : 0,
        .from_ps = from_ps,
        .to_ps = to_ps};
}

void finding_event(const struct analysis *analysis, struct finding *finding, const char *label,
                   struct event_ref event)
{
    const struct lane_events *events = &analysis->trace.lanes[event.track];
    finding_span(analysis, finding, label, events->start_ps[event.event],
                 event_end(events, event.event), event);
}

/* Where the name of a function ends: before its template arguments and parameters. */
static size_t end_of_function(struct text name)
{
    static const struct text anonymous = {"(anonymous namespace)", 21};
    for (size_t i = 1; i < name.size; i++) {
        if (text_starts((struct text){name.data + i, name.size - i}, anonymous))
            i += anonymous.size - 1;
        else if (name.data[i] == '<' || (name.data[i] == '(' && name.data[i - 1] != ' '))
            return i;
    }
    return name.size;
}

/* Kernels have long names, most of which are template arguments. */
const char *finding_name(struct analysis *analysis, struct text name)
{
    enum { LONGEST = 70 };
    static const struct text result = {"void ", 5};
    if (name.size > LONGEST && text_starts(name, result))
        name = (struct text){name.data + result.size, name.size - result.size};
    size_t size = name.size;
    if (size > LONGEST)
        size = end_of_function(name);
    if (size > LONGEST)
        size = text_utf8_prefix(name.data, LONGEST);
    return finding_text(analysis, "%.*s%s", (int)size, name.data, size < name.size ? "..." : "");
}

const char *finding_type(struct analysis *analysis, uint32_t type)
{
    return finding_name(analysis, catalog_type_label(analysis->catalog, type));
}

const char *finding_literal(struct analysis *analysis, uint32_t string)
{
    struct text text = catalog_text(analysis->catalog, string);
    struct output quoted;
    output_memory(&quoted);
    output_char(&quoted, '\'');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\'')
            output_char(&quoted, '\'');
        output_char(&quoted, text.data[i]);
    }
    output_char(&quoted, '\'');
    const char *kept = arena_copy_text(&analysis->finding_texts, quoted.data, quoted.size);
    output_discard(&quoted);
    return kept;
}

const char *name_of_steps(const struct analysis *analysis)
{
    return analysis->step_origin == STEPS_GUESSED ? "the guessed steps" : "the steps";
}

/* Devices without a part in the work say nothing about it. */
static void choose_devices(struct rules *rules)
{
    int64_t most = 0;
    const struct device_activity *activity;
    array_each (activity, rules->activities)
        most = activity->work_ps > most ? activity->work_ps : most;
    bool has_steps = false;
    array_each (activity, rules->activities) {
        if (activity->work_ps <= 0 || (double)activity->work_ps < MIN_DEVICE_WORK * (double)most)
            continue;
        *array_push(&rules->devices) = activity;
        rules->window_ps =
            add_saturated(rules->window_ps, sub_saturated(activity->to_ps, activity->from_ps));
        rules->work_ps = add_saturated(rules->work_ps, activity->work_ps);
        rules->work_events += activity->work_events;
        has_steps |= activity->has_steps;
    }
    rules->share_of = has_steps ? name_of_steps(rules->analysis) : "the active time";
}

static bool by_cost(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct finding *m = a, *n = b;
    if ((m->cost_ps > 0) != (n->cost_ps > 0))
        return m->cost_ps > 0; /* what costs memory comes last */
    return m->share > n->share;
}

/* What needs all that devices did. */
static void find_in_devices(struct rules *rules)
{
    const finding_list *found = &rules->analysis->findings;
    find_idle(rules);
    find_step_outliers(rules);
    find_stragglers(rules);
    find_facts(rules);
    note_incomplete(rules, 0, RESTS_ON_DEVICES | RESTS_ON_HOST);
    size_t first = found->count;
    find_device_work(rules);
    find_low_usage(rules);
    note_incomplete(rules, first, RESTS_ON_DEVICES);
}

void find(struct analysis *analysis, const activity_list *activities, const struct facts *facts)
{
    if (analysis->catalog->has_own_findings)
        return;
    struct rules rules = {.analysis = analysis, .activities = activities, .facts = facts};
    choose_devices(&rules);
    if (!analysis->catalog->is_sampled)
        find_in_devices(&rules);
    size_t first = analysis->findings.count;
    find_host_steps(&rules);
    find_compilation(&rules);
    note_incomplete(&rules, first, RESTS_ON_HOST);
    sort_items(analysis->findings.items, analysis->findings.count, sizeof *analysis->findings.items,
               by_cost, NULL);
    array_free(&rules.devices);
}

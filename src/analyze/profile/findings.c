/*
 * Analysis pass: findings. Runs the rules and ranks what they say.
 */
#include "analyze/profile/findings.h"

void finding_span(const struct analysis *analysis, struct finding *finding, const char *label,
                  int64_t from_ps, int64_t to_ps, struct event_ref event)
{
    bool has_event = event.track != TRACK_NONE;
    struct evidence evidence = {
        .label = label,
        .from_ps = from_ps,
        .to_ps = to_ps,
        .has_event = has_event,
        .event_id = has_event ? lane_first(&analysis->trace, event.track) + event.event : 0};
    finding_show(finding, &evidence);
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
    const char *kept = arena_copy_text(&analysis->findings.texts, quoted.data, quoted.size);
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
        if (activity->work_ps <= 0 ||
            (double)activity->work_ps < MIN_DEVICE_WORK_SHARE * (double)most)
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

/* Runs the rules that rest on the same lanes, each function once. */
static void find_by(struct rules *rules, unsigned rests_on)
{
    static const struct {
        unsigned rests_on;
        find_function *find;
    } functions[] = {
#define PROFILE_RULE(name, id, title, lanes, function) {lanes, function},
#include "analyze/findings/rules.def"
    };
    size_t first = rules->analysis->findings.count;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].rests_on == rests_on &&
            (i == 0 || functions[i].find != functions[i - 1].find))
            functions[i].find(rules);
    note_incomplete(rules, first, rests_on);
}

void find(struct analysis *analysis, const activity_list *activities, const struct facts *facts)
{
    if (analysis->catalog->has_own_findings)
        return;
    struct rules rules = {.analysis = analysis, .activities = activities, .facts = facts};
    choose_devices(&rules);
    if (!analysis->catalog->is_sampled) { /* what needs all that devices did */
        find_by(&rules, RESTS_ON_ALL);
        find_by(&rules, RESTS_ON_DEVICES);
    }
    find_by(&rules, RESTS_ON_HOST);
    findings_sort(&analysis->findings, 0, finding_has_more);
    array_free(&rules.devices);
}

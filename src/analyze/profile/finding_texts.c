/*
 * What the rules share: evidence, and names of kernels and steps as texts of a finding.
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

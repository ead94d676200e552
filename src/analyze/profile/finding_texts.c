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

/* The first sign that is found counts: programs of JAX and PyTorch use tf.data, too. */
enum framework framework_of(const struct analysis *analysis)
{
    static const struct {
        const char *prefix; /* of the name of an event or a program */
        enum framework framework;
    } signs[] = {
        {"PjitFunction(", FRAMEWORK_JAX},
        {"aten::", FRAMEWORK_TORCH},
        {"ProfilerStep#", FRAMEWORK_TORCH},
        {"jit_", FRAMEWORK_JAX},
        {"pmap_", FRAMEWORK_JAX},
        {"FunctionRun", FRAMEWORK_TENSORFLOW},
        {"SessionRun", FRAMEWORK_TENSORFLOW},
        {"ExecutorState::", FRAMEWORK_TENSORFLOW},
        {"EagerExecute", FRAMEWORK_TENSORFLOW},
        {"EagerKernelExecute", FRAMEWORK_TENSORFLOW},
        {"Iterator::", FRAMEWORK_TENSORFLOW},
    };
    const struct catalog *catalog = analysis->catalog;
    size_t types = catalog->types.count, count = types + catalog->programs.count;
    size_t found = sizeof signs / sizeof *signs;
    for (size_t i = 0; i < count; i++) {
        uint32_t name =
            i < types ? catalog->types.items[i].name : catalog->programs.items[i - types].name;
        for (size_t sign = 0; sign < found; sign++)
            if (text_starts(catalog_text(catalog, name), text_of(signs[sign].prefix)))
                found = sign;
    }
    return found < sizeof signs / sizeof *signs ? signs[found].framework : FRAMEWORK_UNKNOWN;
}

/* Copies the text piece by piece into the findings' memory: advice is made once for each finding.
 */
const char *finding_advice(const struct rules *rules, const char *text)
{
    static const char *const names[] = {[FRAMEWORK_UNKNOWN] = "any:",
                                        [FRAMEWORK_JAX] = "jax:",
                                        [FRAMEWORK_TORCH] = "torch:",
                                        [FRAMEWORK_TENSORFLOW] = "tf:"};
    const char *wanted = names[rules->framework], *made = "";
    while (*text) {
        size_t plain = strcspn(text, "[");
        made = finding_text(rules->analysis, "%s%.*s", made, (int)plain, text);
        text += plain;
        if (!*text)
            break;
        size_t inside = strcspn(++text, "]");
        if (strncmp(text, wanted, strlen(wanted)) == 0)
            made = finding_text(rules->analysis, "%s%.*s", made, (int)(inside - strlen(wanted)),
                                text + strlen(wanted));
        text += inside + (text[inside] == ']');
    }
    return made;
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

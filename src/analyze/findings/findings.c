/*
 * Lists of findings, and the names of rules.
 */
#include "analyze/findings/findings.h"

#include <stdarg.h>
#include <stdio.h>

/* The longest text: queries list names of kernels, which have hundreds of characters. */
enum { MAX_TEXT_BYTES = 64 << 10 };

const struct finding_rule_names finding_rules[FINDING_RULES] = {
#define ANY_RULE(name, id, title) [RULE_##name] = {id, title},
#include "analyze/findings/rules.def"
};

void findings_free(struct findings *findings)
{
    array_free(findings);
    arena_free(&findings->texts);
}

const char *findings_text(struct findings *findings, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int wanted = vsnprintf(NULL, 0, format, arguments);
    size_t size = wanted < 0 ? 0 : wanted < MAX_TEXT_BYTES ? (size_t)wanted : MAX_TEXT_BYTES;
    char *text = arena_alloc(&findings->texts, size + 1);
    vsnprintf(text, size + 1, format, again);
    text[text_utf8_prefix(text, size)] = '\0';
    va_end(again);
    va_end(arguments);
    return text;
}

struct finding *findings_add(struct findings *findings, enum finding_rule rule, int64_t cost_ps,
                             double share, const char *share_of)
{
    struct finding *finding = array_push(findings);
    *finding = (struct finding){.rule = finding_rules[rule].id,
                                .title = finding_rules[rule].title,
                                .text = "",
                                .advice = "",
                                .sql = "",
                                .cost_ps = cost_ps,
                                .share = share,
                                .share_of = share_of,
                                .run = {.rank = -1, .device = -1}};
    return finding;
}

void finding_show(struct finding *finding, const struct evidence *evidence)
{
    if (finding->evidence_count < MAX_EVIDENCE)
        finding->evidence[finding->evidence_count++] = *evidence;
}

bool findings_have(const struct findings *findings, enum finding_rule rule)
{
    const struct finding *finding;
    array_each (finding, findings)
        if (strcmp(finding->rule, finding_rules[rule].id) == 0)
            return true;
    return false;
}

bool finding_costs_more(const struct finding *a, const struct finding *b)
{
    if (a->is_failure != b->is_failure)
        return a->is_failure;
    return a->cost_ps > b->cost_ps;
}

bool finding_has_more(const struct finding *a, const struct finding *b)
{
    if ((a->cost_ps > 0) != (b->cost_ps > 0))
        return a->cost_ps > 0;
    return a->share > b->share;
}

bool finding_costs_run_more(const struct finding *a, const struct finding *b)
{
    if (a->run.cost_ns != b->run.cost_ns)
        return a->run.cost_ns > b->run.cost_ns;
    return strcmp(a->title, b->title) < 0;
}

static bool comes_before(const void *a, const void *b, const void *context)
{
    return (*(finding_before *const *)context)(a, b);
}

void findings_sort(struct findings *findings, size_t first, finding_before *before)
{
    if (first < findings->count)
        sort_items(findings->items + first, findings->count - first, sizeof *findings->items,
                   comes_before, &before);
}

/*
 * Tables of findings and their evidence.
 */
#include "store/tables/fill.h"

bool make_findings(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_FINDINGS, err);
    struct rows *rows = &filler.rows;
    const struct findings *findings = &maker->analysis->findings;
    for (size_t i = 0; i < findings->count && fill_continue(&filler); i++) {
        const struct finding *finding = &findings->items[i];
        rows_int(rows, FINDING_ID, (int64_t)i);
        fill_word(&filler, FINDING_RULE, text_of(finding->rule));
        rows_text(rows, FINDING_TITLE, text_of(finding->title));
        rows_text(rows, FINDING_TEXT, text_of(finding->text));
        rows_text(rows, FINDING_ADVICE, text_of(finding->advice));
        rows_int(rows, FINDING_COST, whole_ns(finding->cost_ps));
        rows_double(rows, FINDING_SHARE, finding->share);
        fill_word(&filler, FINDING_SHARE_OF, text_of(finding->share_of));
        rows_text(rows, FINDING_SQL, text_of(finding->sql));
    }
    return fill_end(&filler);
}

bool make_evidence(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_EVIDENCE, err);
    const struct findings *findings = &maker->analysis->findings;
    for (size_t i = 0; i < findings->count && fill_continue(&filler); i++)
        for (size_t k = 0; k < findings->items[i].evidence_count; k++) {
            const struct evidence *evidence = &findings->items[i].evidence[k];
            rows_int(&filler.rows, EVIDENCE_FINDING, (int64_t)i);
            rows_text(&filler.rows, EVIDENCE_LABEL, text_of(evidence->label));
            fill_index(&filler, EVIDENCE_EVENT, evidence->has_event, evidence->event_id);
            fill_span(&filler, EVIDENCE_START, evidence->from_ps,
                      sub_saturated(evidence->to_ps, evidence->from_ps));
        }
    return fill_end(&filler);
}

/*
 * Findings on incomplete data: what a rank did while its capture dropped events is missing, and
 * looks like time in which it waited. Each finding compares ranks, so it rests on all of them.
 */
#include "report/fleet/findings.h"

#include <inttypes.h>

/* NULL if all ranks are complete. */
static const char *make_note(struct run_findings *findings)
{
    const struct fleet_analysis *analysis = findings->analysis;
    const struct rank_file *file, *first = NULL;
    size_t count = 0;
    array_each (file, &analysis->files.ranks) {
        if (rank_dropped(analysis->dataset, analysis->files.folder, file->place) == 0)
            continue;
        first = count++ == 0 ? file : first;
    }
    if (count == 0)
        return NULL;
    return count == 1 ? finding_text(findings,
                                     "This rests on an incomplete rank: events of rank %" PRIu64
                                     " were dropped during capture.",
                                     first->rank)
                      : finding_text(findings,
                                     "This rests on %zu incomplete ranks: events of rank %" PRIu64
                                     " and others were dropped during capture.",
                                     count, first->rank);
}

void note_incomplete_ranks(struct run_findings *findings)
{
    const char *note = make_note(findings);
    struct finding *finding;
    array_each (finding, &findings->findings)
        if (note && finding->run.cost_ns > 0)
            finding->text = finding_text(findings, "%s %s", finding->text, note);
}

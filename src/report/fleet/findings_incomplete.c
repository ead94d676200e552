/*
 * Findings on incomplete data: what a rank did while its capture dropped events is missing, and
 * looks like time in which it waited. Each finding compares ranks, so it rests on all of them.
 */
#include "report/fleet/findings.h"

#include <inttypes.h>

static char *make_note(const struct fleet_analysis *analysis)
{
    const struct rank_file *file, *first = NULL;
    size_t count = 0;
    array_each (file, &analysis->files.ranks) {
        if (rank_dropped(analysis->dataset, analysis->files.folder, file->place) == 0)
            continue;
        first = count++ == 0 ? file : first;
    }
    if (count == 0)
        return NULL;
    return count == 1 ? path_format("This rests on an incomplete rank: events of rank %" PRIu64
                                    " were dropped during capture.",
                                    first->rank)
                      : path_format("This rests on %zu incomplete ranks: events of rank %" PRIu64
                                    " and others were dropped during capture.",
                                    count, first->rank);
}

void note_incomplete_ranks(struct findings *findings)
{
    char *note = make_note(findings->analysis);
    struct finding *finding;
    array_each (finding, &findings->items) {
        if (!note || finding->cost_ns <= 0)
            continue;
        char *statement = path_format("%s %s", finding->statement, note);
        mem_free(finding->statement);
        finding->statement = statement;
    }
    mem_free(note);
}

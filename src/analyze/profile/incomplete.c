/*
 * Findings on incomplete data: where a capture dropped events of the lanes that a finding rests on,
 * the finding says so. What a device or a thread did then is missing, and looks like idle time.
 */
#include "analyze/profile/findings.h"

static void add_lanes_of_devices(const struct rules *rules, bool *rests)
{
    const struct catalog *catalog = rules->analysis->catalog;
    for (uint32_t i = 0; i < catalog->tracks.count; i++)
        for (size_t k = 0; k < rules->devices.count; k++)
            rests[i] |= catalog->tracks.items[i].parent == rules->devices.items[k]->device &&
                        catalog->tracks.items[i].lane == rules->devices.items[k]->role;
}

/* Threads that launch or have steps; all of the host where none does. */
static void add_lanes_of_host(const struct rules *rules, bool *rests)
{
    const struct analysis *analysis = rules->analysis;
    const struct launch *launch;
    const struct step *step;
    array_each (launch, &analysis->launches)
        rests[launch->event.track] = true;
    array_each (step, &analysis->steps)
        rests[step->root.track] = true;
    if (analysis->launches.count > 0 || analysis->steps.count > 0)
        return;
    for (uint32_t i = 0; i < analysis->catalog->tracks.count; i++)
        rests[i] |= analysis->catalog->tracks.items[i].source == SOURCE_HOST;
}

static const char *make_note(struct analysis *analysis, const bool *rests)
{
    const struct catalog *catalog = analysis->catalog;
    size_t count = 0;
    uint32_t first = TRACK_NONE;
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        if (!rests[i] || !catalog->tracks.items[i].is_incomplete)
            continue;
        first = count++ == 0 ? i : first;
    }
    if (count == 0)
        return NULL;
    const char *name = finding_name(analysis, catalog_track_label(catalog, first));
    return count == 1
               ? finding_text(analysis,
                              "This rests on an incomplete track: events of %s were dropped during "
                              "capture.",
                              name)
               : finding_text(analysis,
                              "This rests on %zu incomplete tracks: events of %s and others were "
                              "dropped during capture.",
                              count, name);
}

void note_incomplete(struct rules *rules, size_t first, unsigned rests_on)
{
    struct analysis *analysis = rules->analysis;
    if (first == analysis->findings.count)
        return;
    bool *rests = mem_zeroed(analysis->catalog->tracks.count, sizeof *rests);
    if (rests_on & RESTS_ON_DEVICES)
        add_lanes_of_devices(rules, rests);
    if (rests_on & RESTS_ON_HOST)
        add_lanes_of_host(rules, rests);
    const char *note = make_note(analysis, rests);
    for (size_t i = first; note && i < analysis->findings.count; i++) {
        struct finding *finding = &analysis->findings.items[i];
        finding->text = finding_text(analysis, "%s %s", finding->text, note);
    }
    mem_free(rests);
}

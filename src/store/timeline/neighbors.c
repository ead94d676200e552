/*
 * Finds the events before and after an event in its row.
 */
#include "store/timeline/block.h"

struct place {
    struct timeline *timeline;
    const struct timeline_track *track;
    const struct row_entry *row;
    struct block block;
    struct error *err;
};

/* The event of the row with this index. */
static bool event_at(struct place *place, uint64_t index, struct timeline_event *event)
{
    struct block *block = &place->block;
    size_t at = (size_t)(index % BLOCK_EVENTS);
    if (!block_load(block, place->timeline, place->row, (size_t)(index / BLOCK_EVENTS), place->err))
        return false;
    *event = (struct timeline_event){.start_ps = block->start_ps[at],
                                     .end_ps = block->end_ps[at],
                                     .id = place->track->first_id + block_event_number(block, at),
                                     .name = block_event_name(block, at)};
    return true;
}

/* Several events may start at the same time, hence the scan for the id. Both are absent if the row
 * does not have the event. */
bool timeline_neighbors(struct timeline *timeline, uint32_t track, uint32_t row, uint64_t id,
                        int64_t start_ps, struct timeline_neighbors *found, struct error *err)
{
    struct place place = {.timeline = timeline, .block = {.number = SIZE_MAX}, .err = err};
    struct timeline_event event;
    uint64_t block;
    *found = (struct timeline_neighbors){0};
    if (track >= timeline->trailer.track_count || row >= timeline->tracks[track].row_count)
        return error_set(err, "track %u has no row %u", track, row);
    place.track = &timeline->tracks[track];
    place.row = timeline_row_at(timeline, track, row, err);
    if (!place.row || !block_before(timeline, place.row, start_ps, &block, err))
        return false;
    for (uint64_t i = block * BLOCK_EVENTS; i < place.row->events; i++) {
        if (!event_at(&place, i, &event))
            return false;
        if (event.start_ps > start_ps)
            break;
        if (event.id != id)
            continue;
        found->has_previous = i > 0;
        found->has_next = i + 1 < place.row->events;
        return (!found->has_previous || event_at(&place, i - 1, &found->previous)) &&
               (!found->has_next || event_at(&place, i + 1, &found->next));
    }
    return true;
}

/*
 * Steps of a capture without annotations whose devices have a line of steps. Each device has its
 * own; steps of the same number are one. Events belong to a step by the number of the group that
 * TensorFlow writes on them, or run inside it on the device.
 */
#include "analyze/profile/analysis_passes.h"

/* The number at the end of a step's name: "12", "train 12". */
static bool number_of(struct text name, int64_t *number)
{
    size_t at = name.size;
    while (at > 0 && name.data[at - 1] >= '0' && name.data[at - 1] <= '9')
        at--;
    if (at == name.size || name.size - at > 18)
        return false;
    *number = 0;
    for (; at < name.size; at++)
        *number = *number * 10 + (name.data[at] - '0');
    return true;
}

/* Steps by process and number, and by process and group. */
struct recorded {
    struct analysis *analysis;
    struct idmap by_number, by_group;
};

static uint64_t key_of(uint32_t process, int64_t number)
{
    uint64_t identity[2] = {process, (uint64_t)number};
    return hash_bytes(identity, sizeof identity);
}

/* Each device records its own line of steps: those with one number merge into a step from the
 * first start to the last end. */
static void add_step(struct recorded *recorded, uint32_t process, const struct event_ref *ref,
                     uint64_t position)
{
    struct analysis *analysis = recorded->analysis;
    const struct lane_events *events = &analysis->trace.lanes[ref->track];
    uint32_t name = analysis->catalog->types.items[events->type[ref->event]].name;
    int64_t number = (int64_t)position;
    int64_t start = events->start_ps[ref->event], end = event_end(events, ref->event);
    number_of(catalog_text(analysis->catalog, name), &number);
    uint64_t key = key_of(process, number);
    uint32_t index = idmap_get(&recorded->by_number, key);
    if (index == IDMAP_NONE) {
        idmap_put(&recorded->by_number, key, (uint32_t)analysis->steps.count);
        *array_push(&analysis->steps) = (struct step){.root = *ref,
                                                      .number = number,
                                                      .start_ps = start,
                                                      .host_ps = sub_saturated(end, start),
                                                      .device_start_ps = TIME_UNSET,
                                                      .device_end_ps = TIME_UNSET};
        return;
    }
    struct step *step = &analysis->steps.items[index];
    int64_t last = add_saturated(step->start_ps, step->host_ps);
    if (start < step->start_ps) {
        step->root = *ref;
        step->start_ps = start;
    }
    step->host_ps = sub_saturated(end > last ? end : last, step->start_ps);
}

static bool is_steps_lane(const struct track *track)
{
    return track->level == TRACK_LANE && track->lane == LANE_STEPS && track->core == 0 &&
           track->source == SOURCE_DEVICE && track->events > 0;
}

/* Calls visit for each event of the lines of steps, in time order; index: its step by number. */
static void visit_steps(struct recorded *recorded,
                        void (*visit)(struct recorded *recorded, uint32_t process,
                                      const struct event_ref *ref, uint64_t position))
{
    const struct analysis *analysis = recorded->analysis;
    const struct catalog *catalog = analysis->catalog;
    for (uint32_t track = 0; track < catalog->tracks.count; track++) {
        if (!is_steps_lane(&catalog->tracks.items[track]))
            continue;
        uint32_t process = catalog_ancestor(catalog, track, TRACK_PROCESS);
        const struct lane_events *events = &analysis->trace.lanes[track];
        for (uint64_t i = 0; i < events->count; i++) {
            struct event_ref ref = {track, event_at(&analysis->lanes[track], i)};
            touch_event(i);
            if (event_is_timed(events, ref.event))
                visit(recorded, process, &ref, i);
        }
    }
}

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct step *)a)->start_ps < ((const struct step *)b)->start_ps;
}

/* After the steps were sorted: the step of each line's event, and the group it is. */
static void assign_step_event(struct recorded *recorded, uint32_t process,
                              const struct event_ref *ref, uint64_t position)
{
    struct analysis *analysis = recorded->analysis;
    const struct lane_events *events = &analysis->trace.lanes[ref->track];
    uint32_t name = analysis->catalog->types.items[events->type[ref->event]].name;
    int64_t number = (int64_t)position;
    number_of(catalog_text(analysis->catalog, name), &number);
    uint32_t index = idmap_get(&recorded->by_number, key_of(process, number));
    groups_of(analysis, ref->track)[ref->event] = index + 1;
    struct device_step *part =
        device_step_add(analysis, analysis->catalog->tracks.items[ref->track].parent, index);
    int64_t start = events->start_ps[ref->event], end = event_end(events, ref->event);
    part->frame_start_ps =
        part->has_frame && part->frame_start_ps < start ? part->frame_start_ps : start;
    part->frame_end_ps = part->has_frame && part->frame_end_ps > end ? part->frame_end_ps : end;
    part->has_frame = true;
    struct step *step = &analysis->steps.items[index];
    int64_t length = sub_saturated(part->frame_end_ps, part->frame_start_ps);
    step->frame_ps = length > step->frame_ps ? length : step->frame_ps;
    for (size_t i = first_mark(analysis, ref->track, ref->event); i < analysis->marks.count; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        if (mark->ref.track != ref->track || mark->ref.event != ref->event)
            break;
        if (mark->kind == MARK_GROUP)
            idmap_put(&recorded->by_group, key_of(process, mark->id), index);
    }
}

static void assign_groups(struct recorded *recorded)
{
    struct analysis *analysis = recorded->analysis;
    for (size_t i = 0; i < analysis->marks.count; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        touch_event(i);
        if (mark->kind != MARK_GROUP)
            continue;
        uint32_t process = catalog_ancestor(analysis->catalog, mark->ref.track, TRACK_PROCESS);
        uint32_t step = idmap_get(&recorded->by_group, key_of(process, mark->id));
        if (step != IDMAP_NONE)
            groups_of(analysis, mark->ref.track)[mark->ref.event] = step + 1;
    }
}

void take_recorded_steps(struct analysis *analysis)
{
    struct recorded recorded = {.analysis = analysis};
    visit_steps(&recorded, add_step);
    if (analysis->steps.count > 0) {
        analysis->step_origin = STEPS_RECORDED;
        analysis->columns.group =
            mem_zeroed(analysis->trace.events, sizeof *analysis->columns.group);
        struct step *first = analysis->steps.items;
        sort_items(first, analysis->steps.count, sizeof *first, by_start, NULL);
        idmap_free(&recorded.by_number);
        for (uint32_t i = 0; i < analysis->steps.count; i++) {
            uint32_t process =
                catalog_ancestor(analysis->catalog, first[i].root.track, TRACK_PROCESS);
            idmap_put(&recorded.by_number, key_of(process, first[i].number), i);
        }
        visit_steps(&recorded, assign_step_event);
        assign_groups(&recorded);
    }
    idmap_free(&recorded.by_number);
    idmap_free(&recorded.by_group);
}

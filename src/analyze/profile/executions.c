/*
 * Analysis pass: executions of programs around launches that nothing links to them. ROCm's calls
 * are on lines of their own, beside the thread that executes the program: the execution is the one
 * that goes on meanwhile, if there is no other.
 */
#include "analyze/profile/analysis_passes.h"

/* An execution on a host; those of a process stand together, by their start. */
struct span {
    uint32_t process;
    int64_t start_ps, end_ps;
    int64_t before_ps; /* the last end of those that begin earlier */
};
typedef ARRAY(struct span) span_list;

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct span *m = a, *n = b;
    return m->process != n->process ? m->process < n->process : m->start_ps < n->start_ps;
}

static void add_spans(span_list *spans, const struct analysis *analysis, uint32_t track,
                      const bool *is_execution)
{
    const struct lane_events *events = &analysis->trace.lanes[track];
    uint32_t process = catalog_ancestor(analysis->catalog, track, TRACK_PROCESS);
    for (uint64_t i = 0; i < events->count; i++) {
        touch_event(i);
        if (is_execution[events->type[i]] && event_is_timed(events, i))
            *array_push(spans) = (struct span){.process = process,
                                               .start_ps = events->start_ps[i],
                                               .end_ps = event_end(events, i)};
    }
}

/* Sorted by process and start; before_ps, the latest end so far, shows whether an earlier span
 * still runs at a given time. The caller frees the list. */
static span_list find_spans(const struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    bool *is_execution = mem_zeroed(catalog->types.count + 1, sizeof *is_execution);
    bool is_there = false;
    span_list spans = {0};
    for (uint32_t i = 0; i < catalog->types.count; i++) {
        is_execution[i] = text_equal(catalog_text(catalog, catalog->types.items[i].name),
                                     TEXT("GpuExecutable::ExecuteThunks"));
        is_there |= is_execution[i];
    }
    for (uint32_t i = 0; is_there && i < catalog->tracks.count; i++)
        if (catalog->tracks.items[i].level == TRACK_LANE && !analysis->lanes[i].label)
            add_spans(&spans, analysis, i, is_execution);
    sort_items(spans.items, spans.count, sizeof *spans.items, by_start, NULL);
    for (size_t i = 0; i < spans.count; i++) {
        bool is_first = i == 0 || spans.items[i - 1].process != spans.items[i].process;
        const struct span *last = is_first ? NULL : &spans.items[i - 1];
        spans.items[i].before_ps = !last                            ? INT64_MIN
                                   : last->before_ps > last->end_ps ? last->before_ps
                                                                    : last->end_ps;
    }
    mem_free(is_execution);
    return spans;
}

/* Index plus one of the only execution that goes on then; 0 for none. */
static uint32_t span_at(const span_list *spans, uint32_t process, int64_t time_ps)
{
    size_t low = 0, high = spans->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct span *span = &spans->items[middle];
        bool is_before =
            span->process != process ? span->process < process : span->start_ps <= time_ps;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    if (low == 0)
        return 0;
    const struct span *span = &spans->items[low - 1];
    bool is_only = span->process == process && span->end_ps >= time_ps && span->before_ps < time_ps;
    return is_only ? (uint32_t)low : 0;
}

void find_executions(struct analysis *analysis)
{
    struct launch *launch;
    bool is_needed = false;
    array_each (launch, &analysis->launches)
        is_needed |= !launch->has_run;
    if (!is_needed)
        return;
    span_list spans = find_spans(analysis);
    array_each (launch, &analysis->launches) {
        uint32_t track = launch->event.track;
        if (!launch->has_run && spans.count > 0)
            launch->execution =
                span_at(&spans, catalog_ancestor(analysis->catalog, track, TRACK_PROCESS),
                        analysis->trace.lanes[track].start_ps[launch->event.event]);
    }
    array_free(&spans);
}

/*
 * PerformanceWarning, and what compares ranks: RankSummary, CollectiveSkew.
 */
#include "store/tables/device_tables.h"

static void put_warning(struct filler *filler, const struct device_at *at,
                        const struct device_warning *warning)
{
    char text[1024];
    size_t size = device_warning_text(at->program, warning, text, sizeof text);
    fill_span(filler, DEVICE_WARNING_START_TS, warning->from_ps, warning->to_ps - warning->from_ps);
    fill_word(filler, DEVICE_WARNING_TITLE,
              text_of(device_warning_title((enum device_warning_kind)warning->kind)));
    rows_text(&filler->rows, DEVICE_WARNING_STATEMENT,
              (struct text){text, text_utf8_prefix(text, size)});
    fill_maybe_name(filler, DEVICE_WARNING_QUEUE_NAME,
                    warning->queue == NO_INDEX ? 0 : at->names->queues[warning->queue]);
    fill_maybe_name(filler, DEVICE_WARNING_TENSOR_NAME,
                    warning->variable == NO_INDEX ? 0 : at->names->variables[warning->variable]);
    fill_int(filler, DEVICE_WARNING_EXECUTION_INDEX, at->core->profile->spans[at->number].index);
    fill_int(filler, DEVICE_WARNING_RANK, at->rank);
}

void put_device_warnings(struct filler *filler, const struct device_at *at)
{
    device_warnings warnings = {0};
    device_warnings_find(at->core->profile, at->execution, &warnings);
    for (size_t i = 0; i < warnings.count && fill_continue(filler); i++)
        put_warning(filler, at, &warnings.items[i]);
    array_free(&warnings);
}

static bool fill_ranks(struct profile_maker *maker, const struct device_ranks *ranks,
                       struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_RANK, err);
    for (uint32_t i = 0; i < ranks->ranks.count && fill_continue(&filler); i++) {
        const struct device_rank *rank = &ranks->ranks.items[i];
        fill_int(&filler, RANK_NEURON_DEVICE_IDX, rank->device);
        fill_int(&filler, RANK_NEURONCORE_IDX, rank->core);
        fill_int(&filler, RANK_TOTAL_TIME_NS, whole_ns(rank->total_ps));
        fill_int(&filler, RANK_COLLECTIVE_COUNT, (int64_t)rank->collectives);
        fill_int(&filler, RANK_CAME_LAST_COUNT, (int64_t)rank->came_last);
        fill_int(&filler, RANK_WAITED_NS, whole_ns(rank->waited_ps));
        fill_int(&filler, RANK_HELD_UP_NS, whole_ns(rank->held_up_ps));
        fill_int(&filler, RANK_IS_SLOWEST, i == ranks->slowest);
        fill_int(&filler, RANK_RANK, rank->rank);
    }
    return fill_end(&filler);
}

static bool fill_meetings(struct profile_maker *maker, const struct device_ranks *ranks,
                          struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_MEETING, err);
    for (size_t i = 0; i < ranks->meetings.count && fill_continue(&filler); i++) {
        const struct device_meeting *meeting = &ranks->meetings.items[i];
        enum collective_kind kind =
            (enum collective_kind)ranks->program->collectives[meeting->collective].kind;
        fill_word(&filler, MEETING_OPERATION, text_of(device_collective_name(kind)));
        fill_int(&filler, MEETING_START_TS, whole_ns(meeting->start_ps));
        fill_int(&filler, MEETING_SKEW_NS, whole_ns(meeting->skew_ps));
        fill_int(&filler, MEETING_WAITED_NS, whole_ns(meeting->waited_ps));
        fill_int(&filler, MEETING_LAST_RANK, ranks->ranks.items[meeting->last].rank);
        fill_int(&filler, MEETING_RANK_COUNT, meeting->ranks);
        fill_int(&filler, MEETING_OP_ID, meeting->collective);
        fill_int(&filler, MEETING_OCCURRENCE, meeting->occurrence);
        fill_int(&filler, MEETING_REPLICA_GROUP_ID, meeting->group);
        fill_int(&filler, MEETING_EXECUTION_INDEX, meeting->execution);
    }
    return fill_end(&filler);
}

bool make_ranks(struct profile_maker *maker, struct error *err)
{
    if (!maker->devices || maker->devices->count < 2)
        return true;
    struct device_ranks ranks = {0};
    device_ranks_of(&ranks, maker->devices);
    bool ok = ranks.ranks.count < 2 ||
              (fill_ranks(maker, &ranks, err) && fill_meetings(maker, &ranks, err));
    device_ranks_free(&ranks);
    return ok;
}

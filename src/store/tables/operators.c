/*
 * Tables of operators and modules: their calls, and their time on devices.
 */
#include "store/tables/fill.h"

static void put_calls(struct filler *filler, const struct operator_summary *entry)
{
    struct rows *rows = &filler->rows;
    rows_int(rows, OPERATOR_CALLS, (int64_t)entry->host.count);
    rows_int(rows, OPERATOR_HOST_TIME, whole_ns(entry->host.total_ps));
    rows_int(rows, OPERATOR_HOST_SELF, whole_ns(entry->host.self_ps));
    rows_int(rows, OPERATOR_DEVICE_EVENTS, (int64_t)entry->device_events);
    rows_int(rows, OPERATOR_DEVICE_SELF, whole_ns(entry->self_ps));
    rows_int(rows, OPERATOR_DEVICE_TIME, whole_ns(entry->device_ps));
    rows_int(rows, OPERATOR_WITH_BACKWARD, whole_ns(entry->with_backward_ps));
    rows_double(rows, OPERATOR_PERCENT, entry->share * 100);
}

bool make_operator_summaries(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_OPERATOR_SUMMARIES, err);
    const operator_list *list = &maker->analysis->summary.operators;
    for (size_t i = 0; i < list->count && fill_continue(&filler); i++) {
        const struct operator_summary *entry = &list->items[i];
        fill_word(&filler, OPERATOR_NAME, entry->name);
        put_calls(&filler, entry);
        fill_word(&filler, OPERATOR_KIND,
                  entry->role == TYPE_OPERATOR ? TEXT("operator") : TEXT("annotation"));
    }
    return fill_end(&filler);
}

bool make_module_summaries(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_MODULE_SUMMARIES, err);
    const operator_list *list = &maker->analysis->summary.modules;
    for (size_t i = 0; i < list->count && fill_continue(&filler); i++) {
        fill_word(&filler, OPERATOR_NAME, list->items[i].name);
        put_calls(&filler, &list->items[i]);
    }
    return fill_end(&filler);
}

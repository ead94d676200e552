/*
 * Time on the device by operator, annotation and module: what each launched itself, what its calls
 * launched, and what the backward pass of all that launched.
 */
#include "analyze/profile/analysis_passes.h"

#include <stdatomic.h>

/* By call: time on the device of the calls inside it as well, and of their backward passes. */
struct call_times {
    int64_t *device_ps, *backward_ps;
};

static int64_t own_time(const struct call *call)
{
    return atomic_load_explicit(&call->device_ps, memory_order_relaxed);
}

/* Calls come after the calls around them. */
static void add_to_parents(const struct analysis *analysis, int64_t *times_ps)
{
    for (size_t i = analysis->calls.count; i > 0; i--) {
        uint32_t parent = analysis->calls.items[i - 1].parent;
        touch_event(i);
        if (parent != NO_INDEX)
            times_ps[parent] = add_saturated(times_ps[parent], times_ps[i - 1]);
    }
}

/* The innermost call around both, or NO_INDEX: of two calls, the later is not around the other. */
static uint32_t common_call(const struct analysis *analysis, uint32_t a, uint32_t b)
{
    enum { MAX_DEPTH = 1024 };
    for (unsigned i = 0; i < MAX_DEPTH && a != b && a != NO_INDEX && b != NO_INDEX; i++) {
        uint32_t *later = a > b ? &a : &b;
        *later = analysis->calls.items[*later].parent;
    }
    return a == b ? a : NO_INDEX;
}

/*
 * Credits the time of backward calls to the forward calls they belong to. Calls inside a backward
 * call that have its sequence number are part of it. A call around both has the time already.
 */
static void credit_forward(const struct analysis *analysis, struct call_times *times)
{
    size_t count = analysis->calls.count;
    uint32_t *around = mem_alloc(count * sizeof *around); /* the forward call of calls around it */
    for (size_t i = 0; i < count; i++) {
        const struct call *call = &analysis->calls.items[i];
        touch_event(i);
        around[i] = NO_INDEX;
        if (call->parent != NO_INDEX) {
            uint32_t forward = analysis->calls.items[call->parent].forward;
            around[i] = forward != NO_INDEX ? forward : around[call->parent];
        }
        if (call->forward == NO_INDEX || call->forward == around[i] || times->device_ps[i] == 0)
            continue;
        uint32_t common = common_call(analysis, (uint32_t)i, call->forward);
        mem_touched(MEM_JUMP);
        int64_t *credit = times->backward_ps;
        credit[call->forward] = add_saturated(credit[call->forward], times->device_ps[i]);
        if (common != NO_INDEX)
            credit[common] = sub_saturated(credit[common], times->device_ps[i]);
    }
    mem_free(around);
}

/* "Linear_3" of "nn.Module: Linear_3". */
static struct text call_name(const struct catalog *catalog, uint32_t type, enum type_role role)
{
    static const struct text prefix = {"nn.Module: ", 11};
    struct text name = catalog_text(catalog, catalog->types.items[type].name);
    size_t skipped = role == TYPE_MODULE ? prefix.size : 0;
    return (struct text){name.data + skipped, name.size - skipped};
}

/* A row for every name and role; types of equal name and role are one. */
static uint32_t *list_rows(const struct analysis *analysis, const struct type_totals *types,
                           operator_list *rows)
{
    const struct catalog *catalog = analysis->catalog;
    uint32_t *row_of_type = mem_alloc(catalog->types.count * sizeof *row_of_type);
    struct idmap known = {0};
    for (size_t i = 0; i < catalog->types.count; i++) {
        enum type_role role = (enum type_role)analysis->type_roles[i];
        row_of_type[i] = NO_INDEX;
        if (role != TYPE_OPERATOR && role != TYPE_ANNOTATION && role != TYPE_MODULE)
            continue;
        uint64_t key = (uint64_t)catalog->types.items[i].name << 8 | role;
        uint32_t row = idmap_get(&known, key);
        if (row == IDMAP_NONE) {
            row = (uint32_t)rows->count;
            idmap_put(&known, key, row);
            *array_push(rows) = (struct operator_summary){
                .name = call_name(catalog, (uint32_t)i, role), .role = role};
        }
        totals_merge(&rows->items[row].host, &types->host[i]);
        row_of_type[i] = row;
    }
    idmap_free(&known);
    return row_of_type;
}

static void add_own(struct operator_summary *row, const struct call *call)
{
    row->self_ps = add_saturated(row->self_ps, own_time(call));
    row->device_events += atomic_load_explicit(&call->device_events, memory_order_relaxed);
}

/* Adds up the calls: what was launched in a call is its operator's own, and its module's. */
static void add_calls(const struct analysis *analysis, const struct call_times *times,
                      const uint32_t *row_of_type, operator_list *rows)
{
    const uint32_t *types = analysis->trace.type;
    size_t count = analysis->calls.count;
    uint32_t *module = mem_alloc(count * sizeof *module); /* at or around the call */
    for (size_t i = 0; i < count; i++) {
        const struct call *call = &analysis->calls.items[i];
        touch_event(i);
        struct operator_summary *row = &rows->items[row_of_type[types[call->index]]];
        if (call->is_outermost) {
            row->device_ps = add_saturated(row->device_ps, times->device_ps[i]);
            row->with_backward_ps = add_saturated(
                row->with_backward_ps, add_saturated(times->device_ps[i], times->backward_ps[i]));
        }
        module[i] = row->role == TYPE_MODULE   ? (uint32_t)i
                    : call->parent == NO_INDEX ? NO_INDEX
                                               : module[call->parent];
        if (call->operator!= NO_INDEX)
            add_own(&rows->items[row_of_type[types[analysis->calls.items[call->operator].index]]],
                    call);
        if (module[i] != NO_INDEX)
            add_own(&rows->items[row_of_type[types[analysis->calls.items[module[i]].index]]], call);
    }
    mem_free(module);
}

static bool by_device_time(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct operator_summary *m = a, *n = b;
    if (m->self_ps != n->self_ps)
        return m->self_ps > n->self_ps;
    if (m->device_ps != n->device_ps)
        return m->device_ps > n->device_ps;
    if (m->with_backward_ps != n->with_backward_ps)
        return m->with_backward_ps > n->with_backward_ps;
    if (m->role != n->role)
        return m->role < n->role;
    return text_compare(m->name, n->name) < 0;
}

static void rank_operators(const struct analysis *analysis, operator_list *list)
{
    double whole = 0;
    const struct ranked *work;
    array_each (work, &analysis->summary.kernels)
        whole += (double)work->totals.total_ps;
    array_each (work, &analysis->summary.copies)
        whole += (double)work->totals.total_ps;
    for (size_t i = 0; i < list->count; i++)
        list->items[i].share = whole > 0 ? (double)list->items[i].self_ps / whole : 0;
    sort_items(list->items, list->count, sizeof *list->items, by_device_time, NULL);
}

/* Device time goes from callees to callers, and that of backward calls to their forward calls,
 * before rows are made. The order of passes matters. */
void summarize_operators(struct analysis *analysis, const struct type_totals *types)
{
    size_t count = analysis->calls.count;
    if (count == 0)
        return;
    struct call_times times = {mem_alloc(count * sizeof(int64_t)),
                               mem_zeroed(count, sizeof(int64_t))};
    for (size_t i = 0; i < count; i++) {
        touch_event(i);
        times.device_ps[i] = own_time(&analysis->calls.items[i]);
    }
    add_to_parents(analysis, times.device_ps);
    credit_forward(analysis, &times);
    list_module_paths(analysis, times.backward_ps, &analysis->summary.modules);
    add_to_parents(analysis, times.backward_ps);
    operator_list rows = {0};
    uint32_t *row_of_type = list_rows(analysis, types, &rows);
    add_calls(analysis, &times, row_of_type, &rows);
    struct operator_summary *row;
    array_each (row, &rows) {
        if (row->host.count == 0)
            continue; /* only named in the capture */
        *array_push(row->role == TYPE_MODULE ? &analysis->summary.modules
                                             : &analysis->summary.operators) = *row;
    }
    rank_operators(analysis, &analysis->summary.operators);
    rank_operators(analysis, &analysis->summary.modules);
    array_free(&rows);
    mem_free(row_of_type);
    mem_free(times.device_ps);
    mem_free(times.backward_ps);
}

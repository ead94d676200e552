/*
 * Time on the device by module where operators say which module they ran in: TorchScript's "Module
 * Hierarchy", "TOP(Net)::forward.conv(Conv2d)::forward". A module has no call of its own then: it
 * has the operators that name it, and those of the modules inside it.
 */
#include "analyze/profile/analysis_passes.h"

#include <stdatomic.h>

/* The operators that name one path. */
struct path_sums {
    uint32_t path; /* string */
    struct operator_summary sums;
};

struct path_list {
    ARRAY(struct path_sums) items;
    struct idmap by_path;
};

static struct path_sums *sums_of(struct path_list *list, uint32_t path)
{
    uint32_t at = idmap_get(&list->by_path, path);
    if (at == IDMAP_NONE) {
        at = (uint32_t)list->items.count;
        idmap_put(&list->by_path, path, at);
        *array_push(&list->items) = (struct path_sums){.path = path};
    }
    return &list->items.items[at];
}

/* By call: the path it names, or that the calls around it do; NULL if none does. */
static uint32_t *paths_of_calls(const struct analysis *analysis)
{
    uint32_t *paths = NULL;
    for (size_t i = 0; i < analysis->marks.count; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        touch_event(i);
        uint32_t call = mark->kind == MARK_MODULE_PATH
                            ? find_call(analysis, mark->ref.track, mark->ref.event)
                            : NO_INDEX;
        if (call == NO_INDEX)
            continue;
        if (!paths)
            paths = mem_zeroed(analysis->calls.count, sizeof *paths);
        paths[call] = (uint32_t)mark->id;
    }
    for (size_t i = 0; i < analysis->calls.count && paths; i++) {
        uint32_t parent = analysis->calls.items[i].parent;
        touch_event(i);
        if (!paths[i] && parent != NO_INDEX)
            paths[i] = paths[parent];
    }
    return paths;
}

static void add_call(const struct analysis *analysis, const uint32_t *paths,
                     const int64_t *backward_ps, size_t number, struct path_list *list)
{
    const struct call *call = &analysis->calls.items[number];
    struct operator_summary *sums = &sums_of(list, paths[number])->sums;
    int64_t device = atomic_load_explicit(&call->device_ps, memory_order_relaxed);
    int64_t duration = analysis->trace.duration_ps[call->index];
    sums->device_events += atomic_load_explicit(&call->device_events, memory_order_relaxed);
    sums->self_ps = add_saturated(sums->self_ps, device);
    sums->with_backward_ps =
        add_saturated(sums->with_backward_ps, add_saturated(device, backward_ps[number]));
    if (call->parent == NO_INDEX || paths[call->parent] != paths[number])
        totals_add(&sums->host, 1, duration, duration); /* the outermost operators in it */
}

/* Adds what one path has to the module at its end and to those around it. */
static void add_path(const struct analysis *analysis, const struct path_sums *path,
                     struct intern *rows, operator_list *modules)
{
    enum { MAX_DEPTH = 256 };
    struct text text = catalog_text(analysis->catalog, path->path);
    while (text.size > 0 && text.data[text.size - 1] == '.')
        text.size--;
    unsigned depth = 0;
    for (size_t end = 1; end <= text.size && depth < MAX_DEPTH; end++) {
        if (end < text.size && text.data[end] != '.')
            continue;
        struct text name = {text.data, end};
        uint32_t number = intern_add(rows, name) - 1; /* 0 is the empty text */
        if (number == modules->count)
            *array_push(modules) = (struct operator_summary){.name = name, .role = TYPE_MODULE};
        struct operator_summary *module = &modules->items[number];
        module->device_ps = add_saturated(module->device_ps, path->sums.self_ps);
        module->with_backward_ps =
            add_saturated(module->with_backward_ps, path->sums.with_backward_ps);
        struct totals host = path->sums.host;
        host.self_ps = end == text.size ? host.self_ps : 0;
        totals_merge(&module->host, &host);
        if (end == text.size) {
            module->self_ps = path->sums.self_ps;
            module->device_events = path->sums.device_events;
        }
        depth++;
    }
}

void list_module_paths(const struct analysis *analysis, const int64_t *backward_ps,
                       operator_list *modules)
{
    uint32_t *paths = paths_of_calls(analysis);
    if (!paths)
        return;
    struct path_list list = {0};
    for (size_t i = 0; i < analysis->calls.count; i++) {
        touch_event(i);
        if (paths[i])
            add_call(analysis, paths, backward_ps, i, &list);
    }
    struct intern rows;
    intern_init(&rows);
    const struct path_sums *path;
    array_each (path, &list.items)
        add_path(analysis, path, &rows, modules);
    intern_free(&rows);
    array_free(&list.items);
    idmap_free(&list.by_path);
    mem_free(paths);
}

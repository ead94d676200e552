/*
 * XPlane export: stats that XProf needs in a torch.profiler capture, added to the args it has.
 * Kernels get their details as one text, launches and device work the id that links them, steps the
 * marks of jax.profiler.StepTraceAnnotation.
 */
#include "export/xplane/writer_passes.h"

#include <stdlib.h>

/* By number of the stat. */
static const struct text stat_names[XPROF_STATS] = {
    [XPROF_CORRELATION] = {"correlation_id", 14},
    [XPROF_KERNEL_DETAILS] = {"kernel_details", 14},
    [XPROF_ROOT] = {"_r", 2},
    [XPROF_STEP] = {"step_num", 8},
};

/* Args of torch.profiler. */
static const struct text arg_names[XPROF_ARGS] = {
    [XPROF_ARG_CORRELATION] = {"correlation", 11},
    [XPROF_ARG_GRID] = {"grid", 4},
    [XPROF_ARG_BLOCK] = {"block", 5},
    [XPROF_ARG_REGISTERS] = {"registers per thread", 20},
    [XPROF_ARG_SHARED] = {"shared memory", 13},
    [XPROF_ARG_OCCUPANCY] = {"est. achieved occupancy %", 25},
};

static const struct text STEP_PREFIX = {"ProfilerStep#", 13};

void xspace_xprof_init(struct xspace *space)
{
    struct catalog *catalog = &space->source->catalog;
    struct xspace_xprof *xprof = &space->xprof;
    xprof->is_needed =
        intern_find(&catalog->strings, arg_names[XPROF_ARG_CORRELATION]) != INTERN_NONE &&
        !space->is_copy;
    if (!xprof->is_needed)
        return;
    for (size_t i = 0; i < XPROF_STATS; i++)
        xprof->stats[i] = catalog_string(catalog, stat_names[i]);
    for (size_t i = 0; i < XPROF_ARGS; i++)
        xprof->args[i] = intern_find(&catalog->strings, arg_names[i]);
}

void xspace_xprof_uses(const struct xspace *space, xspace_uses *uses)
{
    for (uint32_t plane = 0; plane < space->planes.count && space->xprof.is_needed; plane++) {
        uint32_t source = space->planes.items[plane].source;
        if (source == TRACK_NONE || space->catalog->tracks.items[source].source == SOURCE_OTHER)
            continue;
        for (size_t i = 0; i < XPROF_STATS; i++)
            *array_push(uses) = xspace_use(plane, USE_KEY, space->xprof.stats[i]);
    }
}

static const struct arg *find(const struct xspace *space, const struct arg_list *args,
                              enum xprof_arg which)
{
    for (uint32_t i = 0; i < args->count; i++)
        if (args->items[i].key == space->xprof.args[which])
            return &args->items[i];
    return NULL;
}

/* "[4, 106, 1]" as "4,106,1". */
static bool put_triple(struct output *out, const char *name, const struct arg *arg)
{
    if (!arg || arg->type != ARG_JSON || arg->size < 2 || arg->data[0] != '[')
        return false;
    output_text(out, name);
    for (uint32_t i = 1; i + 1 < arg->size; i++)
        if ((arg->data[i] >= '0' && arg->data[i] <= '9') || arg->data[i] == ',')
            output_char(out, (char)arg->data[i]);
    return true;
}

/* The details of a kernel; false for other events. */
static bool put_details(const struct xspace *space, const struct arg_list *args, struct output *out)
{
    const struct arg *registers = find(space, args, XPROF_ARG_REGISTERS);
    const struct arg *shared = find(space, args, XPROF_ARG_SHARED);
    const struct arg *occupancy = find(space, args, XPROF_ARG_OCCUPANCY);
    if (!registers && !shared)
        return false;
    output_format(out, "regs:%lld static_shared:0 dynamic_shared:%lld",
                  registers ? (long long)arg_integer(registers) : 0LL,
                  shared ? (long long)arg_integer(shared) : 0LL);
    if (!put_triple(out, " grid:", find(space, args, XPROF_ARG_GRID)) ||
        !put_triple(out, " block:", find(space, args, XPROF_ARG_BLOCK)))
        return false;
    output_format(out, " occ_pct:%g", occupancy ? arg_number(occupancy) : 0.0);
    return true;
}

static void put_stat(const struct xspace *space, const struct xspace_plane *plane,
                     struct output *out, enum xprof_stat which, struct arg arg)
{
    uint64_t id = xspace_stat_id(plane, space->xprof.stats[which]);
    xspace_put_stat(space, plane, out, XEVENT_STATS, id, &arg);
}

static void put_kernel_details(const struct xspace *space, const struct xspace_plane *plane,
                               const struct arg_list *args, struct output *out)
{
    struct output text;
    output_memory(&text);
    if (put_details(space, args, &text))
        put_stat(space, plane, out, XPROF_KERNEL_DETAILS,
                 (struct arg){.type = ARG_TEXT,
                              .size = text.size & ARG_LARGEST,
                              .data = (const uint8_t *)text.data});
    output_discard(&text);
}

void xspace_put_xprof_stats(const struct xspace *space, const struct xspace_plane *plane,
                            uint32_t type, const struct arg_list *args, struct output *out)
{
    const struct catalog *catalog = space->catalog;
    enum source_role role = catalog->tracks.items[plane->source].source;
    if (!space->xprof.is_needed || role == SOURCE_OTHER)
        return;
    const struct arg *correlation = find(space, args, XPROF_ARG_CORRELATION);
    if (correlation && arg_integer(correlation) > 0) /* XProf reads it as unsigned only */
        put_stat(space, plane, out, XPROF_CORRELATION,
                 (struct arg){.type = ARG_UINT, .integer = arg_integer(correlation)});
    if (role == SOURCE_DEVICE) {
        put_kernel_details(space, plane, args, out);
        return;
    }
    struct text name = catalog_text(catalog, catalog->types.items[type].name);
    if (!text_starts(name, STEP_PREFIX))
        return;
    put_stat(space, plane, out, XPROF_ROOT, (struct arg){.type = ARG_INT, .integer = 1});
    put_stat(
        space, plane, out, XPROF_STEP,
        (struct arg){.type = ARG_INT, .integer = strtoll(name.data + STEP_PREFIX.size, NULL, 10)});
}

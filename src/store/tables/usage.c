/*
 * Tables of CPU and memory usage of the hosts.
 */
#include "store/tables/fill.h"

static bool put_cpu(void *context, const struct usage_sample *sample)
{
    struct filler *filler = context;
    rows_int(&filler->rows, CPU_TIME, whole_ns(sample->time_ps));
    rows_double(&filler->rows, CPU_PERCENT, sample->value);
    rows_name(&filler->rows, CPU_ID, sample->name);
    rows_name(&filler->rows, CPU_INSTANCE, sample->instance);
    rows_nulls(&filler->rows, CPU_ULTRASERVER, 1);
    rows_nulls(&filler->rows, CPU_ULTRASERVER_INDEX, 1);
    return fill_continue(filler);
}

bool make_cpu_usage(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_CPU_USAGE, err);
    analysis_cpu_usage(maker->analysis, put_cpu, &filler);
    return fill_end(&filler);
}

static bool put_memory(void *context, const struct usage_sample *sample)
{
    struct filler *filler = context;
    rows_int(&filler->rows, MEMORY_TIME, whole_ns(sample->time_ps));
    bool is_size = sample->value >= 0 && sample->value < 0x1p63;
    fill_index(filler, MEMORY_USED, is_size, is_size ? (uint64_t)sample->value : 0);
    fill_double(filler, MEMORY_PERCENT, sample->percent);
    rows_name(&filler->rows, MEMORY_INSTANCE, sample->instance);
    rows_nulls(&filler->rows, MEMORY_ULTRASERVER, 1);
    rows_nulls(&filler->rows, MEMORY_ULTRASERVER_INDEX, 1);
    return fill_continue(filler);
}

bool make_memory_usage(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_HOST_MEMORY, err);
    analysis_memory_usage(maker->analysis, put_memory, &filler);
    return fill_end(&filler);
}

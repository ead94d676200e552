/*
 * The stage Clock: reads the sample of collectives' ends, aligns the machines' clocks.
 */
#include "report/fleet/clock.h"
#include "report/fleet/work.h"

struct clock_stage {
    struct intern machines; /* id - 1 is the machine's number */
    ARRAY(struct clock_sample) samples;
};

static bool add_machine(void *context, const struct sql_result *result, size_t row)
{
    struct clock_stage *stage = context;
    intern_add(&stage->machines, sql_value(result, row, 0));
    return true;
}

static bool add_sample(void *context, const struct sql_result *result, size_t row)
{
    struct clock_stage *stage = context;
    *array_push(&stage->samples) = (struct clock_sample){
        .match = (uint32_t)row_integer(result, row, 0),
        .machine = intern_add(&stage->machines, sql_value(result, row, 1)) - 1,
        .time_ns = row_number(result, row, 2)};
    return true;
}

static bool read_origin(void *context, const struct sql_result *result, size_t row)
{
    *(int64_t *)context = row_integer(result, row, 0);
    return true;
}

static const char *const columns[][2] = {{"instance", "VARCHAR"},   {"offset_ns", "DOUBLE"},
                                         {"drift_ppm", "DOUBLE"},   {"error_ns", "DOUBLE"},
                                         {"samples", "BIGINT"},     {"component", "BIGINT"},
                                         {"reference_ns", "BIGINT"}};

static bool write_clocks(struct fleet_analysis *analysis, const struct clock_stage *stage,
                         int64_t origin_ns, struct error *err)
{
    size_t machines = stage->machines.by_id.count - 1;
    struct machine_clock *clocks = mem_zeroed(machines + 1, sizeof *clocks);
    double reference;
    clocks_fit(stage->samples.items, stage->samples.count, clocks, machines, &reference);
    struct values values;
    values_begin(&values, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < machines; i++) {
        values_put_text(&values, intern_text(&stage->machines, i + 1).data);
        const double known[] = {clocks[i].offset_ns, clocks[i].drift_ppm, clocks[i].error_ns};
        for (size_t at = 0; at < sizeof known / sizeof *known; at++)
            if (clocks[i].samples > 0)
                values_put_number(&values, known[at]);
            else
                values_put_null(&values); /* nothing to compare it with */
        values_put_integer(&values, (int64_t)clocks[i].samples);
        values_put_integer(&values, clocks[i].component);
        values_put_integer(&values, origin_ns + (int64_t)reference);
    }
    mem_free(clocks);
    return values_end(&values, analysis, "Clock", err);
}

bool stage_clocks(struct fleet_analysis *analysis, struct error *err)
{
    struct clock_stage stage = {0};
    int64_t origin_ns = 0;
    intern_init(&stage.machines);
    bool ok = each_row(analysis, "SELECT DISTINCT instance FROM Lane ORDER BY instance",
                       add_machine, &stage, err) &&
              each_row(analysis, "SELECT origin_ns FROM Run", read_origin, &origin_ns, err) &&
              each_row(analysis,
                       "SELECT match, instance, end_ns FROM ClockSample ORDER BY match, instance",
                       add_sample, &stage, err) &&
              write_clocks(analysis, &stage, origin_ns, err);
    intern_free(&stage.machines);
    array_free(&stage.samples);
    return ok;
}

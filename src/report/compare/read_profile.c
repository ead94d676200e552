/*
 * Reads what is compared of a profile, by a query for each kind of rows.
 */
#include "report/compare/embedded_queries.h"
#include "report/compare/side.h"

#include <math.h>

const char *const step_part_names[BREAKDOWN_PARTS] = {
    "computation in 16 bits",
    "computation in 32 bits",
    "other computation",
    "exposed collectives",
    "copies on and between devices",
    "copies to the host",
    "copies from the host",
    "input wait",
    "host computation",
    "kernel launch",
    "compilation",
    "other",
};

static void take_step(struct reading *reading, const struct sql_result *result, size_t row,
                      enum diff_kind kind)
{
    enum { ID, NUMBER, START, DEVICES, DURATION, PARTS, IDLE = PARTS + BREAKDOWN_PARTS };
    struct diff_side *side = reading->side;
    uint32_t index = (uint32_t)side->steps.count;
    struct side_step *step = array_push(&side->steps);
    (void)kind;
    *step = (struct side_step){
        .id = (int64_t)number_of(sql_value(result, row, ID)),
        .number = (int64_t)number_of(sql_value(result, row, NUMBER)),
        .start_ns = (int64_t)number_of(sql_value(result, row, START)),
        .duration_ns = number_of(sql_value(result, row, DURATION)),
        .devices = number_of(sql_value(result, row, DEVICES)),
        .has_parts = sql_value(result, row, PARTS).data != NULL,
    };
    idmap_put(&reading->steps, (uint64_t)step->id, index);
    add_step_row(side, STEP_TIME, index, step->duration_ns);
    for (size_t i = 0; step->has_parts && i < BREAKDOWN_PARTS; i++)
        add_step_row(side, step_part_names[i], index, number_of(sql_value(result, row, PARTS + i)));
    double idle = number_of(sql_value(result, row, IDLE));
    if (!isnan(idle))
        add_step_row(side, "device idle", index, idle);
}

static void take_devices(struct reading *reading, const struct sql_result *result, size_t row,
                         enum diff_kind kind)
{
    enum { COUNT, NAME, SPAN };
    static const char *const names[] = {"time from first to last work", "device busy",
                                        "device idle"};
    struct diff_side *side = reading->side;
    struct text name = sql_value(result, row, NAME);
    side->device_count = (size_t)number_of(sql_value(result, row, COUNT));
    side->device_name = name.data ? mem_copy_text(name.data, name.size) : NULL;
    for (size_t i = 0; side->device_count > 0 && i < sizeof names / sizeof *names; i++) {
        struct side_row *whole =
            row_for(side, kind, text_of(names[i]), TEXT("whole capture"), TEXT(""));
        whole->is_whole = true;
        whole->count = (double)side->device_count;
        whole->amount = number_of(sql_value(result, row, SPAN + i));
    }
}

/* Steps that all have the same number, as none is recorded, are distinguished by their order. */
static void number_steps(struct diff_side *side)
{
    for (size_t i = 1; i < side->steps.count; i++)
        if (side->steps.items[i].number != side->steps.items[0].number)
            return;
    for (size_t i = 0; side->steps.count > 1 && i < side->steps.count; i++)
        side->steps.items[i].number = (int64_t)i;
}

const struct side_query profile_queries[] = {
    {compare_sql_profile_steps, take_step, DIFF_STEPS},
    {compare_sql_profile_devices, take_devices, DIFF_STEPS},
    {compare_sql_profile_operators, take_value, DIFF_OPERATORS},
    {compare_sql_profile_families, take_value, DIFF_FAMILIES},
    {compare_sql_profile_kernels, take_value, DIFF_KERNELS},
    {compare_sql_profile_collectives, take_value, DIFF_COLLECTIVES},
    {compare_sql_profile_copies, take_value, DIFF_COPIES},
    {compare_sql_profile_host, take_value, DIFF_HOST},
    {compare_sql_profile_memory, take_value, DIFF_MEMORY},
};
const size_t profile_query_count = sizeof profile_queries / sizeof *profile_queries;

bool diff_read_profile(struct diff_side **side, const char *name, struct sql_connection *connection,
                       unsigned kinds, struct error *err)
{
    struct reading reading = reading_begin(name, connection);
    bool ok =
        present_find(&reading.side->present, connection, err) &&
        read_queries(&reading, profile_queries, profile_query_count, kinds | 1u << DIFF_STEPS, err);
    if (ok) {
        number_steps(reading.side);
        leave_out_warmup(reading.side);
    }
    return reading_end(&reading, ok, side);
}

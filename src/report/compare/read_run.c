/*
 * Reads what is compared of a run of many ranks, by a query for each kind of rows over all ranks.
 * A value of a step is a mean over the lanes (devices of ranks) that have it; Step, LaneStep,
 * CollectiveMatch and Run are results of the run's analysis (src/report/fleet/queries).
 */
#include "report/compare/embedded_queries.h"
#include "report/compare/side.h"

#include <inttypes.h>
#include <math.h>

/* Equal runs differ by about as much, by the clocks, cooling and cables of the devices they get:
 * rows by RUN_TOLERANCE of themselves, parts and waits of the step time, ranks of the own time of
 * the median one. Below a ten-thousandth of the step time nothing matters. */
#define RANK_TOLERANCE 0.02
#define MIN_SHARE      0.0001

/* Ranks are compared by means over this many blocks of steps at most, operators of this many ranks:
 * the amount read does not grow with steps times ranks. */
enum { MAX_BLOCKS = 64, MAX_OPERATOR_RANKS = 32 };

const struct diff_run_table diff_run_tables[] = {
    {&table_schemas[TABLE_RANK_STEPS], 0},
    {&table_schemas[TABLE_RANK_KERNELS], 0},
    {&table_schemas[TABLE_KERNELS], MAX_OPERATOR_RANKS},
    {&table_schemas[TABLE_COPIES], MAX_OPERATOR_RANKS},
    {&table_schemas[TABLE_STEPS], MAX_OPERATOR_RANKS},
    {&table_schemas[TABLE_STEP_BREAKDOWNS], MAX_OPERATOR_RANKS},
    {&table_schemas[TABLE_OPERATIONS], MAX_OPERATOR_RANKS},
    {&table_schemas[TABLE_EVENTS], MAX_OPERATOR_RANKS},
};
const size_t diff_run_table_count = sizeof diff_run_tables / sizeof *diff_run_tables;

const char *const run_part_names[RUN_PARTS] = {
    "compute",
    "exposed communication",
    "copies",
    "idle: waits for the host",
    "idle: between kernels",
    "idle: other",
};
static const char *const further_names[] = {
    "communication",
    "communication beside compute",
    "idle",
    "own time of the median rank",
    "own time of the slowest rank",
};
enum { FURTHER = sizeof further_names / sizeof *further_names };

static void take_run(struct reading *reading, const struct sql_result *result, size_t row,
                     enum diff_kind kind)
{
    enum { RANKS, WORLD_SIZE, DEVICE, LANES };
    struct diff_side *side = reading->side;
    struct text name = sql_value(result, row, DEVICE);
    (void)kind;
    side->is_run = true;
    side->rank_count = (uint64_t)number_of(sql_value(result, row, RANKS));
    side->world_size = (uint64_t)number_of(sql_value(result, row, WORLD_SIZE));
    side->device_count = (size_t)number_of(sql_value(result, row, LANES));
    side->device_name = name.data ? mem_copy_text(name.data, name.size) : NULL;
}

/* Collectives are known only for steps that were matched over ranks; other steps mark that kind as
 * unread, so that its absence does not count as 0. */
static void take_step(struct reading *reading, const struct sql_result *result, size_t row,
                      enum diff_kind kind)
{
    enum { STEP, START, DURATION, LANES, IS_MATCHED, PARTS, OTHERS = PARTS + RUN_PARTS };
    struct diff_side *side = reading->side;
    uint32_t index = (uint32_t)side->steps.count;
    struct side_step *step = array_push(&side->steps);
    bool is_matched = text_equal(sql_value(result, row, IS_MATCHED), TEXT("true"));
    int64_t number = (int64_t)number_of(sql_value(result, row, STEP));
    (void)kind;
    *step = (struct side_step){
        .id = number,
        .number = number,
        .start_ns = (int64_t)number_of(sql_value(result, row, START)),
        .duration_ns = number_of(sql_value(result, row, DURATION)),
        .devices = number_of(sql_value(result, row, LANES)),
        .has_parts = true,
        .kinds_left = is_matched ? 0 : 1u << DIFF_COLLECTIVES,
    };
    idmap_put(&reading->steps, (uint64_t)step->id, index);
    add_step_row(side, STEP_TIME, index, step->duration_ns);
    for (size_t i = 0; i < RUN_PARTS; i++)
        add_step_row(side, run_part_names[i], index, number_of(sql_value(result, row, PARTS + i)));
    for (size_t i = 0; i < FURTHER; i++)
        add_step_row(side, further_names[i], index, number_of(sql_value(result, row, OTHERS + i)));
}

static void take_kernel(struct reading *reading, const struct sql_result *result, size_t row,
                        enum diff_kind kind)
{
    enum { IS_COPY = 8 };
    bool is_copy = text_equal(sql_value(result, row, IS_COPY), TEXT("true"));
    take_value(reading, result, row, is_copy ? DIFF_COPIES : kind);
}

/* A rank or a machine in a block of steps. */
static void take_rank(struct reading *reading, const struct sql_result *result, size_t row,
                      enum diff_kind kind)
{
    enum { NAME, MACHINE, BLOCK, COUNT, EXCESS };
    struct side_row *rank = row_for(reading->side, kind, sql_value(result, row, NAME),
                                    sql_value(result, row, MACHINE), TEXT(""));
    double count = number_of(sql_value(result, row, COUNT));
    double excess = number_of(sql_value(result, row, EXCESS));
    int64_t block = (int64_t)number_of(sql_value(result, row, BLOCK));
    rank->count += count;
    rank->amount += count * excess;
    add_value(rank, idmap_get(&reading->steps, (uint64_t)block), 1, excess);
}

static void take_bandwidth(struct reading *reading, const struct sql_result *result, size_t row,
                           enum diff_kind kind)
{
    enum { NAME, LAYER, SHAPE, SKEW, BANDWIDTH };
    struct side_row *found = row_for(reading->side, kind, sql_value(result, row, NAME),
                                     sql_value(result, row, LAYER), sql_value(result, row, SHAPE));
    found->skew = number_of(sql_value(result, row, SKEW));
    found->bandwidth = number_of(sql_value(result, row, BANDWIDTH));
}

/* Has the steps that count as a table, with the first step of the block that each is in; ranks
 * have a value in that step alone. */
static void define_kept(struct reading *reading)
{
    struct diff_side *side = reading->side;
    size_t blocks = side->kept < MAX_BLOCKS ? side->kept : MAX_BLOCKS, at = 0, last = SIZE_MAX;
    int64_t first = 0;
    struct side_step *step;
    output_text(&reading->definitions, "kept(step, block) AS (VALUES ");
    array_each (step, &side->steps) {
        step->kinds_left |= 1u << DIFF_RANKS | 1u << DIFF_MACHINES;
        if (step->is_left_out)
            continue;
        size_t block = at * blocks / side->kept;
        if (block != last) {
            first = step->number;
            step->kinds_left &= ~(1u << DIFF_RANKS | 1u << DIFF_MACHINES);
        }
        output_format(&reading->definitions, "%s(%" PRId64 ", %" PRId64 ")", at++ ? ", " : "",
                      step->number, first);
        last = block;
    }
    output_text(&reading->definitions, "), ");
}

/* Mean of a row over the steps that count. */
static double mean_of(const struct diff_side *side, const char *name)
{
    const struct side_row *row;
    const struct step_value *value;
    double sum = 0;
    array_each (row, &side->rows)
        if (row->kind == DIFF_STEPS && text_equal(row->name, text_of(name)))
            array_each (value, &row->values)
                sum += side->steps.items[value->step].is_left_out ? 0 : value->amount;
    return sum / (double)side->kept;
}

/* Fields of rows that do not come from queries. */
static void complete_rows(struct diff_side *side)
{
    double step_ns = mean_of(side, STEP_TIME);
    struct side_row *row;
    side->own_ns = mean_of(side, "own time of the median rank");
    array_each (row, &side->rows) {
        row->has_loose_layer = row->kind == DIFF_RANKS || row->kind == DIFF_COLLECTIVES;
        row->tolerance = MIN_SHARE * step_ns;
        if (row->kind == DIFF_STEPS || row->is_communication)
            row->tolerance = RUN_TOLERANCE * step_ns;
        if (row->kind == DIFF_RANKS || row->kind == DIFF_MACHINES)
            row->tolerance = RANK_TOLERANCE * side->own_ns;
    }
}

static bool read_steps(struct reading *reading, struct error *err)
{
    bool ok = read_rows(reading, compare_sql_run, take_run, DIFF_STEPS, err) &&
              read_rows(reading, compare_sql_run_steps, take_step, DIFF_STEPS, err);
    if (ok)
        leave_out_warmup(reading->side);
    return ok;
}

static bool read_all(struct reading *reading, struct error *err)
{
    static const struct side_query queries[] = {
        {compare_sql_run_kernels, take_kernel, DIFF_KERNELS},
        {compare_sql_run_collectives, take_value, DIFF_COLLECTIVES},
        {compare_sql_run_bandwidths, take_bandwidth, DIFF_COLLECTIVES},
        {compare_sql_run_ranks, take_rank, DIFF_RANKS},
        {compare_sql_run_machines, take_rank, DIFF_MACHINES},
        {compare_sql_run_operators, take_value, DIFF_OPERATORS},
    };
    if (!read_steps(reading, err))
        return false;
    if (reading->side->kept == 0)
        return true;
    define_kept(reading);
    bool ok = read_queries(reading, queries, sizeof queries / sizeof *queries, DIFF_ALL_KINDS, err);
    if (ok)
        complete_rows(reading->side);
    return ok;
}

bool diff_read_run(struct diff_side **side, const char *name, struct sql_connection *connection,
                   struct error *err)
{
    struct reading reading = reading_begin(name, connection);
    return reading_end(&reading, read_all(&reading, err), side);
}

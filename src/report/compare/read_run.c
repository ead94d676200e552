/*
 * Reads what is compared of a run of many ranks, by a query for each kind of rows over all ranks.
 * A value of a step is a mean over the lanes (devices of ranks) that have it; Step, LaneStep,
 * CollectiveMatch and Run are results of the run's analysis (src/report/fleet/queries).
 */
#include "report/compare/operators.h"
#include "report/compare/side.h"

#include <inttypes.h>
#include <math.h>

/* Equal runs differ by about as much, by the clocks, cooling and cables of the devices they get:
 * rows by RUN_TOLERANCE of themselves, parts and waits of the step time, ranks of the own time of
 * the median one. Below a ten-thousandth of the step time nothing matters. */
#define RANK_TOLERANCE 0.02
#define MIN_SHARE      0.0001

/* Ranks are compared by means over so many blocks of steps at most, operators of so many ranks:
 * what is read does not grow with steps times ranks. */
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

/* SQL has its own lines. */
/* clang-format off */

static const char run_sql[] =
    "SELECT ranks, greatest(world_size, ranks), device_name, (SELECT count(*) FROM Lane) FROM Run";

/* Steps that most lanes have: captures may begin and end in different ones. */
static const char steps_sql[] =
    ", means AS (SELECT step, count(*) AS lanes, avg(duration_ns) AS duration_ns,"
    " avg(compute_ns) AS compute_ns, avg(exposed_communication_ns) AS exposed_ns,"
    " avg(copy_ns) AS copy_ns, avg(idle_host_ns) AS idle_host_ns,"
    " avg(idle_kernel_ns) AS idle_kernel_ns, avg(idle_other_ns) AS idle_other_ns,"
    " avg(communication_ns) AS communication_ns, avg(overlap_ns) AS overlap_ns,"
    " avg(idle_ns) AS idle_ns FROM ranks.RankStep GROUP BY step)"
    " SELECT m.step, s.start_ns, m.duration_ns, m.lanes, matched.step IS NOT NULL,"
    " compute_ns, exposed_ns, copy_ns, idle_host_ns, idle_kernel_ns, idle_other_ns,"
    " communication_ns, overlap_ns, idle_ns, s.own_ns, s.max_own_ns"
    " FROM means m JOIN Step s ON s.step = m.step"
    " LEFT JOIN MatchedStep matched ON matched.step = m.step"
    " WHERE 2 * m.lanes >= (SELECT max(lanes) FROM means) ORDER BY m.step";

/* Columns of rows: name, layer, shape, step, count, amount, inclusive, is_communication. */

/* And whether it is a copy: files of ranks are read once. */
static const char kernels_sql[] =
    "SELECT coalesce(name, '(other: ' || class || ')') AS name, '' AS layer, '' AS shape, step,"
    " sum(count), sum(total_ns), NULL, class = 'communication', class = 'copy'"
    " FROM ranks.RankKernel GROUP BY 1, step, class";

/* A kind of communicator is its name without numbers and ranks: "mesh_tp:3 [0, 1]" is mesh_tp. Where
 * an operation has many sizes, as if chosen by data, it is one row. */
#define COLLECTIVES                                                                                \
    ", named AS (SELECT *, coalesce(nullif(regexp_replace(regexp_replace(communicator,"            \
    " '\\s*[\\[{(].*$', ''), '[^a-zA-Z]*[0-9]+$', ''), ''), 'group') || ' of ' || group_size"      \
    " AS layer FROM CollectiveMatch)"                                                              \
    ", sizes AS (SELECT operation, layer, count(DISTINCT bytes) AS sizes FROM named GROUP BY ALL)" \
    ", collective AS (SELECT named.*, CASE WHEN sizes > 16 OR bytes IS NULL THEN '' ELSE"          \
    " format_bytes(bytes) END AS shape FROM named JOIN sizes USING (operation, layer))"

static const char collectives_sql[] =
    COLLECTIVES
    ", sums AS (SELECT operation, layer, shape, step, sum(ranks) AS count,"
    " sum(ranks * transfer_ns) AS transfer_ns, sum(waited_ns) AS waited_ns FROM collective"
    " GROUP BY ALL)"
    " SELECT operation, layer, shape, step, count, transfer_ns, NULL, false FROM sums"
    " UNION ALL SELECT 'waiting in ' || operation, layer, shape, step, count, waited_ns, NULL, true"
    " FROM sums";

static const char bandwidths_sql[] =
    COLLECTIVES
    " SELECT operation, layer, shape, median(skew_ns), median(bus_bandwidth) FROM collective"
    " WHERE step IN (SELECT step FROM kept) GROUP BY ALL";

/* Excess over the median of the program, in blocks of steps. */
static const char ranks_sql[] =
    "SELECT 'rank ' || s.rank || CASE WHEN l.device_count > 1 THEN ', device ' || s.device_idx"
    " ELSE '' END, l.instance, kept.block, count(*), avg(s.excess_ns) FROM LaneStep s"
    " JOIN kept ON kept.step = s.step"
    " JOIN Lane l ON l.rank = s.rank AND l.device_idx = s.device_idx GROUP BY ALL";

static const char machines_sql[] =
    ", machine AS (SELECT instance FROM Lane GROUP BY instance HAVING count(*) > 1)"
    " SELECT l.instance, '', kept.block, count(*), avg(s.excess_ns) FROM LaneStep s"
    " JOIN kept ON kept.step = s.step"
    " JOIN Lane l ON l.rank = s.rank AND l.device_idx = s.device_idx"
    " JOIN machine ON machine.instance = l.instance GROUP BY ALL";

/* Of some ranks, scaled to all. */
static const char operators_sql[] =
    ", total AS (SELECT step, count(*) AS lanes FROM LaneStep GROUP BY step)"
    ", part AS (SELECT step, count(*) AS lanes FROM LaneStep"
    " WHERE rank IN (SELECT rank FROM ranks.Step) GROUP BY step)"
    ", step_window AS (SELECT rank, step_id AS window_step, min(start_ts) AS window_start,"
    " max(start_ts + duration_ns) AS window_end FROM ranks.StepBreakdown GROUP BY ALL)"
    ", work AS (SELECT rank, operation_id, framework_op, framework_op_event_id, step_id, start_ts,"
    " duration_ns FROM ranks.GpuKernel UNION ALL SELECT rank, NULL, framework_op,"
    " framework_op_event_id, step_id, start_ts, duration_ns FROM ranks.GpuCopy)"
    ", placed AS (SELECT w.*, coalesce(w.step_id, CASE WHEN start_ts < window_end THEN window_step"
    " END) AS placed_step FROM work w ASOF LEFT JOIN step_window s ON s.rank = w.rank"
    " AND w.start_ts >= s.window_start)"
    ", hlo AS (SELECT rank, id, " HLO_COLUMNS " FROM ranks.HloOperation)"
    ", call AS (SELECT rank, id, " CALL_COLUMNS " FROM ranks.SystemProfileEvents"
    " WHERE (rank, id) IN (SELECT (rank, framework_op_event_id) FROM work))"
    ", named AS (SELECT coalesce(h.name, w.framework_op, " NO_OPERATOR ") AS name,"
    " coalesce(h.layer, c.layer, '') AS layer, coalesce(h.shape, c.shape, '') AS shape,"
    " s.number AS step, count(*) AS count, sum(w.duration_ns) AS amount FROM placed w"
    " JOIN ranks.Step s ON s.rank = w.rank AND s.id = w.placed_step"
    " LEFT JOIN hlo h ON h.rank = w.rank AND h.id = w.operation_id"
    " LEFT JOIN call c ON c.rank = w.rank AND c.id = w.framework_op_event_id GROUP BY ALL)"
    " SELECT name, layer, shape, step, count * total.lanes / part.lanes,"
    " amount * total.lanes / part.lanes, NULL, false FROM named"
    " JOIN total USING (step) JOIN part USING (step)";

/* clang-format on */

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

/* What of rows does not come from queries. */
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
    bool ok = read_rows(reading, run_sql, take_run, DIFF_STEPS, err) &&
              read_rows(reading, steps_sql, take_step, DIFF_STEPS, err);
    if (ok)
        leave_out_warmup(reading->side);
    return ok;
}

static bool read_all(struct reading *reading, struct error *err)
{
    static const struct side_query queries[] = {
        {kernels_sql, take_kernel, DIFF_KERNELS},
        {collectives_sql, take_value, DIFF_COLLECTIVES},
        {bandwidths_sql, take_bandwidth, DIFF_COLLECTIVES},
        {ranks_sql, take_rank, DIFF_RANKS},
        {machines_sql, take_rank, DIFF_MACHINES},
        {operators_sql, take_value, DIFF_OPERATORS},
    };
    if (!read_steps(reading, err))
        return false;
    if (reading->side->kept == 0)
        return true;
    define_kept(reading);
    bool ok = read_queries(reading, queries, sizeof queries / sizeof *queries, err);
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

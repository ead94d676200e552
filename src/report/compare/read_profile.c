/*
 * Reads what is compared of a profile, by a query for each kind of rows.
 */
#include "report/compare/operators.h"
#include "report/compare/side.h"
#include "report/nsight/stats.h"

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

static const enum table_number tables[] = {
    TABLE_EVENTS,      TABLE_KERNELS,     TABLE_COPIES,          TABLE_COLLECTIVES,
    TABLE_ALLOCATIONS, TABLE_STEPS,       TABLE_STEP_BREAKDOWNS, TABLE_DEVICES,
    TABLE_TRACKS,      TABLE_EVENT_TYPES, TABLE_PYTHON_FRAMES,   TABLE_OPERATIONS,
    TABLE_INSTRUCTION, TABLE_CC_OP,       TABLE_EXECUTION,
};

/* SQL has its own lines. */
/* clang-format off */

/* Of a device profile (NTFF) each execution is a step. */
static const char steps_sql[] =
    "SELECT s.id, any_value(s.number) AS number, min(coalesce(b.start_ts, s.start_ts)) AS start,"
    " avg(coalesce(b.duration_ns, s.duration_ns)) AS duration,"
    " greatest(count(b.step_id), 1) AS devices,"
    " avg(compute_16_ns), avg(compute_32_ns), avg(compute_other_ns), avg(collectives_ns),"
    " avg(device_to_device_ns), avg(device_to_host_ns), avg(host_to_device_ns),"
    " avg(input_wait_ns), avg(host_compute_ns), avg(kernel_launch_ns), avg(compile_ns),"
    " avg(other_ns), avg(b.idle_ns)"
    " FROM Step s LEFT JOIN StepBreakdown b ON b.step_id = s.id GROUP BY s.id"
    " UNION ALL SELECT execution_index, execution_index, min(execution_start_ts),"
    " avg(execution_end_ts - execution_start_ts), count(*), NULL, NULL, NULL, NULL, NULL, NULL,"
    " NULL, NULL, NULL, NULL, NULL, NULL, NULL"
    " FROM ExecutionInfo WHERE NOT EXISTS (SELECT 1 FROM Step) GROUP BY execution_index"
    " ORDER BY start, 1";

/* A table with the step of its rows: of those that are not known to belong to one, as their launch
 * is not known, the step in whose time they begin. Those that are known need no sorting by time. */
#define WINDOWS                                                                                    \
    ", step_window AS (SELECT step_id AS window_step, min(start_ts) AS window_start,"              \
    " max(start_ts + duration_ns) AS window_end FROM StepBreakdown GROUP BY step_id)"
#define WITH_STEPS(table)                                                                          \
    "(SELECT *, step_id AS step FROM " table " WHERE step_id IS NOT NULL UNION ALL"                \
    " SELECT alone.*, CASE WHEN start_ts < window_end THEN window_step END AS step FROM"           \
    " (SELECT * FROM " table " WHERE step_id IS NULL) alone"                                       \
    " ASOF LEFT JOIN step_window ON alone.start_ts >= window_start)"

/* Columns of rows: name, layer, shape, step, count, amount, inclusive, is_communication. */

/* Operations that devices other than GPUs recorded, as lanes of operations or engines. */
#define DEVICE_OPS                                                                                 \
    ", device_type AS (SELECT id, coalesce(" LAST_OF("json_extract_string(attributes_json,"        \
    " '$.tf_op')") ", display_name, name) AS name,"                                                \
    " " BEFORE_OF("json_extract_string(attributes_json, '$.tf_op')") " AS layer,"                  \
    " " WITHOUT_LAYOUT("json_extract_string(attributes_json, '$.shape_with_layout')") " AS shape," \
    " coalesce(regexp_matches(json_extract_string(attributes_json, '$.hlo_category'),"             \
    " '^(all-|reduce-scatter|collective-)'), false) AS is_collective FROM EventType),"             \
    " device_op AS (SELECT y.name, y.layer, y.shape, y.is_collective, e.step, e.duration_ns,"      \
    " e.self_ns FROM " WITH_STEPS("SystemProfileEvents") " e JOIN Track t ON t.id = e.track_id"    \
    " JOIN device_type y ON y.id = e.event_type_id WHERE e.trace_event_source LIKE '%hw'"          \
    " AND (t.role = 'ops' OR t.role = 'stream' AND e.trace_event_source <> 'gpu_hw')"              \
    " AND NOT EXISTS (SELECT 1 FROM Instruction))"

static const char operators_sql[] =
    WINDOWS DEVICE_OPS
    ", hlo AS (SELECT id, " HLO_COLUMNS " FROM HloOperation)"
    ", work AS (SELECT operation_id, framework_op, framework_op_event_id, k.step,"
    " duration_ns FROM " WITH_STEPS("GpuKernel") " k UNION ALL SELECT NULL, framework_op,"
    " framework_op_event_id, c.step, duration_ns FROM " WITH_STEPS("GpuCopy") " c)"
    ", call AS (SELECT id, " CALL_COLUMNS
    " FROM SystemProfileEvents WHERE id IN (SELECT framework_op_event_id FROM work))"
    " SELECT coalesce(h.name, w.framework_op, " NO_OPERATOR ") AS name,"
    " coalesce(h.layer, c.layer, '') AS layer, coalesce(h.shape, c.shape, '') AS shape,"
    " w.step, count(*) AS count, sum(w.duration_ns) AS amount, NULL AS inclusive,"
    " false AS is_communication FROM work w LEFT JOIN hlo h ON h.id = w.operation_id"
    " LEFT JOIN call c ON c.id = w.framework_op_event_id GROUP BY ALL"
    " UNION ALL SELECT name, layer, shape, step, count(*), sum(self_ns), sum(duration_ns),"
    " is_collective FROM device_op GROUP BY ALL"
    " UNION ALL SELECT coalesce(hlo_name, opcode), coalesce(layer, ''), '', execution_index,"
    " count(*), sum(duration_ns), NULL, false FROM Instruction GROUP BY ALL";

#define IS_NCCL "regexp_matches(name, 'nccl|rccl', 'i')"
/* Those of a NeuronCore are its instructions. */
static const char kernels_sql[] =
    WINDOWS
    " SELECT name, '' AS layer, '' AS shape, k.step, count(*) AS count,"
    " sum(duration_ns) AS amount, NULL AS inclusive, " IS_NCCL " AS is_communication"
    " FROM " WITH_STEPS("GpuKernel") " k GROUP BY ALL"
    " UNION ALL SELECT opcode, engine, '', execution_index, count(*), sum(duration_ns), NULL,"
    " false FROM Instruction GROUP BY ALL";

/* On the device where that is known, otherwise as the host called them. */
static const char collectives_sql[] =
    WINDOWS DEVICE_OPS
    ", known AS (SELECT c.*, e.step, e.trace_event_source LIKE '%hw' AS is_on_device"
    " FROM Collective c JOIN " WITH_STEPS("SystemProfileEvents") " e ON e.id = c.id)"
    " SELECT operation, coalesce(group_description, group_name, '') || coalesce(' of ' ||"
    " group_size, '') AS layer, coalesce(data_type, '') || coalesce('[' || greatest("
    "input_elements, output_elements) || ']', '') AS shape, step, count(*) AS count,"
    " sum(duration_ns) AS amount, NULL AS inclusive, true AS is_communication FROM known"
    " WHERE is_on_device OR NOT EXISTS (SELECT 1 FROM known WHERE is_on_device) GROUP BY ALL"
    " UNION ALL SELECT name, '', '', k.step, count(*), sum(duration_ns), NULL, true"
    " FROM " WITH_STEPS("GpuKernel") " k WHERE " IS_NCCL " AND id NOT IN (SELECT id FROM known)"
    " GROUP BY ALL"
    " UNION ALL SELECT name, layer, shape, step, count(*), sum(self_ns), sum(duration_ns), true"
    " FROM device_op WHERE is_collective GROUP BY ALL"
    " UNION ALL SELECT operation, 'ranks ' || replica_group, dtype || '[' || num_elements || ']',"
    " execution_index, count(*), sum(duration_ns), NULL, true FROM CcOp GROUP BY ALL";

static const char copies_sql[] =
    WINDOWS
    " SELECT name, '' AS layer, '' AS shape, c.step, count(*) AS count,"
    " sum(duration_ns) AS amount, NULL AS inclusive, false AS is_communication"
    " FROM " WITH_STEPS("GpuCopy") " c GROUP BY ALL";

/* Without frames of Python, of which tracing makes many, arrows and the frames of steps. What XLA
 * appends to a name, #key=value#, is of single calls. */
static const char host_sql[] =
    WINDOWS
    " SELECT CASE WHEN contains(e.name, '#') THEN regexp_replace(e.name, '#.*=.*#$', '') ELSE e.name"
    " END AS name, '' AS layer, CASE WHEN contains(extra_attributes_json, '\"Input Dims\"') THEN"
    " coalesce(json_extract(extra_attributes_json, '$.\"Input Dims\"')::VARCHAR, '') ELSE '' END"
    " AS shape, e.step, sum(coalesce(occurrence_count, 1)) AS count, sum(self_ns) AS amount,"
    " sum(duration_ns) AS inclusive, false AS is_communication"
    " FROM " WITH_STEPS("SystemProfileEvents") " e JOIN Track t ON t.id = e.track_id"
    " WHERE t.role = 'plain' AND trace_event_source NOT LIKE '%hw'"
    " AND trace_event_source <> 'other'"
    " AND event_type_id NOT IN (SELECT event_type_id FROM PythonFrame)"
    " AND event_type_id NOT IN (SELECT id FROM EventType WHERE"
    " json_extract_string(attributes_json, '$.cat') IN ('fwdbwd', 'ac2g'))"
    " AND e.id NOT IN (SELECT event_id FROM Step)"
    " AND e.id NOT IN (SELECT id FROM MemoryAllocation) GROUP BY ALL";

static const char memory_sql[] =
    ", allocation AS (SELECT *, coalesce(allocator_name, CASE WHEN device_idx < 0 THEN 'host'"
    " ELSE 'device ' || device_idx END, 'memory') AS place FROM MemoryAllocation)"
    " SELECT 'peak in use' AS name, place AS layer, '' AS shape, NULL AS step, count(*) AS count,"
    " max(greatest(coalesce(peak_bytes_in_use, 0), coalesce(bytes_allocated, 0))) AS amount,"
    " NULL AS inclusive, false AS is_communication FROM allocation GROUP BY place"
    " HAVING amount > 0"
    " UNION ALL SELECT 'peak reserved', place, '', NULL, count(*), max(bytes_reserved) AS amount,"
    " NULL, false FROM allocation GROUP BY place HAVING amount > 0";

static const char devices_sql[] =
    "SELECT count(*) AS count, any_value(name) AS name, avg(span_ns), avg(busy_ns), avg(idle_ns)"
    " FROM Device WHERE kind <> 'CPU'";

/* clang-format on */

static void take_step(struct reading *reading, const struct sql_result *result, size_t row,
                      enum diff_kind kind)
{
    enum { ID, NUMBER, START, DURATION, DEVICES, PARTS, IDLE = PARTS + BREAKDOWN_PARTS };
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

/* Steps that all have the same number, as none is recorded, are told apart by their order. */
static void number_steps(struct diff_side *side)
{
    for (size_t i = 1; i < side->steps.count; i++)
        if (side->steps.items[i].number != side->steps.items[0].number)
            return;
    for (size_t i = 0; side->steps.count > 1 && i < side->steps.count; i++)
        side->steps.items[i].number = (int64_t)i;
}

static bool read_all(struct reading *reading, struct error *err)
{
    static const struct side_query queries[] = {
        {steps_sql, take_step, DIFF_STEPS},
        {devices_sql, take_devices, DIFF_STEPS},
        {operators_sql, take_value, DIFF_OPERATORS},
        {kernels_sql, take_value, DIFF_KERNELS},
        {collectives_sql, take_value, DIFF_COLLECTIVES},
        {copies_sql, take_value, DIFF_COPIES},
        {host_sql, take_value, DIFF_HOST},
        {memory_sql, take_value, DIFF_MEMORY},
    };
    return read_queries(reading, queries, sizeof queries / sizeof *queries, err);
}

bool diff_read_profile(struct diff_side **side, const char *name, struct sql_connection *connection,
                       struct error *err)
{
    struct reading reading = reading_begin(name, connection);
    struct present_tables *present;
    bool ok = present_find(&present, connection, err);
    if (ok) {
        missing_put(&reading.definitions, present, tables, sizeof tables / sizeof *tables);
        present_free(present);
        ok = read_all(&reading, err);
    }
    if (ok) {
        number_steps(reading.side);
        leave_out_warmup(reading.side);
    }
    return reading_end(&reading, ok, side);
}

/*
 * Reads what is compared of a profile, by a query for each kind of rows.
 */
#include "diff/side.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

const char *const diff_kind_names[] = {"steps",  "operators", "kernels", "collectives",
                                       "copies", "host",      "memory",  NULL};

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

#define WITHOUT_LAYOUT(shape) "regexp_replace(coalesce(" shape ", ''), '\\{[^}]*\\}', '', 'g')"
#define LAST_OF(path)   "nullif(regexp_extract(" path ", '[^/]+$'), '')"
#define BEFORE_OF(path) "coalesce(nullif(regexp_extract(" path ", '^(.*)/[^/]+$', 1), ''), '')"

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
    ", hlo AS (SELECT id, coalesce(" LAST_OF("op_name") ", opcode) AS name,"
    " " BEFORE_OF("op_name") " AS layer, " WITHOUT_LAYOUT("shape") " AS shape FROM HloOperation)"
    ", work AS (SELECT operation_id, framework_op, framework_op_event_id, k.step,"
    " duration_ns FROM " WITH_STEPS("GpuKernel") " k UNION ALL SELECT NULL, framework_op,"
    " framework_op_event_id, c.step, duration_ns FROM " WITH_STEPS("GpuCopy") " c)"
    ", call AS (SELECT id, json_extract_string(extra_attributes_json, '$.\"Module Hierarchy\"')"
    " AS layer, json_extract(extra_attributes_json, '$.\"Input Dims\"')::VARCHAR AS shape"
    " FROM SystemProfileEvents WHERE id IN (SELECT framework_op_event_id FROM work))"
    " SELECT coalesce(h.name, w.framework_op, '(no operator known)') AS name,"
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

static double number_of(struct text value)
{
    char digits[64];
    if (!value.data || value.size >= sizeof digits)
        return NAN;
    memcpy(digits, value.data, value.size);
    digits[value.size] = '\0';
    return strtod(digits, NULL);
}

/* One profile that is read. */
struct reading {
    struct diff_side *side;
    struct sql_connection *connection;
    struct output missing;
    struct idmap steps; /* index by id */
};

typedef void take_row(struct reading *reading, const struct sql_result *result, size_t row,
                      enum diff_kind kind);

static bool run_query(struct reading *reading, const char *sql, take_row *take, enum diff_kind kind,
                      struct error *err)
{
    struct output query;
    struct sql_result *result = NULL;
    size_t rows = 1;
    output_memory(&query);
    output_text(&query, "WITH ");
    output_write(&query, reading->missing.data, reading->missing.size);
    output_text(&query, "nothing AS (SELECT 1) ");
    output_text(&query, sql);
    output_char(&query, '\0');
    bool ok = sql_query(&result, reading->connection, query.data, err);
    while (ok && rows > 0 && (ok = sql_next(result, &rows, err)))
        for (size_t row = 0; row < rows; row++)
            take(reading, result, row, kind);
    sql_free(result);
    output_discard(&query);
    return ok;
}

static struct text keep(struct diff_side *side, struct text text)
{
    return (struct text){arena_copy_text(&side->texts, text.data ? text.data : "", text.size),
                         text.size};
}

void put_row_key(struct output *key, enum diff_kind kind, struct text name, struct text layer,
                 struct text shape)
{
    output_char(key, (char)('0' + kind));
    output_write(key, name.data, name.size);
    output_char(key, '\0');
    output_write(key, layer.data, layer.size);
    output_char(key, '\0');
    output_write(key, shape.data, shape.size);
}

/* Names beyond these are one row: a program that makes up names must not fill the memory. */
enum { MAX_ROWS = 200000 };
#define FURTHER_NAMES TEXT("(further names)")

/* The row of a key, made if there is none. */
static struct side_row *row_for(struct diff_side *side, enum diff_kind kind, struct text name,
                                struct text layer, struct text shape)
{
    struct output key;
    output_memory(&key);
    put_row_key(&key, kind, name, layer, shape);
    uint32_t id = intern_find(&side->keys, (struct text){key.data, key.size});
    bool is_further =
        id == INTERN_NONE && side->rows.count >= MAX_ROWS && !text_equal(name, FURTHER_NAMES);
    if (id == INTERN_NONE && !is_further) {
        id = intern_add(&side->keys, (struct text){key.data, key.size});
        *array_push(&side->rows) = (struct side_row){.kind = kind,
                                                     .name = keep(side, name),
                                                     .layer = keep(side, layer),
                                                     .shape = keep(side, shape),
                                                     .inclusive = NAN};
    }
    output_discard(&key);
    return is_further ? row_for(side, kind, FURTHER_NAMES, TEXT(""), TEXT(""))
                      : &side->rows.items[id - 1];
}

static void add_value(struct side_row *row, uint32_t step, double count, double amount)
{
    struct step_value *value = array_push(&row->values);
    *value = (struct step_value){.step = step, .count = count, .amount = amount};
}

/* A figure of a step, which is a mean over devices already. */
static void add_step_row(struct diff_side *side, const char *name, uint32_t step, double ns)
{
    struct side_row *row = row_for(side, DIFF_STEPS, text_of(name), TEXT(""), TEXT(""));
    row->count += 1;
    row->amount += ns;
    add_value(row, step, 1, ns);
}

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

static void take_value(struct reading *reading, const struct sql_result *result, size_t at,
                       enum diff_kind kind)
{
    enum { NAME, LAYER, SHAPE, STEP, COUNT, AMOUNT, INCLUSIVE, IS_COMMUNICATION };
    struct side_row *row = row_for(reading->side, kind, sql_value(result, at, NAME),
                                   sql_value(result, at, LAYER), sql_value(result, at, SHAPE));
    double count = number_of(sql_value(result, at, COUNT));
    double amount = number_of(sql_value(result, at, AMOUNT));
    double inclusive = number_of(sql_value(result, at, INCLUSIVE));
    double step_id = number_of(sql_value(result, at, STEP));
    row->count += count;
    row->amount += amount;
    if (!isnan(inclusive))
        row->inclusive = inclusive + (isnan(row->inclusive) ? 0 : row->inclusive);
    row->is_communication |= text_equal(sql_value(result, at, IS_COMMUNICATION), TEXT("true"));
    uint32_t step = isnan(step_id) ? IDMAP_NONE : idmap_get(&reading->steps, (uint64_t)step_id);
    if (step == IDMAP_NONE)
        return;
    double devices = reading->side->steps.items[step].devices;
    add_value(row, step, count / devices, amount / devices);
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
    static const struct {
        const char *sql;
        take_row *take;
        enum diff_kind kind;
    } queries[] = {
        {steps_sql, take_step, DIFF_STEPS},
        {devices_sql, take_devices, DIFF_STEPS},
        {operators_sql, take_value, DIFF_OPERATORS},
        {kernels_sql, take_value, DIFF_KERNELS},
        {collectives_sql, take_value, DIFF_COLLECTIVES},
        {copies_sql, take_value, DIFF_COPIES},
        {host_sql, take_value, DIFF_HOST},
        {memory_sql, take_value, DIFF_MEMORY},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        if (!run_query(reading, queries[i].sql, queries[i].take, queries[i].kind, err))
            return false;
    return true;
}

bool diff_read(struct diff_side **side, const char *name, struct sql_connection *connection,
               struct error *err)
{
    struct reading reading = {.side = mem_zeroed(1, sizeof *reading.side),
                              .connection = connection};
    reading.side->name = mem_copy_text(name, strlen(name));
    intern_init(&reading.side->keys);
    output_memory(&reading.missing);
    struct present_tables *present;
    bool ok = present_find(&present, connection, err);
    if (ok) {
        missing_put(&reading.missing, present, tables, sizeof tables / sizeof *tables);
        present_free(present);
        ok = read_all(&reading, err);
    }
    output_discard(&reading.missing);
    idmap_free(&reading.steps);
    if (ok) {
        number_steps(reading.side);
        leave_out_warmup(reading.side);
        *side = reading.side;
    } else {
        diff_side_free(reading.side);
    }
    return ok;
}

void diff_side_free(struct diff_side *side)
{
    struct side_row *row;
    if (!side)
        return;
    array_each (row, &side->rows)
        array_free(&row->values);
    array_free(&side->rows);
    array_free(&side->steps);
    intern_free(&side->keys);
    arena_free(&side->texts);
    mem_free(side->name);
    mem_free(side->device_name);
    mem_free(side);
}

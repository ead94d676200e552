/*
 * The relations that tools are queries over, as common table expressions.
 */
#include "report/xprof/relations.h"

#include "report/nsight/stats.h"

#include <ctype.h>

/* SQL has its own lines. */
/* clang-format off */

/* Rows of the host that was asked for. */
#define ON_HOST(column) " coalesce(" column " = (SELECT host FROM option), true)"

#define IS_COPY "regexp_matches(name, '^Memcpy(HToD|DToH|DToD|HToH)')"
/* Starts and ends of what a TPU does beside its operations take no time of their own. */
#define IS_BESIDE                                                                                  \
    "d.kind = 'TPU' AND NOT (SELECT is_xprof FROM option) AND"                                     \
    " regexp_matches(category, '-(start|update|done)$|^(send|recv)$')"
#define IS_DATA "starts_with(name, 'Iterator::')"

/* Kernels of NCCL and RCCL; the operation is the first group. */
#define KERNEL_OF "'^(?:nccl|rccl)(?:Dev)?Kernel_([A-Za-z]+)'"
/* Of PyTorch's types, and of NCCL's. */
#define TYPE_BYTES(type)                                                                           \
    "CASE WHEN lower(" type ") IN ('byte', 'char', 'bool', 'int8', 'uint8') OR lower(" type ") LIKE" \
    " 'float8%' THEN 1 WHEN lower(" type ") IN ('half', 'bfloat16', 'short', 'float16') THEN 2"      \
    " WHEN lower(" type ") IN ('float', 'int', 'float32', 'int32', 'uint32', 'complexhalf') THEN 4"  \
    " WHEN lower(" type ") IN ('double', 'long', 'float64', 'int64', 'uint64', 'complexfloat') THEN" \
    " 8 WHEN lower(" type ") = 'complexdouble' THEN 16 END"

/* Where bytes are counted. */
#define COUNTED "NOT (is_beside AND category NOT LIKE '%-start' AND category NOT IN ('send', 'recv'))"

static const struct {
    const char *name, *sql;
} relations[] = {
    {"host",
     "host AS (SELECT DISTINCT instance_id FROM Track WHERE" ON_HOST("instance_id") ")"},
    /* Kernels of one name, launch configuration and operation. The framework's operation is that of
     * the HLO operation, else what the source wrote as "name:type". */
    {"kernel",
     "kernel AS ("
     "SELECT k.* EXCLUDE (operation_id, framework_op), coalesce(o.op_name,"
     " regexp_replace(k.framework_op, '(^|[^:]):[A-Za-z_0-9]*$', '\\1'), '') AS op_name "
     "FROM (SELECT name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread,"
     " shared_bytes, operation_id, framework_op,"
     " max(coalesce(theoretical_occupancy_percent, occupancy_percent)) AS occupancy,"
     " bool_or(uses_tensor_cores) AS uses_tensor_cores, count(*) AS number,"
     " sum(duration_ns) AS total_ns, min(duration_ns) AS least_ns, max(duration_ns) AS most_ns "
     "FROM GpuKernel WHERE duration_ns >= 1 AND ((SELECT host FROM option) IS NULL OR id IN (SELECT"
     " id FROM SystemProfileEvents WHERE instance_id = (SELECT host FROM option)))"
     " GROUP BY ALL) k LEFT JOIN HloOperation o ON o.id = k.operation_id)"},
    /* Events without a step are of the one after the last that is known, as in XProf. */
    {"memory",
     "memory AS MATERIALIZED ("
     "SELECT * EXCLUDE (known_step), coalesce(known_step, coalesce(last_value(known_step IGNORE"
     " NULLS) OVER in_order, -1) + 1) AS step, row_number() OVER in_order - 1 AS position "
     "FROM (SELECT a.id, CASE WHEN (SELECT count(*) FROM host) > 1 THEN e.instance_id || '/' ELSE ''"
     " END || coalesce(a.allocator_name, CASE WHEN a.device_idx < 0 THEN 'host' END,"
     " a.device_idx::VARCHAR, '') AS memory_id,"
     " a.timestamp * 1000 + e.start_fraction_ps AS time_ps, s.id AS known_step,"
     " a.name NOT ILIKE '%dealloc%' AND coalesce(a.allocation_bytes, 0) >= 0 AS is_allocation,"
     " coalesce(a.requested_bytes, 0) AS requested, coalesce(a.allocation_bytes, 0) AS allocated,"
     " coalesce(a.address, 0) AS address, coalesce(a.bytes_allocated, 0) AS heap,"
     " coalesce(a.bytes_reserved, 0) AS stack, coalesce(a.bytes_available, 0) AS free,"
     " coalesce(a.peak_bytes_in_use, 0) AS lifetime_peak,"
     " coalesce(a.fragmentation, 0) AS fragmentation,"
     " coalesce(json_extract_string(e.extra_attributes_json, '$.tf_op'), '') AS tf_op,"
     " coalesce(json_extract_string(e.extra_attributes_json, '$.region_type'), '') AS region,"
     " coalesce(json_extract_string(e.extra_attributes_json, '$.shape'), '') AS shape,"
     " a.data_type AS type_number "
     "FROM MemoryAllocation a JOIN SystemProfileEvents e ON e.id = a.id"
     " LEFT JOIN Step s ON s.id = e.step_id AND s.origin <> 'guessed'"
     " WHERE" ON_HOST("e.instance_id") ") WINDOW in_order AS (PARTITION BY memory_id ORDER BY"
     " time_ps, id ROWS UNBOUNDED PRECEDING))"},
    /* Sizes are those of nccl-tests: the larger of what a rank gives and gets. Those that only the
     * name of a kernel tells of have the size of their HLO operation, if there is one. */
    {"exchange",
     "exchange AS (SELECT id, name, lower(replace(replace(operation, '_', ''), '-', '')) AS"
     " operation, communicator, ranks, size_bytes, data_type, duration_ns FROM ("
     "SELECT id, name, operation, communicator, group_size AS ranks, bytes AS size_bytes, data_type,"
     " duration_ns FROM RankCollective "
     "UNION ALL SELECT k.id, k.name, coalesce(c.operation, nullif(regexp_extract(k.name, " KERNEL_OF
     ", 1), ''), 'other'), coalesce(c.group_description, c.group_name) || coalesce(' ' ||"
     " c.group_ranks, ''), c.group_size, coalesce(greatest(c.input_elements, c.output_elements) *"
     " " TYPE_BYTES("c.data_type") ", greatest(o.bytes_read, o.bytes_written)), c.data_type,"
     " k.duration_ns FROM GpuKernel k LEFT JOIN Collective c ON c.id = k.id LEFT JOIN HloOperation o"
     " ON o.id = k.operation_id WHERE (c.id IS NOT NULL OR regexp_matches(k.name, " KERNEL_OF "))"
     " AND NOT EXISTS (SELECT 1 FROM RankCollective)) WHERE (SELECT host FROM option) IS NULL OR"
     " id IN (SELECT id FROM SystemProfileEvents WHERE instance_id = (SELECT host FROM option)))"},
    /* Samples of counters that devices have, and events that carry a counter's value. */
    {"device_lane",
     "device_lane AS (SELECT t.id, t.name, t.number, d.name AS device, t.instance_id,"
     " try_cast(regexp_extract(d.name, '([0-9]+)$', 1) AS BIGINT) AS chip"
     " FROM Track t JOIN Track d ON d.id = t.parent_id AND d.role = 'device'"
     " WHERE" ON_HOST("t.instance_id") ")"},
    {"counter",
     "counter AS ("
     "SELECT l.instance_id AS host, l.device, l.chip, l.name AS lane, l.number AS line,"
     " c.name AS counter, c.value, c.timestamp AS time_ns, '' AS description, '' AS set_name "
     "FROM CounterSample c JOIN device_lane l ON l.id = c.track_id "
     "UNION ALL "
     "SELECT l.instance_id, l.device, l.chip, l.name, l.number, e.name,"
     " json_extract(e.extra_attributes_json, '$.counter_value')::DOUBLE, e.start_ts,"
     " coalesce(json_extract_string(e.extra_attributes_json,"
     " '$.performance_counter_description'), ''),"
     " coalesce(json_extract_string(e.extra_attributes_json, '$.performance_counter_sets'), '') "
     "FROM SystemProfileEvents e JOIN device_lane l ON l.id = e.track_id "
     "WHERE contains(e.extra_attributes_json, '\"counter_value\"'))"},
    /* Devices of one kind: those that XProf would take, an accelerator if there is one. What they
     * take is the time from their first work to their last, or that of all their operations, where
     * streams overlap. */
    {"accelerator",
     "accelerator AS ("
     "SELECT *, greatest(span_ns, op_ns) AS total_ns FROM Device WHERE" ON_HOST(
         "instance_id") " QUALIFY kind = first_value(kind) OVER (ORDER BY list_position(['TPU',"
     " 'GPU', 'Neuron', 'other', 'CPU'], kind), id))"},
    {"machine",
     "machine AS ("
     "SELECT count(*) AS devices, first(kind ORDER BY id) AS kind,"
     " first(coalesce(type, name, kind) ORDER BY id) AS type, first(name ORDER BY id) AS model,"
     " first(peak_flops ORDER BY id) AS peak_flops, first(peak_type ORDER BY id) AS peak_type,"
     " first(xprof_peak_flops ORDER BY id) AS xprof_peak_flops,"
     " first(hbm_bytes_per_s ORDER BY id) AS hbm_peak,"
     " first(sram_read_bytes_per_s ORDER BY id) AS sram_peak,"
     " first(cmem_read_bytes_per_s ORDER BY id) AS cmem_read_peak,"
     " first(cmem_write_bytes_per_s ORDER BY id) AS cmem_write_peak,"
     " first(vmem_read_bytes_per_s ORDER BY id) AS vmem_read_peak,"
     " first(vmem_write_bytes_per_s ORDER BY id) AS vmem_write_peak,"
     " sum(total_ns) AS whole_ns, sum(op_ns) AS op_ns, sum(total_ns - op_ns) AS idle_ns,"
     " sum(busy_ns) AS busy_ns, sum(span_ns) AS span_ns FROM accelerator)"},
    /* Seconds that an operation needs at the peaks of its type: products of matrices in the units
     * for them, all else outside. */
    {"priced",
     "priced AS ("
     "SELECT o.*, product / CASE WHEN compute_type = 'bf16' THEN coalesce(peak_bf16, peak_flops)"
     " WHEN compute_type = 'f16' THEN coalesce(peak_f16, peak_flops)"
     " WHEN starts_with(compute_type, 'f8') THEN coalesce(peak_f8, peak_flops)"
     " WHEN compute_type IN ('s8', 'u8') THEN coalesce(peak_s8, peak_flops)"
     " WHEN compute_type = 'f64' THEN coalesce(peak_f64, peak_flops)"
     " WHEN tensor_core_ns = 0 THEN coalesce(peak_f32, peak_flops)"
     " WHEN compute_type = 'f32' THEN coalesce(peak_tf32, peak_f32, peak_flops)"
     " ELSE peak_flops END"
     " + (flops - product) / CASE WHEN compute_type = 'f64' THEN coalesce(peak_f64, peak_flops)"
     " ELSE coalesce(peak_f32, peak_flops) END AS compute_s"
     ", coalesce(" IS_BESIDE ", false) AS is_beside "
     "FROM (SELECT *, least(coalesce(matrix_flops, 0), flops) AS product FROM DeviceOperation) o"
     " JOIN accelerator d ON d.id = o.device_id)"},
    /* Operations of all devices together, as XProf has them. Bytes that are moved beside them are
     * those of the start, not once more those of the end. */
    {"op",
     "op AS ("
     "SELECT program_id, CASE WHEN program_id < 0 THEN program_id + 18446744073709551616::HUGEINT"
     " ELSE coalesce(program_id, 0) END::VARCHAR AS program_text, name, core_type, any_value(category) AS category,"
     " coalesce(any_value(expression), name) AS expression,"
     " any_value(framework_op) AS framework_op, any_value(framework_type) AS framework_type,"
     " any_value(source_file) AS source_file, any_value(source_line) AS source_line,"
     " any_value(operation_id) AS operation_id, any_value(deduplicated_name) AS deduplicated_name,"
     " any_value(parent_name) AS parent_name, any_value(attribution) AS attribution,"
     " any_value(module_id) AS module_id, sum(occurrence_count) AS occurrences,"
     " sum(kernel_count) AS kernels, sum(total_ns) AS total_ns, sum(self_ns) AS self_ns,"
     " sum(tensor_core_ns) AS tensor_core_ns, sum(flops) AS flops, sum(compute_s) AS compute_s,"
     " sum(xprof_flops) AS xprof_flops, sum(xprof_device_flops) AS xprof_device_flops,"
     " CASE WHEN NOT bool_or(is_beside) THEN sum(total_ns) END AS timed_ns,"
     " sum(bytes_accessed) FILTER (" COUNTED ") AS bytes,"
     " sum(coalesce(hbm_bytes, bytes_accessed)) FILTER (" COUNTED ") AS hbm_bytes,"
     " sum(cmem_read_bytes) AS cmem_read_bytes, sum(cmem_write_bytes) AS cmem_write_bytes,"
     " sum(vmem_read_bytes) AS vmem_read_bytes, sum(vmem_write_bytes) AS vmem_write_bytes,"
     " sum(dma_stall_ns) AS dma_stall_ns, min(first_event_id) AS first_event_id "
     "FROM priced GROUP BY program_id, name, core_type)"},
    /* Of each step, the mean over devices. */
    {"step_part",
     "step_part AS ("
     "SELECT b.step_id, any_value(b.number) AS number, avg(b.duration_ns) AS step_ns,"
     " avg(compute_16_ns) AS compute_16_ns, avg(compute_32_ns) AS compute_32_ns,"
     " avg(compute_other_ns) AS compute_other_ns, avg(collectives_ns) AS collectives_ns,"
     " avg(device_to_device_ns) AS between_ns, avg(device_to_host_ns) AS output_ns,"
     " avg(host_to_device_ns + input_wait_ns) AS input_ns, avg(host_compute_ns) AS host_ns,"
     " avg(kernel_launch_ns) AS launch_ns, avg(compile_ns) AS compile_ns,"
     " avg(other_ns) AS other_ns, avg(b.idle_ns) AS idle_ns, avg(b.infeed_ns) AS infeed_ns,"
     " min(b.infeed_ns) AS least_infeed_ns, max(b.infeed_ns) AS most_infeed_ns,"
     " avg(b.outfeed_ns) AS outfeed_ns,"
     " avg(compute_16_ns + compute_32_ns + compute_other_ns) AS compute_ns "
     "FROM StepBreakdown b LEFT JOIN accelerator d ON d.id = b.device_id "
     "WHERE b.device_id IS NULL OR d.id IS NOT NULL GROUP BY b.step_id)"},
    /* Operations of the host are events named "name:Type", of tf.data, and operators of PyTorch. */
    {"host_type",
     "host_type AS (SELECT id, name, CASE WHEN " IS_DATA " THEN 'Dataset' WHEN " IS_COPY
     " THEN name WHEN is_operator THEN regexp_extract(name, '([^:]*)$', 1)"
     " ELSE regexp_extract(name, ':([A-Za-z_]\\w*)?(\\[.*\\])?$', 1) END AS type,"
     " CASE WHEN is_operator OR " IS_DATA " THEN name ELSE split_part(name, ':', 1) END AS"
     " operation FROM (SELECT *, coalesce(json_extract_string(attributes_json,"
     " '$.cat') = 'cpu_op', false) AS is_operator FROM EventType) WHERE is_operator OR " IS_DATA
     " OR " IS_COPY " OR regexp_matches(name, '^[^:]+:([A-Za-z_]\\w*)?(\\[.*\\])?$'))"},
    {"host_event",
     "host_event AS (SELECT e.*, t.type, t.operation FROM SystemProfileEvents e JOIN host_type t"
     " ON t.id = e.event_type_id WHERE e.trace_event_source NOT LIKE '%hw' AND"
     ON_HOST("e.instance_id") ")"},
    {"host_op",
     "host_op AS (SELECT type, operation, count(*) AS occurrences, sum(duration_ns) AS total_ns,"
     " sum(self_ns) AS self_ns FROM host_event GROUP BY ALL)"},
    {"host_time",
     "host_time AS (SELECT coalesce(sum(ns), 0) AS total_ns FROM (SELECT max(end_ts) -"
     " min(start_ts) AS ns FROM host_event GROUP BY track_id))"},
    /* Whether a program has gradients, by the scopes of its operations. */
    {"training",
     "training AS ("
     "SELECT coalesce(bool_or(regexp_matches(op_name, '(^|/)(transpose\\(|gradients?(_tape)?/)')),"
     " false) AS is_training FROM HloOperation)"},
};
enum { RELATION_COUNT = sizeof relations / sizeof *relations };

/* clang-format on */

static const enum table_number tables[] = {
    TABLE_EVENTS,      TABLE_KERNELS,           TABLE_COPIES,
    TABLE_ALLOCATIONS, TABLE_COUNTERS,          TABLE_STEPS,
    TABLE_TRACKS,      TABLE_OPERATIONS,        TABLE_MODULES,
    TABLE_EVENT_TYPES, TABLE_WARNINGS,          TABLE_DEVICES,
    TABLE_FINDINGS,    TABLE_DEVICE_OPERATIONS, TABLE_STEP_BREAKDOWNS,
    TABLE_COLLECTIVES, TABLE_RANK_COLLECTIVES,  TABLE_RUNS,
};

static void put_option(struct output *sql, const char *name, const char *value)
{
    if (!value) {
        output_format(sql, "NULL::VARCHAR AS %s", name);
        return;
    }
    output_char(sql, '\'');
    for (const char *at = value; *at; at++)
        output_format(sql, *at == '\'' ? "''" : "%c", *at);
    output_format(sql, "' AS %s", name);
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether a text contains a name as a word. */
static bool names(const struct output *text, const char *name)
{
    size_t size = strlen(name);
    const char *end = text->data + text->size;
    for (const char *at = text->data;; at++) {
        at = memmem(at, (size_t)(end - at), name, size);
        if (!at)
            return false;
        if (!(at > text->data && is_letter(at[-1])) && !(at + size < end && is_letter(at[size])))
            return true;
    }
}

/* Those that a query is over, and what these are over: planning all of them would take longer than
 * most queries. */
static void choose(bool is_needed[static RELATION_COUNT], struct output *used)
{
    for (size_t i = RELATION_COUNT; i-- > 0;) {
        is_needed[i] = names(used, relations[i].name);
        if (is_needed[i])
            output_format(used, " %s", relations[i].sql);
    }
}

static void put_missing(struct output *sql, const struct present_tables *present,
                        const struct output *used)
{
    enum table_number needed[TABLE_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (names(used, table_schemas[tables[i]].name))
            needed[count++] = tables[i];
    missing_put(sql, present, needed, count);
}

void relations_begin(struct output *sql, const struct tool_run *run, const char *query)
{
    const struct tool_options *options = run->options;
    bool is_needed[RELATION_COUNT];
    struct output used;
    output_memory(&used);
    output_text(&used, query);
    choose(is_needed, &used);
    output_text(sql, "WITH ");
    put_missing(sql, run->present, &used);
    output_text(sql, "option AS (SELECT ");
    put_option(sql, "host", options->host);
    output_text(sql, ", ");
    put_option(sql, "group_by", options->group_by);
    output_text(sql, ", ");
    put_option(sql, "module", options->module);
    output_format(sql, ", %s AS is_xprof)", options->format == TOOL_GVIZ ? "true" : "false");
    for (size_t i = 0; i < RELATION_COUNT; i++)
        if (is_needed[i])
            output_format(sql, ", %s", relations[i].sql);
    output_discard(&used);
}

/*
 * overview_page, input_pipeline_analyzer and pod_viewer: where steps spend their time.
 */
#include "report/xprof/steps.h"

/* SQL has its own lines. */
/* clang-format off */

#define GENERIC(id, label) ON("not TPU", id, label, CELL_NUMBER, FOR_PROGRAMS, 3)
#define OF_TPU(id, label) ON("TPU", id, label, CELL_NUMBER, FOR_XPROF, 3)
const struct tool_column step_columns[STEP_COLUMN_COUNT] = {
    ON("not TPU", "stepnum", "Step number", CELL_TEXT, FOR_PROGRAMS, 0),
    ON("TPU", "stepnum", "stepnum", CELL_TEXT, FOR_XPROF, 0),
    GENERIC("deviceComputeTimeMs", "Device compute"),
    GENERIC("deviceToDeviceTimeMs", "Device to device"),
    GENERIC("deviceCollectivesTimeMs", "Device collective communication"),
    GENERIC("hostComputeTimeMs", "Host compute"),
    GENERIC("kernelLaunchTimeMs", "Kernel launch"),
    GENERIC("infeedTimeMs", "Input"),
    GENERIC("outfeedTimeMs", "Output"),
    GENERIC("compileTimeMs", "Compilation"),
    GENERIC("otherTimeMs", "All others"),
    OF_TPU("tcComputeTimeMs", "TensorCore compute (in ms)"),
    OF_TPU("scv0ComputeTimeMs", "SparseCoreV0 compute (in ms)"),
    OF_TPU("scv0InfeedTimeMs", "SparseCoreV0 input (in ms)"),
    OF_TPU("tcInfeedTimeMs", "TensorCore input (in ms)"),
    OF_TPU("tcOutfeedTimeMs", "TensorCore output (in ms)"),
    OF_TPU("tcIdleTimeMs", "TensorCore idle (in ms)"),
    OF_TPU("hostTransferTimeMs", "Host transfer (in ms)"),
    {"tooltip", "tooltip", CELL_TEXT, FOR_XPROF, 0, false, "tooltip", NULL},
    GENERIC("stepTimeMs", "Step time"),
    OF_TPU("infeedPercentAverage", "% step time waiting for input data"),
    {"infeedPercentMin", "Infeed percent min", CELL_NUMBER, FOR_XPROF, 1, false, "interval", "TPU"},
    {"infeedPercentMax", "Infeed percent max", CELL_NUMBER, FOR_XPROF, 1, false, "interval", "TPU"},
    NUMBER("idle_ms", "Device idle", FOR_SCRIPTS, 3),
    NUMBER("compute_16_ms", "16-bit compute", FOR_SCRIPTS, 3),
    STRING("stepnum", "Step", FOR_PEOPLE),
    NUMBER("stepTimeMs", "Time (ms)", FOR_PEOPLE, 3),
    NUMBER("deviceComputeTimeMs", "Compute (ms)", FOR_PEOPLE, 3),
    NUMBER("deviceCollectivesTimeMs", "Collectives (ms)", FOR_PEOPLE, 3),
    NUMBER("deviceToDeviceTimeMs", "D2D (ms)", FOR_PEOPLE, 3),
    NUMBER("infeedTimeMs", "Input (ms)", FOR_PEOPLE, 3),
    NUMBER("outfeedTimeMs", "Output (ms)", FOR_PEOPLE, 3),
    NUMBER("kernelLaunchTimeMs", "Launch (ms)", FOR_PEOPLE, 3),
    NUMBER("hostComputeTimeMs", "Host (ms)", FOR_PEOPLE, 3),
    NUMBER("compileTimeMs", "Compile (ms)", FOR_PEOPLE, 3),
    NUMBER("otherTimeMs", "Other (ms)", FOR_PEOPLE, 3),
};

const char step_sql[] =
    "SELECT number::VARCHAR AS stepnum, compute_ns / 1e6 AS deviceComputeTimeMs,"
    " between_ns / 1e6 AS deviceToDeviceTimeMs, collectives_ns / 1e6 AS deviceCollectivesTimeMs,"
    " host_ns / 1e6 AS hostComputeTimeMs, launch_ns / 1e6 AS kernelLaunchTimeMs,"
    " input_ns / 1e6 AS infeedTimeMs, output_ns / 1e6 AS outfeedTimeMs,"
    " compile_ns / 1e6 AS compileTimeMs, other_ns / 1e6 AS otherTimeMs,"
    " (compute_ns + collectives_ns + between_ns) / 1e6 AS tcComputeTimeMs,"
    " 0 AS scv0ComputeTimeMs, 0 AS scv0InfeedTimeMs, coalesce(infeed_ns, input_ns) / 1e6 AS"
    " tcInfeedTimeMs, coalesce(outfeed_ns, output_ns) / 1e6 AS tcOutfeedTimeMs,"
    " idle_ns / 1e6 AS tcIdleTimeMs,"
    " greatest(input_ns + output_ns - coalesce(infeed_ns, input_ns) - coalesce(outfeed_ns,"
    " output_ns), 0) / 1e6 AS hostTransferTimeMs,"
    " printf('Step %d, duration: %.2f ms', number, step_ns / 1e6) || chr(10) ||"
    " printf('-All others: %.2f ms', other_ns / 1e6) || chr(10) ||"
    " printf('-Compilation: %.2f ms', compile_ns / 1e6) || chr(10) ||"
    " printf('-Output: %.2f ms', output_ns / 1e6) || chr(10) ||"
    " printf('-Input: %.2f ms', input_ns / 1e6) || chr(10) ||"
    " printf('-Kernel launch: %.2f ms', launch_ns / 1e6) || chr(10) ||"
    " printf('-Host compute: %.2f ms', host_ns / 1e6) || chr(10) ||"
    " printf('-Device collectives: %.2f ms', collectives_ns / 1e6) || chr(10) ||"
    " printf('-Device to device: %.2f ms', between_ns / 1e6) || chr(10) ||"
    " printf('-Device compute: %.2f ms', compute_ns / 1e6) AS tooltip,"
    " step_ns / 1e6 AS stepTimeMs, 100.0 * infeed_ns / nullif(step_ns, 0) AS infeedPercentAverage,"
    " 100.0 * least_infeed_ns / nullif(step_ns, 0) AS infeedPercentMin,"
    " 100.0 * most_infeed_ns / nullif(step_ns, 0) AS infeedPercentMax,"
    " idle_ns / 1e6 AS idle_ms, compute_16_ns / 1e6 AS compute_16_ms"
    " FROM step_part ORDER BY step_id";

#define ONE_DIGIT(value) "printf('%.1f', coalesce((" value ")::DOUBLE, 0))"
#define OF_STEPS(column, name)                                                                     \
    " " ONE_DIGIT("avg(" column ") / 1e6") " AS " name "_avg,"                                     \
    " " ONE_DIGIT("stddev_samp(" column ") / 1e6") " AS " name "_sdv,"
/* TPUs' alone. */
#define ON_TPU "(SELECT kind FROM machine) = 'TPU'"
#define OF_TPU_STEPS(value, name)                                                                  \
    " CASE WHEN " ON_TPU " THEN printf('%.2f', coalesce(avg(" value ")::DOUBLE / 1e6, 0)) END AS " \
    name ","
#define INFEED_PERCENT(function, name)                                                             \
    " CASE WHEN " ON_TPU " THEN " ONE_DIGIT(function "(100.0 * infeed_ns / nullif(step_ns, 0))")   \
    " END AS infeed_percent_" name ","
const char step_properties[] =
    ", " SHARES " SELECT (SELECT coalesce(kind, 'CPU_ONLY') FROM machine) AS hardware_type,"
    " CASE WHEN " ON_TPU " THEN 'stepnum,tcComputeTimeMs,scv0ComputeTimeMs,scv0InfeedTimeMs,"
    "tcInfeedTimeMs,tcOutfeedTimeMs,tcIdleTimeMs,hostTransferTimeMs,tooltip' ELSE"
    " 'stepnum,deviceComputeTimeMs,deviceToDeviceTimeMs,deviceCollectivesTimeMs,"
    "hostComputeTimeMs,kernelLaunchTimeMs,infeedTimeMs,outfeedTimeMs,compileTimeMs,otherTimeMs,"
    " tooltip' END AS step_time_graph_column_ids,"
    " " ONE_DIGIT("avg(step_ns) / 1e6") " AS steptime_ms_average,"
    " " ONE_DIGIT("stddev_samp(step_ns) / 1e6") " AS steptime_ms_standard_deviation,"
    " " ONE_DIGIT("min(step_ns) / 1e6") " AS steptime_ms_minimum,"
    " " ONE_DIGIT("max(step_ns) / 1e6") " AS steptime_ms_maximum,"
    OF_STEPS("compute_ns", "device_compute_time_ms")
    OF_STEPS("between_ns", "device_to_device_time_ms")
    OF_STEPS("collectives_ns", "device_collectives_time_ms")
    OF_STEPS("input_ns", "infeed_time_ms") OF_STEPS("output_ns", "outfeed_time_ms")
    OF_STEPS("host_ns", "host_compute_time_ms") OF_STEPS("launch_ns", "kernel_launch_time_ms")
    OF_STEPS("compile_ns", "compile_time_ms") OF_STEPS("other_ns", "other_time_ms")
    " (SELECT " INPUT_STATEMENT " FROM shares) AS input_conclusion,"
    " (SELECT CASE WHEN input_percent >= 5 THEN 'See which operations of the input take the time.'"
    " ELSE '' END FROM shares) AS summary_nextstep,"
    " '' AS all_other_bottleneck, '' AS all_other_statement, '' AS kernel_launch_bottleneck,"
    " '' AS kernel_launch_statement, '' AS device_collectives_bottleneck,"
    " '' AS device_collectives_statement,"
    OF_TPU_STEPS("step_ns - idle_ns", "active_steptime_ms_average")
    OF_TPU_STEPS("compute_ns + collectives_ns + between_ns", "tc_compute_ms_average")
    OF_TPU_STEPS("step_ns - idle_ns", "tc_active_ms_average")
    OF_TPU_STEPS("idle_ns", "tc_idle_ms_average")
    OF_TPU_STEPS("coalesce(infeed_ns, input_ns)", "tc_infeed_ms_average")
    OF_TPU_STEPS("coalesce(outfeed_ns, output_ns)", "tc_outfeed_ms_average")
    OF_TPU_STEPS("0", "scv0_compute_ms_average") OF_TPU_STEPS("0", "scv0_infeed_ms_average")
    OF_TPU_STEPS("greatest(input_ns + output_ns - coalesce(infeed_ns, input_ns) -"
                 " coalesce(outfeed_ns, output_ns), 0)", "host_transfer_ms_average")
    INFEED_PERCENT("avg", "average") INFEED_PERCENT("max", "maximum")
    INFEED_PERCENT("min", "minimum") INFEED_PERCENT("stddev_samp", "standard_deviation")
    " CASE WHEN " ON_TPU " THEN '' END AS output_conclusion FROM step_part";

static const struct tool_column fact_columns[] = {
    STRING("fact", "Fact", FOR_USERS),
    STRING("value", "Value", FOR_USERS),
};
/* What to know first, with the figures it is made of. */
static const char fact_sql[] =
    "WITH " SHARES ", cost AS (SELECT sum(compute_s) AS compute_s, sum(hbm_bytes) AS hbm_bytes,"
    " sum(flops) AS flops, count(*) FILTER (flops IS NULL) AS unknown FROM op),"
    " fact AS (SELECT 0 AS place, 'Devices' AS fact, printf('%d x %s', devices, coalesce(model,"
    " type)) AS value FROM machine WHERE devices > 0 "
    "UNION ALL SELECT 1, 'Steps', printf('%d of %.2f ms (%.2f to %.2f)', step_count, step_ms,"
    " least_ms, most_ms) || CASE WHEN devices > 1 THEN printf(', their parts means over %d"
    " devices', devices) ELSE '' END FROM shares, machine WHERE step_count > 0 "
    "UNION ALL SELECT 2, 'Devices busy', printf('%.1f %% of %.1f ms from their first work to their"
    " last', 100.0 * busy_ns / nullif(span_ns, 0), span_ns / 1e6 / devices) FROM machine"
    " WHERE devices > 0 AND span_ns > 0 "
    "UNION ALL SELECT 3, 'Arithmetic', printf('%.1f %% of the peak while operations run,"
    " %.1f %% of the whole time (%.1f TFLOP/s of %.0f for %s)', 100 * compute_s * 1e9 /"
    " nullif(op_ns, 0), 100 * compute_s * 1e9 / nullif(whole_ns, 0), flops / nullif(whole_ns, 0)"
    " / 1e3, peak_flops / 1e12, coalesce(peak_type, 'all types')) FROM cost, machine"
    " WHERE flops > 0 AND peak_flops > 0 "
    "UNION ALL SELECT 4, 'Memory', printf('%.1f %% of the peak while operations run, %.1f %% of the"
    " whole time (%.0f GB/s of %.0f)', 100 * hbm_bytes * 1e9 / nullif(op_ns, 0) / hbm_peak,"
    " 100 * hbm_bytes * 1e9 / nullif(whole_ns, 0) / hbm_peak, hbm_bytes / nullif(whole_ns, 0),"
    " hbm_peak / 1e9) FROM cost, machine WHERE hbm_bytes > 0 AND hbm_peak > 0 "
    "UNION ALL SELECT 5, 'Precision', printf('%.1f %% of computing time in 16 bits or fewer,"
    " %.1f %% in 32', half_percent, single_percent) FROM shares WHERE compute_percent > 0 "
    "UNION ALL SELECT 6, 'Input', " INPUT_STATEMENT " FROM shares "
    "UNION ALL SELECT 7, title, statement || coalesce(' ' || advice, '') FROM (SELECT * FROM"
    " Finding ORDER BY id LIMIT 3)) "
    "SELECT fact, value FROM fact ORDER BY place";

static const struct tool_column part_columns[] = {
    STRING("part", "Part of a step", FOR_USERS),
    NUMBER("mean_ms", "Mean (ms)", FOR_USERS, 3),
    NUMBER("percent", "Share (%)", FOR_USERS, 1),
};
#define PART(name, part)                                                                           \
    "SELECT '" name "' AS part, avg(" part "_ns) / 1e6 AS mean_ms, 100.0 * sum(" part "_ns) /"     \
    " nullif(sum(step_ns), 0) AS percent FROM step_part HAVING count(*) > 0"
static const char part_sql[] =
    "SELECT * FROM (" PART("device computes", "compute") " UNION ALL "
    PART("collectives", "collectives") " UNION ALL " PART("copies on devices", "between")
    " UNION ALL " PART("input", "input") " UNION ALL " PART("output", "output") " UNION ALL "
    PART("host launches work", "launch") " UNION ALL " PART("host computes", "host")
    " UNION ALL " PART("host compiles", "compile") " UNION ALL " PART("no known cause", "other")
    ") ORDER BY mean_ms DESC, part";

static const struct tool_column top_columns[] = {
    NUMBER("selfTimePercent", "Time (%)", FOR_PROGRAMS, 3),
    NUMBER("cumulativeTimePercent", "Cumulative time (%)", FOR_PROGRAMS, 3),
    STRING("category", "Category", FOR_PROGRAMS),
    STRING("operation", "Operation", FOR_PROGRAMS),
    ON("not TPU", "flopRate", "GFLOPs/Sec", CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("TPU", "flopRate", "Bf16 Normalized Flop Rate(GFLOPs/Sec)", CELL_NUMBER, FOR_XPROF, 1),
    ON("GPU", "tcEligibility", "TensorCore eligibility", CELL_FLAG, FOR_XPROF, 0),
    ON("GPU", "tcUtilization", "Op is using TensorCore", CELL_FLAG, FOR_PROGRAMS, 0),
    NUMBER("percent", "Time (%)", FOR_PEOPLE, 1),
    NUMBER("flopRate", "GFLOP/s", FOR_PEOPLE, 1),
    STRING("category", "Type", FOR_PEOPLE),
    STRING("operation", "Operation", FOR_PEOPLE),
};
static const char top_sql[] =
    "WITH grouped AS (SELECT coalesce(framework_op, name) AS operation,"
    " coalesce(any_value(framework_type), any_value(category)) AS category, sum(self_ns) AS ns,"
    " sum(total_ns) AS total_ns, sum(flops) AS flops, sum(tensor_core_ns) AS tensor_ns"
    " FROM op GROUP BY 1), ranked AS (SELECT *, row_number() OVER (ORDER BY ns DESC, operation)"
    " AS place, sum(ns) OVER () AS all_ns FROM grouped)"
    " SELECT ns / nullif(all_ns, 0) AS selfTimePercent, 100.0 * ns / nullif(all_ns, 0) AS percent,"
    " sum(ns) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) / nullif(all_ns, 0)"
    " AS cumulativeTimePercent, category, operation, flops / nullif(total_ns, 0) AS flopRate,"
    " coalesce(tensor_ns > 0, false) OR regexp_matches(operation, '(dot_general|conv_general_dilated"
    "|MatMul|Conv2D)') AS tcEligibility, coalesce(tensor_ns > 0, false) AS tcUtilization"
    " FROM ranked WHERE place <= 10 ORDER BY place";

#define PERCENT(value) "printf('%.1f%%', coalesce((" value ")::DOUBLE, 0))"
#define FOR_TPU(value) "CASE WHEN kind = 'TPU' THEN " value " END"
static const char top_properties[] =
    ", " SHARES ", cost AS (SELECT sum(compute_s) AS compute_s, sum(hbm_bytes) AS hbm_bytes,"
    " coalesce(sum(occurrences), 0) AS op_count FROM op), on_host AS (SELECT coalesce("
    "sum(occurrences), 0) AS host_count, coalesce(sum(self_ns), 0) AS host_self_ns FROM host_op)"
    " SELECT " PERCENT("half_percent") " AS device_compute_16bit_percent,"
    " " PERCENT("single_percent") " AS device_compute_32bit_percent,"
    " " PERCENT("100.0 * idle_ns / nullif(whole_ns, 0)") " AS device_idle_time_percent,"
    " " PERCENT("100.0 * busy_ns / nullif(span_ns, 0)") " AS device_duty_cycle_percent,"
    " " PERCENT("100 * compute_s * 1e9 / nullif(whole_ns, 0)") " AS mxu_utilization_percent,"
    " " PERCENT("100 * hbm_bytes * 1e9 / nullif(whole_ns, 0) / nullif(hbm_peak, 0)")
    " AS hbm_utilization_percent,"
    " " PERCENT("100 * compute_s / nullif(greatest(compute_s, hbm_bytes / hbm_peak), 0) *"
    " greatest(compute_s, hbm_bytes / hbm_peak) * 1e9 / nullif(whole_ns, 0)")
    " AS flop_rate_utilization_relative_to_roofline,"
    " " PERCENT("100 * hbm_bytes * 1e9 / nullif(whole_ns, 0) / nullif(hbm_peak, 0)")
    " AS memory_bw_utilization_relative_to_hw_limit,"
    " " PERCENT("100.0 * op_count / nullif(op_count + host_count, 0)") " AS device_tf_op_percent,"
    " " PERCENT("100.0 * host_count / nullif(op_count + host_count, 0)") " AS host_tf_op_percent,"
    " '0.0%' AS device_op_time_eager_percent, '0.0%' AS host_op_time_eager_percent,"
    " '0' AS host_trace_level, '' AS remark_text, '' AS remark_color,"
    " " FOR_TPU(PERCENT("coalesce(100.0 * greatest(h.total_ns - host_self_ns, 0) / nullif(h.total_ns,"
    " 0), 100)"))
    " AS host_idle_time_percent,"
    " " FOR_TPU("printf('%.6g', (span_ns - busy_ns) * 1000.0)") " AS idle_time_high_confidence_ps,"
    " " FOR_TPU(PERCENT("100.0 * busy_ns / nullif(span_ns, 0)"))
    " AS device_duty_cycle_high_confidence_percent"
    " FROM machine, shares, cost, on_host, host_time h";

static const struct tool_column environment_columns[] = {
    STRING("host_id", "host_id", FOR_XPROF),
    STRING("command_line", "command_line", FOR_XPROF),
    STRING("start_time", "start_time", FOR_XPROF),
    STRING("bns_address", "bns_address", FOR_XPROF),
};
static const char environment_properties[] =
    "SELECT (SELECT count(*) FROM host)::VARCHAR AS host_count,"
    " (SELECT count(*) FROM host) || ' (num tasks per host = 1)' AS task_count,"
    " coalesce(type, 'CPU') AS device_type, devices::VARCHAR AS device_core_count,"
    " (SELECT is_training FROM training)::VARCHAR AS is_training FROM machine";

static const struct tool_column tip_columns[] = {
    STRING("tip_type", "tip_type", FOR_XPROF),
    STRING("link", "link", FOR_XPROF),
    STRING("description", "description", FOR_XPROF),
};
static const char tip_sql[] =
    "SELECT CASE WHEN regexp_matches(rule, 'host|input|python|launch') THEN 'host' ELSE 'device'"
    " END AS tip_type, statement || coalesce(' ' || advice, '') AS link, title AS description"
    " FROM Finding ORDER BY id";
#define PART_STATEMENT(part, what)                                                                 \
    "CASE WHEN " part "_percent >= 3 THEN printf('" what " %.1f %% of the step time.',"            \
    " " part "_percent) ELSE '' END"
static const char tip_properties[] =
    ", " SHARES " SELECT " INPUT_BOTTLENECK " AS bottleneck, " INPUT_STATEMENT " AS statement,"
    " " DEGREE("launch_percent") " AS kernel_launch_bottleneck,"
    " " PART_STATEMENT("launch", "Devices wait while the host launches work:")
    " AS kernel_launch_statement,"
    " " DEGREE("collectives_percent") " AS device_collectives_bottleneck,"
    " " PART_STATEMENT("collectives", "Devices exchange data, and do nothing else,")
    " AS device_collectives_statement,"
    " " DEGREE("other_percent") " AS all_other_bottleneck,"
    " " PART_STATEMENT("other", "Devices are idle without a known cause")
    " AS all_other_statement, CASE WHEN compute_percent > 0 AND half_percent < 10 THEN"
    " printf('Of the time in which devices compute, %.1f %% is in 16 bits or fewer; more of it'"
    " || ' would be faster, where the accuracy allows.', half_percent) ELSE '' END"
    " AS precision_statement, CASE " INPUT_BOTTLENECK " WHEN 'host' THEN 'device' WHEN 'device'"
    " THEN 'host' ELSE '' END AS non_bottleneck_tip_types FROM shares";

static const struct tool_column latency_columns[] = {
    STRING("percentile", "percentile", FOR_XPROF),
    NUMBER("hostTimeMs", "Host time (in ms)", FOR_XPROF, 3),
    NUMBER("deviceTimeMs", "Device time (in ms)", FOR_XPROF, 3),
    NUMBER("communicationTimeMs", "Host-device communication time (in ms)", FOR_XPROF, 3),
    NUMBER("totalTimeMs", "Total latency (in ms)", FOR_XPROF, 3),
};

static const struct tool_table overview_tables[] = {
    {.name = "facts", .title = "Overview", .forms = FOR_USERS, COLUMNS_OF(fact_columns),
     .sql = fact_sql},
    {.name = "parts", .title = "Where a step goes", .forms = FOR_USERS, COLUMNS_OF(part_columns),
     .sql = part_sql},
    {.name = "top_operations", .title = "Operations that take most time on devices",
     .forms = FOR_ALL, COLUMNS_OF(top_columns), .sql = top_sql, .properties = top_properties},
    {.name = "steps", .title = "Steps", .forms = FOR_PROGRAMS, .columns = step_columns,
     .column_count = STEP_COLUMN_COUNT, .sql = step_sql, .properties = step_properties},
    {.name = "environment", .title = "Environment", .forms = FOR_XPROF,
     COLUMNS_OF(environment_columns),
     .sql = "SELECT '' AS host_id, '' AS command_line, '' AS start_time, '' AS bns_address"
            " WHERE false",
     .properties = environment_properties},
    {.name = "recommendations", .title = "Recommendations", .forms = FOR_XPROF,
     COLUMNS_OF(tip_columns), .sql = tip_sql, .properties = tip_properties},
    {.name = "latency", .title = "Latency", .forms = FOR_XPROF, COLUMNS_OF(latency_columns),
     .sql = "SELECT '' AS percentile, 0 AS hostTimeMs, 0 AS deviceTimeMs,"
            " 0 AS communicationTimeMs, 0 AS totalTimeMs WHERE false"},
    {.name = "empty", .title = "", .forms = FOR_XPROF},
    {.name = "diagnostics", .title = "Diagnostics", .forms = FOR_XPROF, DIAGNOSTICS},
};

const struct xprof_tool overview_page = {
    .name = "overview_page",
    .about = "what to know first: use of devices, parts of a step, top operations",
    .why = "the capture has no work of a device and no steps",
    TABLES_OF(overview_tables),
    .is_list = true,
};

static const struct tool_column infeed_columns[] = {
    ON("TPU", "index", "Index", CELL_TEXT, FOR_XPROF, 0),
};
static const struct tool_column input_columns[] = {
    STRING("opName", "Input Op", FOR_PROGRAMS),
    NUMBER("count", "Count", FOR_PROGRAMS, 0),
    NUMBER("timeInMs", "Total Time (in ms)", FOR_PROGRAMS, 3),
    NUMBER("timeInPercent", "Total Time (as % of total input-processing time)", FOR_PROGRAMS, 3),
    NUMBER("selfTimeInMs", "Total Self Time (in ms)", FOR_PROGRAMS, 3),
    NUMBER("selfTimeInPercent", "Total Self Time (as % of total input-processing time)",
           FOR_PROGRAMS, 3),
    STRING("category", "Category", FOR_PROGRAMS),
    NUMBER("selfTimeInMs", "Self (ms)", FOR_PEOPLE, 3),
    NUMBER("percent", "Self (%)", FOR_PEOPLE, 1),
    NUMBER("timeInMs", "Total (ms)", FOR_PEOPLE, 3),
    NUMBER("count", "Count", FOR_PEOPLE, 0),
    STRING("category", "Category", FOR_PEOPLE),
    STRING("opName", "Operation of the input", FOR_PEOPLE),
};
/* Stages that programs annotate, tf.data's iterators, PyTorch's loaders, copies to devices. */
#define INPUT_OPS                                                                                  \
    "input_event AS (SELECT e.name, e.duration_ns, e.self_ns, CASE"                                \
    " WHEN stage IS NOT NULL THEN CASE lower(stage) WHEN 'enqueue' THEN 'Enqueue'"                 \
    "  WHEN 'read' THEN 'Demanded file read' WHEN 'preprocessing' THEN 'Preprocessing'"            \
    "  ELSE 'Other' END"                                                                           \
    " WHEN regexp_matches(e.name, '^(InfeedEnqueue|MemcpyHToD)') THEN 'Enqueue'"                   \
    " WHEN regexp_matches(e.name, '::(TFRecord|TextLine|FixedLengthRecord|SSTable|RecordIO|"       \
    "ArrayRecord)') THEN CASE WHEN regexp_matches(e.name, '::(MemoryReader|MemoryWriter|"          \
    "Interleave|Prefetch|ParallelMap)') THEN 'Advanced file read' ELSE 'Demanded file read' END"   \
    " ELSE 'Preprocessing' END AS category FROM (SELECT e.*, json_extract_string("                 \
    "e.extra_attributes_json, '$._ipl_stage_cat') AS stage FROM SystemProfileEvents e JOIN"        \
    " (SELECT id, regexp_matches(name, '^(Iterator::|InfeedEnqueue|MemcpyHToD)|DataLoader') AS"    \
    " is_input FROM EventType) t ON t.id = e.event_type_id WHERE e.trace_event_source NOT LIKE '%hw'"             \
    " AND coalesce(e.instance_id = (SELECT host FROM option), true) AND (is_input OR contains("     \
    "e.extra_attributes_json, '_ipl_stage_cat'))) e),"                                             \
    " input_op AS (SELECT name AS opName, category, count(*) AS count, sum(duration_ns) AS"        \
    " total_ns, sum(self_ns) AS self_ns FROM input_event GROUP BY ALL)"
static const char input_sql[] =
    "WITH " INPUT_OPS " SELECT opName, count, total_ns / 1e6 AS timeInMs,"
    " total_ns / nullif(sum(self_ns) OVER (), 0) AS timeInPercent, self_ns / 1e6 AS selfTimeInMs,"
    " self_ns / nullif(sum(self_ns) OVER (), 0) AS selfTimeInPercent,"
    " 100.0 * self_ns / nullif(sum(self_ns) OVER (), 0) AS percent, category FROM input_op"
    " ORDER BY self_ns DESC, opName";
#define US_OF(kind)                                                                                \
    "printf('%.3f', coalesce(sum(self_ns) FILTER (category = '" kind "'), 0) / 1e3)"
static const char input_properties[] =
    ", " INPUT_OPS " SELECT " US_OF("Enqueue") " AS enqueue_us, " US_OF("Demanded file read")
    " AS demanded_file_read_us, " US_OF("Advanced file read") " AS advanced_file_read_us, "
    US_OF("Preprocessing") " AS preprocessing_us, " US_OF("Other")
    " AS unclassified_nonequeue_us FROM input_op";
static const struct tool_column link_columns[] = {STRING("link", "link", FOR_XPROF)};
static const struct tool_column conclusion_columns[] = {
    STRING("conclusion", "Conclusion", FOR_USERS)};

static const struct tool_table input_tables[] = {
    {.name = "conclusion", .title = "Input", .forms = FOR_USERS, COLUMNS_OF(conclusion_columns),
     .sql = "WITH " SHARES " SELECT " INPUT_STATEMENT " AS conclusion FROM shares"},
    {.name = "max_infeed", .title = "", .forms = FOR_XPROF, COLUMNS_OF(infeed_columns),
     .sql = "SELECT '' AS index WHERE false"},
    {.name = "steps", .title = "Steps", .forms = FOR_ALL, .columns = step_columns,
     .column_count = STEP_COLUMN_COUNT, .sql = step_sql, .properties = step_properties},
    {.name = "input_operations", .title = "Operations of the input, on the host",
     .forms = FOR_ALL, COLUMNS_OF(input_columns), .sql = input_sql,
     .properties = input_properties},
    {.name = "links", .title = "", .forms = FOR_XPROF, COLUMNS_OF(link_columns),
     .sql = "SELECT statement || coalesce(' ' || advice, '') AS link FROM Finding"
            " WHERE contains(rule, 'input') ORDER BY id"},
    {.name = "diagnostics", .title = "Diagnostics", .forms = FOR_XPROF, DIAGNOSTICS},
};

const struct xprof_tool input_pipeline_analyzer = {
    .name = "input_pipeline_analyzer",
    .about = "how long devices wait for input, and what the host does for it",
    .why = "the capture has no steps and no operations of an input pipeline",
    TABLES_OF(input_tables),
    .is_list = true,
};

static const struct tool_column pod_columns[] = {
    STRING("step", "Step", FOR_USERS),
    STRING("host", "Host", FOR_USERS),
    NUMBER("device", "Device", FOR_USERS, 0),
    NUMBER("total_us", "Time (us)", FOR_USERS, 1),
    NUMBER("compute_us", "Compute (us)", FOR_USERS, 1),
    NUMBER("device_to_device_us", "D2D (us)", FOR_USERS, 1),
    NUMBER("collectives_us", "Collectives (us)", FOR_USERS, 1),
    NUMBER("host_compute_us", "Host (us)", FOR_USERS, 1),
    NUMBER("kernel_launch_us", "Launch (us)", FOR_USERS, 1),
    NUMBER("input_us", "Input (us)", FOR_USERS, 1),
    NUMBER("output_us", "Output (us)", FOR_USERS, 1),
    NUMBER("compile_us", "Compile (us)", FOR_USERS, 1),
    NUMBER("other_us", "Other (us)", FOR_USERS, 1),
    STRING("bottleneck", "Bottleneck", FOR_USERS),
};
#define POD                                                                                        \
    "SELECT *, ['Device compute', 'Device to device', 'Device collective communication',"          \
    " 'Host compute', 'Kernel launch', 'Input', 'Output', 'Compilation', 'All others']"            \
    "[list_position([compute_us, device_to_device_us, collectives_us, host_compute_us,"            \
    " kernel_launch_us, input_us, output_us, compile_us, other_us], greatest(compute_us,"          \
    " device_to_device_us, collectives_us, host_compute_us, kernel_launch_us, input_us, output_us,"\
    " compile_us, other_us))] AS bottleneck FROM (SELECT b.step_id, b.number AS step,"             \
    " d.instance_id AS host, coalesce(d.device_idx, d.id) AS device, d.id AS core,"                \
    " b.duration_ns / 1e3 AS total_us,"                                                            \
    " (compute_16_ns + compute_32_ns + compute_other_ns) / 1e3 AS compute_us,"                     \
    " device_to_device_ns / 1e3 AS device_to_device_us, collectives_ns / 1e3 AS collectives_us,"   \
    " host_compute_ns / 1e3 AS host_compute_us, kernel_launch_ns / 1e3 AS kernel_launch_us,"       \
    " (input_wait_ns + host_to_device_ns) / 1e3 AS input_us, device_to_host_ns / 1e3 AS output_us,"\
    " compile_ns / 1e3 AS compile_us, other_ns / 1e3 AS other_us FROM StepBreakdown b JOIN"        \
    " accelerator d ON d.id = b.device_id)"
static const struct tool_table pod_tables[] = {
    {.name = "steps", .title = "Steps of each device", .forms = FOR_USERS,
     COLUMNS_OF(pod_columns), .sql = POD " ORDER BY step_id, host, device"},
};
static const char pod_document[] =
    ", pod AS (" POD "), per_core AS (SELECT step_id, any_value(step) AS step, json_group_object("
    "core::VARCHAR, {'hostName': host, 'chipId': device, 'nodeId': 0, 'stepNum': step,"
    " 'totalDurationUs': total_us, 'bottleneck': bottleneck, 'stepBreakdownUs': {'1': compute_us,"
    " '2': device_to_device_us, '3': collectives_us, '4': host_compute_us, '5': kernel_launch_us,"
    " '6': input_us, '7': output_us, '8': compile_us, '9': other_us}}) AS cores FROM pod"
    " GROUP BY step_id)"
    " SELECT json_object('podStatsSequence', {'podStatsMap': coalesce((SELECT list({'stepNum':"
    " step, 'podStatsPerCore': cores, 'channelDb': []::VARCHAR[], 'coreIdToReplicaIdMap':"
    " '{}'::JSON, 'allReduceOpDb': []::VARCHAR[]} ORDER BY step_id) FROM per_core), [])},"
    " 'diagnostics', {'info': []::VARCHAR[], 'warnings': coalesce((SELECT list(message) FROM"
    " Warning WHERE category = 'warning'), []), 'errors': coalesce((SELECT list(message) FROM"
    " Warning WHERE category = 'error'), [])}, 'stepBreakdownEvents',"
    " list_transform(['Device compute', 'Device to device', 'Device collective communication',"
    " 'Host compute', 'Kernel launch', 'Input', 'Output', 'Compilation', 'All others'],"
    " lambda name, i: {'id': i, 'name': name}), 'deviceType', coalesce(type, 'CPU')) FROM machine";

const struct xprof_tool pod_viewer = {
    .name = "pod_viewer",
    .about = "parts of each step, by device",
    .why = "the capture has no steps on a device: annotate them, in JAX with "
           "jax.profiler.StepTraceAnnotation",
    TABLES_OF(pod_tables),
    .document = pod_document,
};

/*
 * overview_page, input_pipeline_analyzer and pod_viewer: where steps spend their time.
 */
#include "report/xprof/embedded_queries.h"
#include "report/xprof/tool.h"

#define GENERIC(id, label) ON("not TPU", id, label, CELL_NUMBER, FOR_PROGRAMS, 3)
#define OF_TPU(id, label)  ON("TPU", id, label, CELL_NUMBER, FOR_XPROF, 3)
static const struct tool_column step_columns[] = {
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
    NUMBER("hostTransferTimeMs", "Host transfer", FOR_SCRIPTS, 3),
    NUMBER("idle_ms", "Device idle", FOR_SCRIPTS, 3),
    NUMBER("compute_16_ms", "16-bit compute", FOR_SCRIPTS, 3),
    STRING("stepnum", "Step", FOR_PEOPLE),
    NUMBER("stepTimeMs", "Time (ms)", FOR_PEOPLE, 3),
    NUMBER("deviceComputeTimeMs", "Compute (ms)", FOR_PEOPLE, 3),
    NUMBER("deviceCollectivesTimeMs", "Collectives (ms)", FOR_PEOPLE, 3),
    NUMBER("deviceToDeviceTimeMs", "D2D (ms)", FOR_PEOPLE, 3),
    NUMBER("infeedTimeMs", "Input (ms)", FOR_PEOPLE, 3),
    NUMBER("outfeedTimeMs", "Output (ms)", FOR_PEOPLE, 3),
    NUMBER("hostTransferTimeMs", "Host transfer (ms)", FOR_PEOPLE, 3),
    NUMBER("kernelLaunchTimeMs", "Launch (ms)", FOR_PEOPLE, 3),
    NUMBER("hostComputeTimeMs", "Host (ms)", FOR_PEOPLE, 3),
    NUMBER("compileTimeMs", "Compile (ms)", FOR_PEOPLE, 3),
    NUMBER("otherTimeMs", "Other (ms)", FOR_PEOPLE, 3),
};

static const struct tool_column fact_columns[] = {
    STRING("fact", "Fact", FOR_USERS),
    STRING("value", "Value", FOR_USERS),
};

static const struct tool_column part_columns[] = {
    STRING("part", "Part of a step", FOR_USERS),
    NUMBER("mean_ms", "Mean (ms)", FOR_USERS, 3),
    NUMBER("percent", "Share (%)", FOR_USERS, 1),
};

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

static const struct tool_column environment_columns[] = {
    STRING("host_id", "host_id", FOR_XPROF),
    STRING("command_line", "command_line", FOR_XPROF),
    STRING("start_time", "start_time", FOR_XPROF),
    STRING("bns_address", "bns_address", FOR_XPROF),
};

static const struct tool_column tip_columns[] = {
    STRING("tip_type", "tip_type", FOR_XPROF),
    STRING("link", "link", FOR_XPROF),
    STRING("description", "description", FOR_XPROF),
};

static const struct tool_column latency_columns[] = {
    STRING("percentile", "percentile", FOR_XPROF),
    NUMBER("hostTimeMs", "Host time (in ms)", FOR_XPROF, 3),
    NUMBER("deviceTimeMs", "Device time (in ms)", FOR_XPROF, 3),
    NUMBER("communicationTimeMs", "Host-device communication time (in ms)", FOR_XPROF, 3),
    NUMBER("totalTimeMs", "Total latency (in ms)", FOR_XPROF, 3),
};

static const struct tool_table overview_tables[] = {
    {.name = "facts",
     .title = "Overview",
     .forms = FOR_USERS,
     COLUMNS_OF(fact_columns),
     .sql = xprof_sql_overview_facts},
    {.name = "parts",
     .title = "Where a step goes",
     .forms = FOR_USERS,
     COLUMNS_OF(part_columns),
     .sql = xprof_sql_overview_parts},
    {.name = "top_operations",
     .title = "Operations that take most time on devices, as shares of the time of all operations",
     .forms = FOR_ALL,
     COLUMNS_OF(top_columns),
     .sql = xprof_sql_overview_top_operations,
     .properties = xprof_sql_overview_properties},
    {.name = "steps",
     .title = "Steps",
     .forms = FOR_PROGRAMS,
     COLUMNS_OF(step_columns),
     .sql = xprof_sql_steps,
     .properties = xprof_sql_steps_properties},
    {.name = "environment",
     .title = "Environment",
     .forms = FOR_XPROF,
     COLUMNS_OF(environment_columns),
     .sql = xprof_sql_environment,
     .properties = xprof_sql_environment_properties},
    {.name = "recommendations",
     .title = "Recommendations",
     .forms = FOR_XPROF,
     COLUMNS_OF(tip_columns),
     .sql = xprof_sql_recommendations,
     .properties = xprof_sql_recommendations_properties},
    {.name = "latency",
     .title = "Latency",
     .forms = FOR_XPROF,
     COLUMNS_OF(latency_columns),
     .sql = xprof_sql_latency},
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

static const struct tool_column link_columns[] = {STRING("link", "link", FOR_XPROF)};
static const struct tool_column conclusion_columns[] = {
    STRING("conclusion", "Conclusion", FOR_USERS)};

static const struct tool_table input_tables[] = {
    {.name = "conclusion",
     .title = "Input",
     .forms = FOR_USERS,
     COLUMNS_OF(conclusion_columns),
     .sql = xprof_sql_input_conclusion},
    {.name = "max_infeed",
     .title = "",
     .forms = FOR_XPROF,
     COLUMNS_OF(infeed_columns),
     .sql = xprof_sql_max_infeed},
    {.name = "steps",
     .title = "Steps",
     .forms = FOR_ALL,
     COLUMNS_OF(step_columns),
     .sql = xprof_sql_steps,
     .properties = xprof_sql_steps_properties},
    {.name = "input_operations",
     .title = "Operations of the input, on the host",
     .forms = FOR_ALL,
     COLUMNS_OF(input_columns),
     .sql = xprof_sql_input_operations,
     .properties = xprof_sql_input_operations_properties},
    {.name = "links",
     .title = "",
     .forms = FOR_XPROF,
     COLUMNS_OF(link_columns),
     .sql = xprof_sql_input_links},
    {.name = "diagnostics", .title = "Diagnostics", .forms = FOR_XPROF, DIAGNOSTICS},
};

const struct xprof_tool input_pipeline_analyzer = {
    .name = "input_pipeline_analyzer",
    .about = "how long devices wait for input, and what the host does for it",
    .why = "the capture has no steps and no operations of an input pipeline",
    .needs = xprof_sql_needs_input,
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
    NUMBER("host_transfer_us", "Host transfer (us)", FOR_USERS, 1),
    NUMBER("compile_us", "Compile (us)", FOR_USERS, 1),
    NUMBER("other_us", "Other (us)", FOR_USERS, 1),
    STRING("bottleneck", "Bottleneck", FOR_USERS),
};
static const struct tool_table pod_tables[] = {
    {.name = "steps",
     .title = "Steps of each device",
     .forms = FOR_USERS,
     COLUMNS_OF(pod_columns),
     .sql = xprof_sql_pod_steps},
};

const struct xprof_tool pod_viewer = {
    .name = "pod_viewer",
    .about = "parts of each step, by device",
    .why = "the capture has no steps on a device: annotate them, in JAX with "
           "jax.profiler.StepTraceAnnotation",
    .needs = "SELECT 1 FROM StepBreakdown b JOIN accelerator d ON d.id = b.device_id",
    TABLES_OF(pod_tables),
    .document = xprof_sql_pod_document,
};

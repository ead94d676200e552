/*
 * inference_profile and megascale_stats: tools of what no program records that Kymo has met. They
 * have XProf's columns and no rows.
 */
#include "report/xprof/embedded_queries.h"
#include "report/xprof/tool.h"

static const struct tool_column model_columns[] = {STRING("model_name", "Model Name", FOR_XPROF)};
static const struct tool_column request_columns[] = {
    STRING("percentile", "Percentile", FOR_PROGRAMS),
    STRING("request_id", "Request ID", FOR_PROGRAMS),
    NUMBER("latency_ms", "Latency", FOR_PROGRAMS, 3),
    NUMBER("host_preprocessing", "Host preprocess", FOR_PROGRAMS, 3),
    NUMBER("host_runtime", "Host runtime", FOR_PROGRAMS, 3),
    NUMBER("data_transfer_h2d", "Data transfer H2D", FOR_PROGRAMS, 3),
    NUMBER("data_transfer_d2h", "Data transfer D2H", FOR_PROGRAMS, 3),
    NUMBER("device_compute", "Device compute", FOR_PROGRAMS, 3),
    NUMBER("host_postprocess", "Host postprocess", FOR_PROGRAMS, 3),
    NUMBER("idle time", "Idle time", FOR_PROGRAMS, 3),
    STRING("trace_viewer_url", "Trace Viewer URL", FOR_PROGRAMS),
};

static const struct tool_table inference_tables[] = {
    {.name = "models",
     .title = "Models",
     .forms = FOR_XPROF,
     COLUMNS_OF(model_columns),
     .sql = xprof_sql_inference_models,
     .properties = xprof_sql_inference_models_properties},
    {.name = "requests",
     .title = "Requests",
     .forms = FOR_ALL,
     COLUMNS_OF(request_columns),
     .sql = xprof_sql_inference_requests,
     .properties = xprof_sql_inference_requests_properties},
};

const struct xprof_tool inference_profile = {
    .name = "inference_profile",
    .about = "latency of requests to a model server",
    .why = "Kymo does not read the requests of model servers; XProf shows those of TensorFlow "
           "Serving on TPUs",
    .needs = "SELECT 1 WHERE false",
    TABLES_OF(inference_tables),
    .is_list = true,
};

static const struct tool_column rendezvous_columns[] = {
    STRING("rendezvous_name", "Rendezvous Name", FOR_PROGRAMS),
    STRING("recv_op_name", "Recv Op Name", FOR_PROGRAMS),
    STRING("send_op_name", "Send Op Name", FOR_PROGRAMS),
    STRING("transfer_type", "Transfer Type", FOR_PROGRAMS),
    NUMBER("slack_time", "Slack Time (ms)", FOR_PROGRAMS, 3),
    STRING("host_stall", "Host Stall (ms)", FOR_PROGRAMS),
    NUMBER("observed_duration", "Observed Duration (ms)", FOR_PROGRAMS, 3),
    NUMBER("send_stall", "Send Stall (ms)", FOR_PROGRAMS, 3),
    NUMBER("send_done_stall", "SendDone Stall (ms)", FOR_PROGRAMS, 3),
    NUMBER("recv_stall", "Recv Stall (ms)", FOR_PROGRAMS, 3),
    NUMBER("recv_done_stall", "RecvDone Stall (ms)", FOR_PROGRAMS, 3),
    NUMBER("stall_duration", "Stall Duration (ms)", FOR_PROGRAMS, 3),
    NUMBER("total_stall", "Total Stall (ms)", FOR_PROGRAMS, 3),
    NUMBER("occurrences", "Occurrences", FOR_PROGRAMS, 0),
    NUMBER("net_tx_bytes", "Net Tx (bytes)", FOR_PROGRAMS, 0),
    NUMBER("required_bandwidth", "Required Bandwidth (Gbps)", FOR_PROGRAMS, 3),
};

static const struct tool_table megascale_tables[] = {
    {.name = "collectives",
     .title = "Collectives between slices",
     .forms = FOR_ALL,
     COLUMNS_OF(rendezvous_columns),
     .sql = xprof_sql_megascale_collectives},
};

const struct xprof_tool megascale_stats = {
    .name = "megascale_stats",
    .about = "collectives between slices of TPUs, over the data center's network",
    .why = "Kymo does not read transfers between slices of TPUs; kymo view shows collectives of "
           "GPUs and NeuronCores, kymo stats PROFILE nccl_sum those of NCCL",
    .needs = "SELECT 1 WHERE false",
    TABLES_OF(megascale_tables),
    .is_list = true,
};

/*
 * Columns of what the analysis works out.
 */
#include "store/tables/schema_parts.h"

const struct field devices_fields[] = {
    [DEVICE_ID] = ALWAYS(INT64, "id", "", "Id of the device, from 0.", "0"),
    [DEVICE_TRACK] = ALWAYS(INT64, "track_id", "", "Track of the device: Track.id.", "4"),
    [DEVICE_INSTANCE] = ALWAYS(NAME, "instance_id", "", "Host.", "host0"),
    [DEVICE_NUMBER] = MAYBE(INT64, "device_idx", "", "Device index on the host.", "0"),
    [DEVICE_KIND] = ONE_OF(true, "kind", "Kind of device.", "GPU", "GPU, TPU, Neuron, CPU, other"),
    [DEVICE_NAME] = MAYBE(NAME, "name", "", "Model.", "NVIDIA H200"),
    [DEVICE_TYPE] =
        MAYBE(NAME, "type", "", "Type of device as XProf calls it.", "Nvidia GPU (Hopper)"),
    [DEVICE_CAPABILITY] =
        MAYBE(NAME, "compute_capability", "", "Compute capability of a GPU.", "9.0"),
    [DEVICE_CORES] = MAYBE(INT64, "core_count", "", "Multiprocessors or compute units.", "132"),
    [DEVICE_CLOCK] = MAYBE(FLOAT64, "clock_ghz", "GHz", "Highest clock of its cores.", "1.98"),
    [DEVICE_MEMORY] = MAYBE(INT64, "memory_bytes", "B", "Size of its memory.", "150109880320"),
    [DEVICE_PEAK] = MAYBE(FLOAT64, "peak_flops", "FLOP/s", "Peak, dense, for numbers of peak_type.",
                          "989400000000000"),
    [DEVICE_PEAK_TYPE] = MAYBE(NAME, "peak_type", "",
                               "Type of numbers that most of its products of matrices are of; "
                               "without any, that of the highest peak for 16 bits.",
                               "bf16"),
    [DEVICE_F64] = MAYBE(FLOAT64, "peak_f64", "FLOP/s", "Peak for f64.", "67000000000000"),
    [DEVICE_F32] = MAYBE(FLOAT64, "peak_f32", "FLOP/s", "Peak for f32, without matrix units.",
                         "67000000000000"),
    [DEVICE_TF32] = MAYBE(FLOAT64, "peak_tf32", "FLOP/s",
                          "Peak for f32 in matrix units, which round it.", "494700000000000"),
    [DEVICE_F16] = MAYBE(FLOAT64, "peak_f16", "FLOP/s", "Peak for f16.", "989400000000000"),
    [DEVICE_BF16] = MAYBE(FLOAT64, "peak_bf16", "FLOP/s", "Peak for bf16.", "989400000000000"),
    [DEVICE_F8] = MAYBE(FLOAT64, "peak_f8", "FLOP/s", "Peak for 8-bit floating-point numbers.",
                        "1978900000000000"),
    [DEVICE_S8] = MAYBE(FLOAT64, "peak_s8", "FLOP/s", "Peak for 8-bit integers, in operations.",
                        "1978900000000000"),
    [DEVICE_XPROF_PEAK] = MAYBE(FLOAT64, "xprof_peak_flops", "FLOP/s", "Peak that XProf assumes.",
                                "1070530560000000"),
    [DEVICE_HBM] =
        MAYBE(FLOAT64, "hbm_bytes_per_s", "B/s", "Bandwidth of its memory.", "4814304000000"),
    [DEVICE_SRAM_READ] =
        MAYBE(FLOAT64, "sram_read_bytes_per_s", "B/s",
              "Bandwidth of on-chip memory, reading; of GPUs shared memory.", "66908160000000"),
    [DEVICE_SRAM_WRITE] =
        MAYBE(FLOAT64, "sram_write_bytes_per_s", "B/s", "The same, writing.", "66908160000000"),
    [DEVICE_CMEM_READ] = MAYBE(FLOAT64, "cmem_read_bytes_per_s", "B/s",
                               "Bandwidth of a TPU's CMEM, reading.", "2600000000000"),
    [DEVICE_CMEM_WRITE] =
        MAYBE(FLOAT64, "cmem_write_bytes_per_s", "B/s", "The same, writing.", "2600000000000"),
    [DEVICE_VMEM_READ] = MAYBE(FLOAT64, "vmem_read_bytes_per_s", "B/s",
                               "Bandwidth of a TPU's VMEM, reading.", "23296009987686"),
    [DEVICE_VMEM_WRITE] =
        MAYBE(FLOAT64, "vmem_write_bytes_per_s", "B/s", "The same, writing.", "16128031693210"),
    [DEVICE_PEAKS_FROM] = ONE_OF(false, "peaks_from", "Where the peaks are from.", "device table",
                                 "capture, device table, compute capability"),
    [DEVICE_SPAN] =
        ALWAYS(INT64, "span_ns", "ns", "From its first work to the end of its last.", "88900000"),
    [DEVICE_BUSY] =
        ALWAYS(INT64, "busy_ns", "ns", "Time in which it worked, on any stream.", "70200000"),
    [DEVICE_OPS] =
        ALWAYS(INT64, "op_ns", "ns",
               "Self times of its operations, added up: DeviceOperation.self_ns.", "70300000"),
    [DEVICE_IDLE] = ALWAYS(INT64, "idle_ns", "ns", "span_ns - busy_ns.", "18700000"),
    [DEVICE_DUTY] = MAYBE(FLOAT64, "duty_cycle", "", "busy_ns / span_ns.", "0.79"),
};

const struct field device_operations_fields[] = {
    [DEVICE_OP_ID] = ALWAYS(INT64, "id", "", "Id of the row, from 0.", "12"),
    [DEVICE_OP_DEVICE] = ALWAYS(INT64, "device_id", "", "Device: Device.id.", "0"),
    [DEVICE_OP_MODULE] = MAYBE(INT64, "module_id", "", "HLO module: HloModule.id.", "0"),
    [DEVICE_OP_PROGRAM] = MAYBE(INT64, "program_id", "", "Program id of the HLO module.", "15913"),
    [DEVICE_OP_OPERATION] =
        MAYBE(INT64, "operation_id", "", "HLO operation: HloOperation.id.", "118"),
    [DEVICE_OP_NAME] = ALWAYS(NAME, "name", "",
                              "HLO operation; otherwise the kernel or copy, behind the framework's "
                              "operator and a slash where that is known.",
                              "fusion.12"),
    [DEVICE_OP_CATEGORY] =
        MAYBE(NAME, "category", "",
              "HLO category; otherwise the type of the framework's operator, or memcpy or memset.",
              "loop fusion"),
    [DEVICE_OP_EXPRESSION] =
        MAYBE(NAME, "expression", "", "HLO text.", "%fusion.12 = f32[8]{0} fusion(...)"),
    [DEVICE_OP_FRAMEWORK_OP] =
        MAYBE(NAME, "framework_op", "", "Framework operator.", "jit(train_step)/dot_general"),
    [DEVICE_OP_FRAMEWORK_TYPE] =
        MAYBE(NAME, "framework_type", "", "Type of that operator.", "dot_general"),
    [DEVICE_OP_FILE] = MAYBE(NAME, "source_file", "", "Source file.", "/home/me/train.py"),
    [DEVICE_OP_LINE] = MAYBE(INT64, "source_line", "", "Line of that file.", "31"),
    [DEVICE_OP_CORE] = ONE_OF(false, "core_type", "Core of a TPU that it runs on.", "TensorCore",
                              "TensorCore, SparseCore"),
    [DEVICE_OP_PARENT] =
        MAYBE(NAME, "parent_name", "", "Operation of a TPU that its first execution is nested in.",
              "while.2"),
    [DEVICE_OP_DEDUPLICATED] =
        MAYBE(NAME, "deduplicated_name", "",
              "Operation of the same program that does the same, if a TPU says so.", "fusion.3"),
    [DEVICE_OP_ATTRIBUTION] =
        ONE_OF(true, "attribution", "How its operation is known.", "recorded",
               "recorded, kernel name, schedule order, framework operator, none"),
    [DEVICE_OP_OCCURRENCES] = ALWAYS(INT64, "occurrence_count", "", "Executions.", "20"),
    [DEVICE_OP_KERNELS] =
        ALWAYS(INT64, "kernel_count", "",
               "Kernels, copies and memsets of a GPU; of others the executions.", "40"),
    [DEVICE_OP_TOTAL] =
        ALWAYS(INT64, "total_ns", "ns",
               "Time of its executions; of a GPU's operation, of their kernels.", "812000"),
    [DEVICE_OP_SELF] =
        ALWAYS(INT64, "self_ns", "ns", "The same without operations nested in it.", "812000"),
    [DEVICE_OP_MIN] = ALWAYS(INT64, "min_ns", "ns", "Shortest execution.", "39000"),
    [DEVICE_OP_MAX] = ALWAYS(INT64, "max_ns", "ns", "Longest execution.", "42000"),
    [DEVICE_OP_MATRIX_TIME] =
        MAYBE(INT64, "tensor_core_ns", "ns",
              "Time of kernels that use tensor cores; NULL where there are no kernels.", "812000"),
    [DEVICE_OP_FLOPS] =
        MAYBE(FLOAT64, "flops", "FLOP",
              "Floating-point operations, of all executions as all that follow.", "34359738368"),
    [DEVICE_OP_MATRIX_FLOPS] =
        MAYBE(FLOAT64, "matrix_flops", "FLOP", "Those in products of matrices and convolutions.",
              "34359738368"),
    [DEVICE_OP_COMPUTE_TYPE] =
        MAYBE(NAME, "compute_type", "",
              "Type of the numbers it multiplies, otherwise of its result.", "bf16"),
    [DEVICE_OP_XPROF_FLOPS] =
        MAYBE(FLOAT64, "xprof_flops", "", "What XProf takes for its model FLOPs.", "34359738368"),
    [DEVICE_OP_XPROF_DEVICE_FLOPS] =
        MAYBE(FLOAT64, "xprof_device_flops", "", "What XProf takes for its normalized FLOPs.",
              "34359738368"),
    [DEVICE_OP_BYTES] = MAYBE(INT64, "bytes_accessed", "B", "Bytes read and written.", "50331648"),
    [DEVICE_OP_HBM_BYTES] =
        MAYBE(INT64, "hbm_bytes", "B", "Those of HBM; of GPUs all of them.", "50331648"),
    [DEVICE_OP_CMEM_READ] =
        MAYBE(INT64, "cmem_read_bytes", "B", "Bytes read from a TPU's CMEM.", "4194304"),
    [DEVICE_OP_CMEM_WRITE] =
        MAYBE(INT64, "cmem_write_bytes", "B", "Bytes written to it.", "4194304"),
    [DEVICE_OP_VMEM_READ] =
        MAYBE(INT64, "vmem_read_bytes", "B", "Bytes read from a TPU's VMEM.", "8388608"),
    [DEVICE_OP_VMEM_WRITE] =
        MAYBE(INT64, "vmem_write_bytes", "B", "Bytes written to it.", "8388608"),
    [DEVICE_OP_STALL] = MAYBE(INT64, "dma_stall_ns", "ns",
                              "Time in which it waited for DMA, where a TPU says so.", "1200"),
    [DEVICE_OP_FIRST] =
        ALWAYS(INT64, "first_event_id", "", "Its first event: SystemProfileEvents.id.", "1024"),
};

const struct field step_breakdowns_fields[] = {
    [BREAKDOWN_DEVICE] =
        MAYBE(INT64, "device_id", "",
              "Device: Device.id; NULL for the host, where there is no device.", "0"),
    [BREAKDOWN_STEP] = ALWAYS(INT64, "step_id", "", "Step: Step.id.", "3"),
    [BREAKDOWN_NUMBER] = ALWAYS(INT64, "number", "", "Step number set by the program.", "19"),
    [BREAKDOWN_START] =
        ALWAYS(INT64, "start_ts", "ns",
               "Start, relative to the start of the profile. A step lasts as on the host if that "
               "contains its work on devices; otherwise it begins there, but not before the work "
               "of earlier steps is done, and ends with its work.",
               "81340"),
    [BREAKDOWN_DURATION] =
        ALWAYS(INT64, "duration_ns", "ns", "Duration; the sum of the next twelve.", "4200000"),
    [BREAKDOWN_COMPUTE_16] =
        ALWAYS(INT64, "compute_16_ns", "ns",
               "Device computes with floating-point numbers of 16 bits and fewer.", "2800000"),
    [BREAKDOWN_COMPUTE_32] =
        ALWAYS(INT64, "compute_32_ns", "ns", "Device computes with those of 32 bits.", "600000"),
    [BREAKDOWN_COMPUTE_OTHER] = ALWAYS(
        INT64, "compute_other_ns", "ns",
        "Device computes with other numbers, or with those of a type nobody names.", "100000"),
    [BREAKDOWN_COLLECTIVES] =
        ALWAYS(INT64, "collectives_ns", "ns",
               "Collectives, while nothing before this column, nor a copy from the device, runs.",
               "300000"),
    [BREAKDOWN_BETWEEN] =
        ALWAYS(INT64, "device_to_device_ns", "ns",
               "Copies on and between devices, while none of the former runs.", "20000"),
    [BREAKDOWN_TO_HOST] = ALWAYS(INT64, "device_to_host_ns", "ns",
                                 "Copies to the host, while nothing computes.", "10000"),
    [BREAKDOWN_TO_DEVICE] = ALWAYS(INT64, "host_to_device_ns", "ns",
                                   "Copies from the host, while nothing else runs.", "40000"),
    [BREAKDOWN_INPUT_WAIT] =
        ALWAYS(INT64, "input_wait_ns", "ns", "Device is idle, the host waits for input.", "0"),
    [BREAKDOWN_HOST_COMPUTE] = ALWAYS(
        INT64, "host_compute_ns", "ns",
        "Device is idle, the host does something else than in the columns around this.", "200000"),
    [BREAKDOWN_LAUNCH] =
        ALWAYS(INT64, "kernel_launch_ns", "ns", "Device is idle, the host launches work.", "80000"),
    [BREAKDOWN_COMPILE] =
        ALWAYS(INT64, "compile_ns", "ns", "Device is idle, the host compiles.", "0"),
    [BREAKDOWN_OTHER] = ALWAYS(
        INT64, "other_ns", "ns",
        "The rest: gaps between work that was launched already, waits, nothing recorded.", "50000"),
    [BREAKDOWN_INFEED] = MAYBE(INT64, "infeed_ns", "ns",
                               "A TPU's infeed, which is part of host_to_device_ns.", "40000"),
    [BREAKDOWN_OUTFEED] = MAYBE(INT64, "outfeed_ns", "ns",
                                "A TPU's outfeed, which is part of device_to_host_ns.", "10000"),
    [BREAKDOWN_IDLE] =
        MAYBE(INT64, "idle_ns", "ns", "Time in which the device did nothing.", "330000"),
};

const struct field findings_fields[] = {
    [FINDING_ID] =
        ALWAYS(INT64, "id", "", "Rank of the finding, from 0: the costliest first.", "0"),
    [FINDING_RULE] = ALWAYS(NAME, "rule", "", "Rule that made it.", "host-bound"),
    [FINDING_TITLE] = ALWAYS(TEXT, "title", "", "Title.", "The host hands over work too late"),
    [FINDING_TEXT] = ALWAYS(TEXT, "statement", "", "Statement with its figures.",
                            "The device idles 49.5 ms because ..."),
    [FINDING_ADVICE] = ALWAYS(TEXT, "advice", "", "What to try.", "Load ahead: ..."),
    [FINDING_COST] =
        ALWAYS(INT64, "cost_ns", "ns", "Time it costs, per device or rank.", "49500000"),
    [FINDING_SHARE] = ALWAYS(FLOAT64, "share", "", "The same as a fraction of share_of.", "0.57"),
    [FINDING_SHARE_OF] = ALWAYS(NAME, "share_of", "", "What the share is of.", "the steps"),
    [FINDING_SQL] = ALWAYS(TEXT, "query", "", "Query that lists what it speaks of; may be empty.",
                           "SELECT ..."),
};

const struct field evidence_fields[] = {
    [EVIDENCE_FINDING] = ALWAYS(INT64, "finding_id", "", "Finding: Finding.id.", "0"),
    [EVIDENCE_LABEL] = ALWAYS(TEXT, "label", "", "What is to be seen.", "longest gap, of 3.4 ms"),
    [EVIDENCE_EVENT] = MAYBE(INT64, "event_id", "", "Event: SystemProfileEvents.id.", "1024"),
    [EVIDENCE_START] =
        ALWAYS(INT64, "start_ts", "ns",
               "Start of the time to look at, relative to the start of the profile.", "81340"),
    [EVIDENCE_END] = ALWAYS(INT64, "end_ts", "ns", "End of that time.", "93340"),
    [EVIDENCE_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "Length of that time.", "12000"),
};

/* What operators and modules have in common. */
#define CALL_FIELDS                                                                                \
    [OPERATOR_CALLS] = ALWAYS(INT64, "call_count", "", "Number of calls.", "240"),                 \
    [OPERATOR_HOST_TIME] =                                                                         \
        ALWAYS(INT64, "host_time_ns", "ns", "Time of the calls on the host.", "8120000"),          \
    [OPERATOR_HOST_SELF] = ALWAYS(INT64, "host_self_time_ns", "ns",                                \
                                  "The same without events nested in the calls.", "2310000"),      \
    [OPERATOR_DEVICE_EVENTS] = ALWAYS(INT64, "device_event_count", "",                             \
                                      "Kernels, copies and memsets it launched itself.", "240"),   \
    [OPERATOR_DEVICE_SELF] =                                                                       \
        ALWAYS(INT64, "device_self_time_ns", "ns", "Sum of their durations.", "4050000"),          \
    [OPERATOR_DEVICE_TIME] = ALWAYS(INT64, "device_time_ns", "ns",                                 \
                                    "The same with what it called; calls nested in calls of the "  \
                                    "same name count once.",                                       \
                                    "4050000"),                                                    \
    [OPERATOR_WITH_BACKWARD] = ALWAYS(INT64, "device_time_with_backward_ns", "ns",                 \
                                      "The same with the backward pass of all of these, which "    \
                                      "autograd's sequence numbers link to them.",                 \
                                      "12450000"),                                                 \
    [OPERATOR_PERCENT] = ALWAYS(FLOAT64, "device_self_time_percent", "%",                          \
                                "device_self_time_ns relative to the durations of all kernels, "   \
                                "copies and memsets.",                                             \
                                "9.1")

const struct field operator_summaries_fields[] = {
    [OPERATOR_NAME] =
        ALWAYS(NAME, "name", "", "Name of the operator or annotation.", "aten::layer_norm"),
    CALL_FIELDS,
    [OPERATOR_KIND] = ONE_OF(true, "kind",
                             "An operator of the framework, or an annotation, as compiled graphs "
                             "and optimizers have.",
                             "operator", "operator, annotation"),
};

const struct field module_summaries_fields[] = {
    [OPERATOR_NAME] = ALWAYS(NAME, "name", "",
                             "Name of the module, or its path in TorchScript, whose calls are its "
                             "outermost operators.",
                             "Linear_3"),
    CALL_FIELDS,
};

/*
 * Table and column descriptions of the profile schema.
 */
#include "store/schema.h"

#include "store/schema_device.h"
#include "store/schema_rank.h"

/* A column without NULLs, and one that may be NULL. */
#define ALWAYS(type, name, unit, meaning, example)                                                 \
    {name, FIELD_##type, true, unit, meaning, example, NULL}
#define MAYBE(type, name, unit, meaning, example)                                                  \
    {name, FIELD_##type, false, unit, meaning, example, NULL}
/* An enumerated text column. */
#define ONE_OF(required, name, meaning, example, choices)                                          \
    {name, FIELD_NAME, required, "", meaning, example, choices}

/* The operator of device work, which several tables have. */
#define FRAMEWORK_OP                                                                               \
    MAYBE(NAME, "framework_op", "",                                                                \
          "Framework operator that launched it: the innermost one, or else the innermost "         \
          "annotation; XLA's label where the source has one.",                                     \
          "aten::mm")
#define FRAMEWORK_EVENT                                                                            \
    MAYBE(INT64, "framework_op_event_id", "", "Call of that operator: SystemProfileEvents.id.",    \
          "870")

/* Where the program launched it. */
#define LAUNCH_FILE                                                                                \
    MAYBE(NAME, "source_file", "",                                                                 \
          "File of its HLO operation, or the Python file that called its operator; of a backward " \
          "pass, that of the forward operator.",                                                   \
          "/home/me/train.py")
#define LAUNCH_LINE MAYBE(INT64, "source_line", "", "Line of that file.", "31")

static const struct field events_fields[] = {
    [EVENT_ID] = ALWAYS(INT64, "id", "", "Id of the event.", "1024"),
    [EVENT_NAME] =
        ALWAYS(NAME, "name", "", "Name of the function, operation or kernel.", "MemcpyD2H"),
    [EVENT_START] =
        ALWAYS(INT64, "start_ts", "ns", "Start, relative to the start of the profile.", "81340"),
    [EVENT_END] = ALWAYS(INT64, "end_ts", "ns", "End: start_ts + duration_ns.", "93340"),
    [EVENT_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "Duration.", "12000"),
    [EVENT_SOURCE] = ONE_OF(true, "trace_event_source", "Layer that recorded it.", "gpu_hw",
                            "framework, neuron_rt, neuron_hw, gpu_hw, tpu_hw, device_hw, other"),
    [EVENT_INSTANCE] = ALWAYS(NAME, "instance_id", "", "Host it ran on.", "host0"),
    [EVENT_PROCESS] = ALWAYS(INT64, "process_id", "", "Process id in the source.", "701"),
    [EVENT_THREAD] =
        ALWAYS(INT64, "thread_id", "",
               "Id of the thread or, on devices, of the stream or line in the source.", "4711"),
    [EVENT_CORE] =
        MAYBE(INT64, "nc_idx", "", "Core or device index on the host; NULL for host events.", "0"),
    [EVENT_PHYSICAL_CORE] =
        MAYBE(INT64, "pcore_idx", "", "Physical core within a logical core.", "0"),
    [EVENT_WORKER] = MAYBE(INT64, "worker_gid", "", "Global rank of the worker, if known.", "3"),
    [EVENT_FLOWS] = MAYBE(TEXT_LIST, "flow_id", "",
                          "Flows it belongs to: events with a common flow id are linked.", "[12]"),
    [EVENT_STREAM] = MAYBE(NAME, "framework_stream_id", "", "Device stream.", "Stream #13(Kernel)"),
    [EVENT_ATTRIBUTES] =
        MAYBE(TEXT, "extra_attributes_json", "",
              "Attributes without a column in any table, as JSON.", "{\"device_id\":0}"),
    [EVENT_TRACK] = ALWAYS(INT64, "track_id", "", "Track: Track.id.", "5"),
    [EVENT_TYPE] = ALWAYS(INT64, "event_type_id", "", "Event type: EventType.id.", "17"),
    [EVENT_STEP] = MAYBE(INT64, "step_id", "", "Step it belongs to: Step.id.", "3"),
    [EVENT_OCCURRENCES] = MAYBE(INT64, "occurrence_count", "",
                                "Number of events a row without times stands for.", "250"),
    [EVENT_START_FRACTION] =
        ALWAYS(INT32, "start_fraction_ps", "ps", "Picoseconds to add to start_ts.", "250"),
    [EVENT_DURATION_FRACTION] =
        ALWAYS(INT32, "duration_fraction_ps", "ps", "Picoseconds to add to duration_ns.", "0"),
    [EVENT_SELF] =
        ALWAYS(INT64, "self_ns", "ns",
               "Self time: its duration without the events inside it on its track.", "4000"),
};

static const struct field kernels_fields[] = {
    [KERNEL_ID] = ALWAYS(INT64, "id", "", "Event: SystemProfileEvents.id.", "1024"),
    [KERNEL_NAME] = ALWAYS(NAME, "name", "", "Kernel name.", "ampere_sgemm_128x64"),
    [KERNEL_START] =
        ALWAYS(INT64, "start_ts", "ns", "Start, relative to the start of the profile.", "81340"),
    [KERNEL_END] = ALWAYS(INT64, "end_ts", "ns", "End time.", "93340"),
    [KERNEL_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "Duration.", "12000"),
    [KERNEL_DEVICE] = MAYBE(INT64, "device_idx", "", "Device index on the host.", "0"),
    [KERNEL_STREAM] = ALWAYS(INT64, "stream_id", "", "Stream it ran on.", "13"),
    [KERNEL_CORRELATION] = MAYBE(INT64, "correlation_id", "",
                                 "Correlation id the driver assigned to its launch.", "1274"),
    [KERNEL_LAUNCH] = MAYBE(INT64, "launch_event_id", "",
                            "Host call that launched it: SystemProfileEvents.id.", "988"),
    [KERNEL_STEP] = MAYBE(INT64, "step_id", "", "Step it belongs to: Step.id.", "3"),
    [KERNEL_GRID_X] = MAYBE(INT64, "grid_x", "", "Grid size in x, in blocks.", "2048"),
    [KERNEL_GRID_Y] = MAYBE(INT64, "grid_y", "", "Grid size in y, in blocks.", "1"),
    [KERNEL_GRID_Z] = MAYBE(INT64, "grid_z", "", "Grid size in z, in blocks.", "1"),
    [KERNEL_BLOCK_X] = MAYBE(INT64, "block_x", "", "Block size in x, in threads.", "128"),
    [KERNEL_BLOCK_Y] = MAYBE(INT64, "block_y", "", "Block size in y, in threads.", "1"),
    [KERNEL_BLOCK_Z] = MAYBE(INT64, "block_z", "", "Block size in z, in threads.", "1"),
    [KERNEL_REGISTERS] = MAYBE(INT64, "registers_per_thread", "", "Registers per thread.", "98"),
    [KERNEL_SHARED] =
        MAYBE(INT64, "shared_bytes", "B", "Shared memory per block, static and dynamic.", "32768"),
    [KERNEL_STATIC_SHARED] =
        MAYBE(INT64, "static_shared_bytes", "B", "Static shared memory per block.", "0"),
    [KERNEL_DYNAMIC_SHARED] =
        MAYBE(INT64, "dynamic_shared_bytes", "B",
              "Dynamic shared memory per block, requested at launch.", "32768"),
    [KERNEL_OCCUPANCY] = MAYBE(FLOAT64, "occupancy_percent", "%",
                               "Occupancy: resident warps relative to the device's maximum.", "25"),
    [KERNEL_THEORETICAL_OCCUPANCY] = MAYBE(FLOAT64, "theoretical_occupancy_percent", "%",
                                           "Theoretical occupancy computed by the profiler.", "25"),
    [KERNEL_MINIMUM_GRID] =
        MAYBE(INT64, "occupancy_min_grid_size", "", "Minimum grid size for full occupancy.", "132"),
    [KERNEL_SUGGESTED_BLOCK] = MAYBE(INT64, "occupancy_suggested_block_size", "",
                                     "Suggested block size for maximum occupancy.", "512"),
    [KERNEL_GRAPH] = MAYBE(INT64, "cuda_graph_id", "", "CUDA graph it belongs to.", "66"),
    [KERNEL_GRAPH_NODE] =
        MAYBE(INT64, "cuda_graph_node_id", "", "Node of the CUDA graph.", "283467841853"),
    [KERNEL_CONTEXT] = MAYBE(NAME, "context_id", "", "Device context.", "$$1"),
    [KERNEL_SCOPE_RANGE] = MAYBE(INT64, "scope_range_id", "",
                                 "Annotation scope it was launched in.", "281474976716738"),
    [KERNEL_MODULE] = MAYBE(NAME, "hlo_module", "", "HLO module.", "jit_train_step"),
    [KERNEL_PROGRAM] = MAYBE(INT64, "program_id", "", "Program id of the HLO module.", "15913"),
    [KERNEL_LABEL] = MAYBE(NAME, "hlo_op", "",
                           "HLO operation as labelled by the source; the graph inside CUDA graphs.",
                           "fusion.12"),
    [KERNEL_OPERATION] = MAYBE(INT64, "operation_id", "", "HLO operation: HloOperation.id.", "118"),
    [KERNEL_FRAMEWORK_OP] = FRAMEWORK_OP,
    [KERNEL_FRAMEWORK_EVENT] = FRAMEWORK_EVENT,
    [KERNEL_FILE] = LAUNCH_FILE,
    [KERNEL_LINE] = LAUNCH_LINE,
    [KERNEL_ATTRIBUTION] =
        ONE_OF(true, "attribution", "How its operation is known.", "recorded",
               "recorded, kernel name, schedule order, framework operator, none"),
    [KERNEL_MATRIX_UNITS] =
        MAYBE(BOOL, "uses_tensor_cores", "",
              "Whether it uses tensor cores, by its name and its operation.", "true"),
};

static const struct field copies_fields[] = {
    [COPY_ID] = ALWAYS(INT64, "id", "", "Event: SystemProfileEvents.id.", "1024"),
    [COPY_NAME] = ALWAYS(NAME, "name", "", "Name of the copy or memset.", "MemcpyH2D"),
    [COPY_START] =
        ALWAYS(INT64, "start_ts", "ns", "Start, relative to the start of the profile.", "81340"),
    [COPY_END] = ALWAYS(INT64, "end_ts", "ns", "End time.", "93340"),
    [COPY_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "Duration.", "12000"),
    [COPY_DEVICE] = MAYBE(INT64, "device_idx", "", "Device index on the host.", "0"),
    [COPY_STREAM] = ALWAYS(INT64, "stream_id", "", "Stream it ran on.", "13"),
    [COPY_CORRELATION] = MAYBE(INT64, "correlation_id", "",
                               "Correlation id the driver assigned to its launch.", "1274"),
    [COPY_LAUNCH] = MAYBE(INT64, "launch_event_id", "",
                          "Host call that launched it: SystemProfileEvents.id.", "988"),
    [COPY_STEP] = MAYBE(INT64, "step_id", "", "Step it belongs to: Step.id.", "3"),
    [COPY_OPERATION] = ONE_OF(true, "operation", "Copy or memset.", "memcpy", "memcpy, memset"),
    [COPY_BYTES] = MAYBE(INT64, "size_bytes", "B", "Size.", "8192"),
    [COPY_SOURCE_KIND] = MAYBE(NAME, "source_kind", "", "Source memory kind.", "pinned"),
    [COPY_DESTINATION_KIND] =
        MAYBE(NAME, "destination_kind", "", "Destination memory kind.", "device"),
    [COPY_PEER] = MAYBE(INT64, "destination_device", "", "Destination device.", "0"),
    [COPY_ASYNC] = MAYBE(BOOL, "is_async", "", "Whether the copy was asynchronous.", "true"),
    [COPY_GRAPH] = MAYBE(INT64, "cuda_graph_id", "", "CUDA graph it belongs to.", "66"),
    [COPY_GRAPH_NODE] =
        MAYBE(INT64, "cuda_graph_node_id", "", "Node of the CUDA graph.", "283467841853"),
    [COPY_CONTEXT] = MAYBE(NAME, "context_id", "", "Device context.", "$$1"),
    [COPY_SCOPE_RANGE] = MAYBE(INT64, "scope_range_id", "", "Annotation scope it was launched in.",
                               "281474976716738"),
    [COPY_MODULE] = MAYBE(NAME, "hlo_module", "", "HLO module.", "jit_train_step"),
    [COPY_PROGRAM] = MAYBE(INT64, "program_id", "", "Program id of the HLO module.", "15913"),
    [COPY_LABEL] = MAYBE(NAME, "hlo_op", "",
                         "HLO operation as labelled by the source; the graph inside CUDA graphs.",
                         "fusion.12"),
    [COPY_FRAMEWORK_OP] = FRAMEWORK_OP,
    [COPY_FRAMEWORK_EVENT] = FRAMEWORK_EVENT,
    [COPY_FILE] = LAUNCH_FILE,
    [COPY_LINE] = LAUNCH_LINE,
};

static const struct field collectives_fields[] = {
    [COLLECTIVE_ID] = ALWAYS(INT64, "id", "", "Event: SystemProfileEvents.id.", "1024"),
    [COLLECTIVE_NAME] = ALWAYS(NAME, "name", "", "Event name.", "record_param_comms"),
    [COLLECTIVE_START] =
        ALWAYS(INT64, "start_ts", "ns", "Start, relative to the start of the profile.", "81340"),
    [COLLECTIVE_END] = ALWAYS(INT64, "end_ts", "ns", "End time.", "93340"),
    [COLLECTIVE_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "Duration.", "12000"),
    [COLLECTIVE_TRACK] =
        ALWAYS(INT64, "track_id", "",
               "Track: Track.id; host call and device kernel are separate rows.", "4"),
    [COLLECTIVE_OPERATION] = ALWAYS(NAME, "operation", "", "Collective operation.", "allreduce"),
    [COLLECTIVE_DATA_TYPE] = MAYBE(NAME, "data_type", "", "Element type.", "BFloat16"),
    [COLLECTIVE_IN_ELEMENTS] =
        MAYBE(INT64, "input_elements", "", "Number of input elements.", "6637568"),
    [COLLECTIVE_OUT_ELEMENTS] =
        MAYBE(INT64, "output_elements", "", "Number of output elements.", "6637568"),
    [COLLECTIVE_IN_SPLIT] = MAYBE(NAME, "input_split_sizes", "",
                                  "Input elements per rank, if they differ.", "[512, 256]"),
    [COLLECTIVE_OUT_SPLIT] = MAYBE(NAME, "output_split_sizes", "",
                                   "Output elements per rank, if they differ.", "[256, 512]"),
    [COLLECTIVE_GROUP] = MAYBE(NAME, "group_name", "", "Process group.", "0"),
    [COLLECTIVE_GROUP_DESCRIPTION] =
        MAYBE(NAME, "group_description", "", "Description of the process group.", "default_pg"),
    [COLLECTIVE_GROUP_SIZE] = MAYBE(INT64, "group_size", "", "Number of ranks in the group.", "8"),
    [COLLECTIVE_GROUP_RANKS] =
        MAYBE(NAME, "group_ranks", "", "Ranks in the group.", "[0, 1, 2, 3]"),
    [COLLECTIVE_FRAMEWORK_OP] = FRAMEWORK_OP,
    [COLLECTIVE_FRAMEWORK_EVENT] = FRAMEWORK_EVENT,
};

static const struct field allocations_fields[] = {
    [ALLOCATION_ID] = ALWAYS(INT64, "id", "", "Event: SystemProfileEvents.id.", "2048"),
    [ALLOCATION_NAME] = ALWAYS(NAME, "name", "", "Event name.", "MemoryAllocation"),
    [ALLOCATION_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "Time, relative to the start of the profile.", "81340"),
    [ALLOCATION_TRACK] = ALWAYS(INT64, "track_id", "", "Track: Track.id.", "4"),
    [ALLOCATION_ALLOCATOR] = MAYBE(NAME, "allocator_name", "", "Allocator.", "GPU_0_bfc"),
    [ALLOCATION_REQUESTED] = MAYBE(INT64, "requested_bytes", "B", "Requested size.", "16785408"),
    [ALLOCATION_BYTES] = MAYBE(INT64, "allocation_bytes", "B", "Allocated size.", "33554432"),
    [ALLOCATION_ADDRESS] = MAYBE(INT64, "address", "", "Address.", "12952010752"),
    [ALLOCATION_IN_USE] =
        MAYBE(INT64, "bytes_allocated", "B", "Memory in use afterwards.", "73728"),
    [ALLOCATION_RESERVED] = MAYBE(INT64, "bytes_reserved", "B", "Memory reserved afterwards.", "0"),
    [ALLOCATION_AVAILABLE] =
        MAYBE(INT64, "bytes_available", "B", "Memory free afterwards.", "112583434240"),
    [ALLOCATION_PEAK] = MAYBE(INT64, "peak_bytes_in_use", "B", "Peak memory in use.", "134308096"),
    [ALLOCATION_FRAGMENTATION] =
        MAYBE(FLOAT64, "fragmentation", "",
              "Fraction of free memory outside the largest free block.", "0.349"),
    [ALLOCATION_REGION] = MAYBE(INT64, "region_id", "", "Memory region id in the source.", "0"),
    [ALLOCATION_DATA_TYPE] = MAYBE(INT64, "data_type", "", "Element type id in the source.", "0"),
    [ALLOCATION_SOURCE] = MAYBE(NAME, "source_file", "", "Framework source file that recorded it.",
                                "bfc_allocator.cc"),
    [ALLOCATION_DEVICE] = MAYBE(INT64, "device_idx", "",
                                "Device whose memory it is, as the source numbers them; -1 for "
                                "the host's.",
                                "0"),
};

static const struct field counters_fields[] = {
    [COUNTER_ID] = ALWAYS(INT64, "id", "", "Event: SystemProfileEvents.id.", "300"),
    [COUNTER_TRACK] = ALWAYS(INT64, "track_id", "", "Track of the counter: Track.id.", "9"),
    [COUNTER_NAME] = ALWAYS(NAME, "name", "", "Counter name.", "power_watts"),
    [COUNTER_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "Time, relative to the start of the profile.", "81340"),
    [COUNTER_VALUE] = ALWAYS(FLOAT64, "value", "", "Value.", "412.5"),
};

static const struct field flows_fields[] = {
    [FLOW_IN] = ALWAYS(INT64, "in_id", "", "Cause: id in in_table.", "988"),
    [FLOW_OUT] = ALWAYS(INT64, "out_id", "", "Effect: id in out_table.", "1024"),
    [FLOW_IN_TABLE] = ALWAYS(NAME, "in_table", "", "Table of the cause.", "SystemProfileEvents"),
    [FLOW_OUT_TABLE] = ALWAYS(NAME, "out_table", "", "Table of the effect.", "SystemProfileEvents"),
    [FLOW_TYPE] = ONE_OF(false, "dependency_type",
                         "Launch of device work, or context passed between threads.", "launch",
                         "launch, context"),
    [FLOW_GAP] = MAYBE(
        INT64, "gap_time", "ns",
        "From the end of the cause to the start of the effect; negative if they overlap.", "5200"),
};

static const struct field runs_fields[] = {
    [RUN_ID] = ALWAYS(INT64, "id", "", "Id of the run.", "12"),
    [RUN_KIND] = ONE_OF(true, "kind", "Kind of run.", "operation", "module, operation"),
    [RUN_NAME] = ALWAYS(NAME, "name", "", "Name of the module or operation.", "fusion.12"),
    [RUN_START] =
        ALWAYS(INT64, "start_ts", "ns",
               "Start of its first kernel, relative to the start of the profile.", "81340"),
    [RUN_END] = ALWAYS(INT64, "end_ts", "ns", "End of its last kernel.", "93340"),
    [RUN_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "end_ts - start_ts.", "12000"),
    [RUN_TRACK] = ALWAYS(INT64, "track_id", "", "Track of the run: Track.id.", "40"),
    [RUN_STREAM_TRACK] =
        ALWAYS(INT64, "stream_track_id", "", "Track of its kernels: Track.id.", "5"),
    [RUN_MODULE] = MAYBE(INT64, "module_id", "", "HLO module: HloModule.id.", "0"),
    [RUN_OPERATION] =
        MAYBE(INT64, "operation_id", "",
              "HLO operation: HloOperation.id; NULL for modules and unresolved kernels.", "118"),
    [RUN_STEP] = MAYBE(INT64, "step_id", "", "Step it belongs to: Step.id.", "3"),
    [RUN_KERNELS] = ALWAYS(INT64, "kernel_count", "", "Number of kernels.", "2"),
    [RUN_KERNEL_TIME] =
        ALWAYS(INT64, "kernel_ns", "ns", "Sum of the durations of its kernels.", "11000"),
};

static const struct field steps_fields[] = {
    [STEP_ID] = ALWAYS(INT64, "id", "", "Id of the step, from 0.", "3"),
    [STEP_NUMBER] = ALWAYS(INT64, "number", "", "Step number set by the program.", "19"),
    [STEP_NAME] = ALWAYS(NAME, "name", "", "Annotation name.", "train"),
    [STEP_EVENT] = ALWAYS(INT64, "event_id", "", "Annotation: SystemProfileEvents.id.", "42"),
    [STEP_START] = ALWAYS(INT64, "start_ts", "ns",
                          "Start on the host, relative to the start of the profile.", "81340"),
    [STEP_END] = ALWAYS(INT64, "end_ts", "ns", "End on the host.", "93340"),
    [STEP_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "Duration on the host.", "12000"),
    [STEP_DEVICE_START] =
        MAYBE(INT64, "device_start_ts", "ns", "Start of its first device event.", "82000"),
    [STEP_DEVICE_END] =
        MAYBE(INT64, "device_end_ts", "ns", "End of its last device event.", "99000"),
    [STEP_DEVICE_EVENTS] =
        ALWAYS(INT64, "device_event_count", "", "Number of its device events.", "768"),
    [STEP_ORIGIN] = ONE_OF(true, "origin",
                           "Annotated by the program, recorded by the devices, or guessed from "
                           "the program that takes most time.",
                           "annotated", "annotated, recorded, guessed"),
};

static const struct field devices_fields[] = {
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

static const struct field device_operations_fields[] = {
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

static const struct field step_breakdowns_fields[] = {
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

static const struct field findings_fields[] = {
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

static const struct field evidence_fields[] = {
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

static const struct field operator_summaries_fields[] = {
    [OPERATOR_NAME] =
        ALWAYS(NAME, "name", "", "Name of the operator or annotation.", "aten::layer_norm"),
    CALL_FIELDS,
    [OPERATOR_KIND] = ONE_OF(true, "kind",
                             "An operator of the framework, or an annotation, as compiled graphs "
                             "and optimizers have.",
                             "operator", "operator, annotation"),
};

static const struct field module_summaries_fields[] = {
    [OPERATOR_NAME] = ALWAYS(NAME, "name", "",
                             "Name of the module, or its path in TorchScript, whose calls are its "
                             "outermost operators.",
                             "Linear_3"),
    CALL_FIELDS,
};

static const struct field tracks_fields[] = {
    [TRACK_ID] = ALWAYS(INT64, "id", "", "Id of the track.", "5"),
    [TRACK_PARENT] = MAYBE(INT64, "parent_id", "", "Parent track: Track.id; NULL for hosts.", "2"),
    [TRACK_KIND] =
        ONE_OF(true, "kind", "Level in the track tree.", "lane", "instance, process, source, lane"),
    [TRACK_NAME] = ALWAYS(NAME, "name", "", "Name.", "Stream #13(Kernel)"),
    [TRACK_ROLE] =
        ONE_OF(false, "role", "Role of a source or lane.", "stream",
               "host, device, plain, stream, ops, modules, steps, async, counter, aside"),
    [TRACK_INSTANCE_NAME] = ALWAYS(NAME, "instance_id", "", "Host.", "host0"),
    [TRACK_NUMBER] =
        ALWAYS(INT64, "number", "", "Id in the source: of the process, thread or line.", "13"),
    [TRACK_SORT_KEY] = ALWAYS(INT64, "sort_key", "", "Sort key among its siblings.", "2"),
    [TRACK_EVENTS] = ALWAYS(INT64, "event_count", "", "Number of events.", "768000"),
    [TRACK_FIRST_ID] =
        MAYBE(INT64, "first_event_id", "",
              "Id of its first event; ids are consecutive. NULL if it has none.", "512000"),
    [TRACK_TABLE] = MAYBE(NAME, "event_table", "", "Table of its events.", "SystemProfileEvents"),
    [TRACK_START] = MAYBE(INT64, "first_ts", "ns", "Start of its first event.", "81340"),
    [TRACK_END] = MAYBE(INT64, "last_ts", "ns", "End of its last event.", "993340"),
    [TRACK_BUSY] = MAYBE(
        INT64, "busy_ns", "ns",
        "Time covered by at least one event, without the profiler's own and the frames of steps.",
        "702000"),
    [TRACK_ATTRIBUTES] =
        MAYBE(TEXT, "attributes_json", "", "Other attributes, as JSON.", "{\"timestamp_ns\":1}"),
};

static const struct field event_types_fields[] = {
    [TYPE_ID] = ALWAYS(INT64, "id", "", "Id of the event type.", "17"),
    [TYPE_NAME] = ALWAYS(NAME, "name", "", "Event name.", "%fusion.12 = f32[8]{0} fusion(...)"),
    [TYPE_DISPLAY_NAME] = MAYBE(NAME, "display_name", "", "Short name for display.", "fusion.12"),
    [TYPE_ATTRIBUTES] = MAYBE(TEXT, "attributes_json", "", "Attributes of the event type, as JSON.",
                              "{\"flops\":1024}"),
};

static const struct field python_frames_fields[] = {
    [PYTHON_TYPE] = ALWAYS(INT64, "event_type_id", "", "Event type: EventType.id.", "230"),
    [PYTHON_NAME] = ALWAYS(NAME, "name", "", "Event name.", "$train.py:31 step"),
    [PYTHON_FILE] = MAYBE(NAME, "file_path", "", "File path.", "train.py"),
    [PYTHON_LINE] = MAYBE(INT64, "line_number", "", "First line of the function.", "31"),
    [PYTHON_FUNCTION] = MAYBE(NAME, "function_name", "", "Function name.", "step"),
};

static const struct field modules_fields[] = {
    [MODULE_ID] = ALWAYS(INT64, "id", "", "Id of the module.", "0"),
    [MODULE_NAME] = ALWAYS(NAME, "name", "", "Name.", "jit_train_step"),
    [MODULE_LABEL] = ALWAYS(NAME, "label", "", "Name and program id, as listed by the source.",
                            "jit_train_step(15913)"),
    [MODULE_PROGRAM] = ALWAYS(INT64, "program_id", "", "Program id assigned by XLA.", "15913"),
    [MODULE_INSTANCE] = ALWAYS(NAME, "instance_id", "", "Host it was captured on.", "host0"),
    [MODULE_OPERATIONS] = ALWAYS(INT64, "operation_count", "", "Number of operations.", "412"),
    [MODULE_FILE] = MAYBE(NAME, "file", "",
                          "File of the profile that holds its serialised HloProto, as a frame of "
                          "zstd; NULL if the capture had none.",
                          "modules.hlo.zst"),
    [MODULE_FILE_OFFSET] = MAYBE(INT64, "file_offset", "B", "Where the frame begins.", "0"),
    [MODULE_FILE_SIZE] = MAYBE(INT64, "file_size", "B", "Size of the frame.", "73216"),
};

static const struct field operations_fields[] = {
    [OPERATION_ID] = ALWAYS(INT64, "id", "", "Id of the operation.", "118"),
    [OPERATION_MODULE] = ALWAYS(INT64, "module_id", "", "HLO module: HloModule.id.", "0"),
    [OPERATION_NAME] = ALWAYS(NAME, "name", "", "Name.", "fusion.12"),
    [OPERATION_OPCODE] = ALWAYS(NAME, "opcode", "", "HLO opcode.", "fusion"),
    [OPERATION_COMPUTATION] =
        ALWAYS(NAME, "computation", "", "HLO computation it belongs to.", "main.42"),
    [OPERATION_FRAMEWORK_OP] = MAYBE(
        NAME, "op_name", "", "Framework operation it was compiled from.", "jit(step)/dot_general"),
    [OPERATION_FILE] = MAYBE(NAME, "source_file", "", "Source file.", "train.py"),
    [OPERATION_LINE] = MAYBE(INT64, "source_line", "", "Source line.", "31"),
    [OPERATION_FRAME] =
        MAYBE(NAME, "stack_frame_id", "", "Innermost stack frame: StackFrame.id.", "7"),
    [OPERATION_CATEGORY] = MAYBE(NAME, "category", "",
                                 "Category by XProf's rules: kind of fusion, data formatting, "
                                 "non-fusion elementwise, else the opcode.",
                                 "loop fusion"),
    [OPERATION_EXPRESSION] =
        MAYBE(TEXT, "expression", "", "HLO text, without metadata and backend configuration.",
              "%add.5 = f32[8]{0} add(f32[8]{0} %x, f32[8]{0} %y)"),
    [OPERATION_SHAPE] =
        MAYBE(NAME, "shape", "", "Shape of the result, with its layout.", "bf16[8,128]{1,0}"),
    [OPERATION_FLOPS] =
        MAYBE(FLOAT64, "flops", "",
              "Floating-point operations of one execution, with what it calls; products of "
              "integer matrices are counted as well. NULL if unknown.",
              "17179869184"),
    [OPERATION_MATRIX_FLOPS] = MAYBE(FLOAT64, "matrix_flops", "",
                                     "Those in matrix products and convolutions.", "17179869184"),
    [OPERATION_COMPUTE_TYPE] =
        MAYBE(NAME, "compute_type", "",
              "Element type of what it multiplies in matrix products, else of its result.", "bf16"),
    [OPERATION_XPROF_FLOPS] =
        MAYBE(FLOAT64, "xprof_flops", "",
              "Model FLOPs that XProf shows: XLA's cost analysis for GPUs, in which elementwise "
              "operations count clock cycles.",
              "17179869184"),
    [OPERATION_BYTES_ACCESSED] = MAYBE(INT64, "bytes_accessed", "B",
                                       "Bytes read and written by one execution.", "100663296"),
    [OPERATION_BYTES_READ] =
        MAYBE(INT64, "bytes_read", "B", "Bytes of operands that are read, each once.", "67108864"),
    [OPERATION_BYTES_WRITTEN] =
        MAYBE(INT64, "bytes_written", "B", "Bytes of results that are written.", "33554432"),
    [OPERATION_OPERANDS] =
        MAYBE(INT64_LIST, "operand_ids", "", "Operands: HloOperation.id.", "[116, 117]"),
    [OPERATION_CALLED] =
        MAYBE(TEXT_LIST, "called", "", "Computations it calls.", "[fused_computation.3]"),
    [OPERATION_IS_FUSED] =
        ALWAYS(BOOL, "is_fused", "", "Whether it is in the body of a fusion.", "false"),
    [OPERATION_SCHEDULE_INDEX] =
        ALWAYS(INT64, "schedule_index", "",
               "Position in the order in which its computation executes.", "42"),
};

static const struct field frames_fields[] = {
    [FRAME_ID] = ALWAYS(NAME, "id", "", "Id of the frame.", "7"),
    [FRAME_LOCATION] =
        ALWAYS(INT32, "file_location_id", "", "Location: StackFrameFileLocation.id.", "3"),
    [FRAME_PARENT] =
        ALWAYS(NAME, "parent_frame_id", "", "Caller: StackFrame.id; 0 for the outermost.", "2"),
};

static const struct field frame_locations_fields[] = {
    [LOCATION_ID] = ALWAYS(NAME, "id", "", "Id of the location.", "3"),
    [LOCATION_FILE] =
        ALWAYS(INT32, "file_name_id", "", "File: StackFrameFileName.id; 0 if unknown.", "1"),
    [LOCATION_FUNCTION] = ALWAYS(INT32, "function_name_id", "",
                                 "Function: StackFrameFunctionName.id; 0 if unknown.", "2"),
    [LOCATION_LINE] = ALWAYS(INT32, "line_number", "", "Source line.", "31"),
};

static const struct field frame_files_fields[] = {
    [NAMED_ID] = ALWAYS(NAME, "id", "", "Id of the file.", "1"),
    [NAMED_NAME] = ALWAYS(NAME, "name", "", "File path.", "train.py"),
};

static const struct field frame_functions_fields[] = {
    [NAMED_ID] = ALWAYS(NAME, "id", "", "Id of the function.", "2"),
    [NAMED_NAME] = ALWAYS(NAME, "name", "", "Name.", "step"),
};

static const struct field source_files_fields[] = {
    [SOURCE_NAME] = ALWAYS(NAME, "name", "",
                           "The file as the profile names it: StackFrameFileName.name, "
                           "HloOperation.source_file, PythonFrame.file_path.",
                           "/home/me/train.py"),
    [SOURCE_KIND] =
        ONE_OF(true, "kind", "Directory it was found in.", "framework", "framework, nki"),
    [SOURCE_PATH] = ALWAYS(TEXT, "path", "", "The file on the machine that processed the profile.",
                           "/src/train.py"),
    [SOURCE_LINES] = ALWAYS(INT64, "line_count", "", "Lines.", "240"),
    [SOURCE_CONTENT] = ALWAYS(TEXT, "content", "", "Its text.", "import jax"),
};

static const struct field cpu_usage_fields[] = {
    [CPU_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "Time, relative to the start of the profile.", "81340"),
    [CPU_PERCENT] = ALWAYS(FLOAT32, "util_percent", "%", "CPU utilization.", "63.5"),
    [CPU_ID] = ALWAYS(NAME, "cpu_id", "", "CPU, or all.", "cpu7"),
    [CPU_INSTANCE] = ALWAYS(NAME, "instance_id", "", "Host.", "host0"),
    [CPU_ULTRASERVER] = MAYBE(INT64, "ultraserver_id", "", "Ultraserver of the host.", "1"),
    [CPU_ULTRASERVER_INDEX] = MAYBE(INT64, "ultraserver_instance_index", "",
                                    "Index of the host in the ultraserver.", "0"),
};

static const struct field host_memory_fields[] = {
    [MEMORY_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "Time, relative to the start of the profile.", "81340"),
    [MEMORY_USED] = ALWAYS(INT64, "used_bytes", "B", "Memory in use.", "68719476736"),
    [MEMORY_PERCENT] =
        ALWAYS(FLOAT32, "used_percent", "%", "Memory in use relative to total memory.", "25"),
    [MEMORY_INSTANCE] = ALWAYS(NAME, "instance_id", "", "Host.", "host0"),
    [MEMORY_ULTRASERVER] = MAYBE(INT64, "ultraserver_id", "", "Ultraserver of the host.", "1"),
    [MEMORY_ULTRASERVER_INDEX] = MAYBE(INT64, "ultraserver_instance_index", "",
                                       "Index of the host in the ultraserver.", "0"),
};

static const struct field system_metadata_fields[] = {
    [SYSTEM_FIRST] = ALWAYS(TEXT, "first_ts", "", "Time of the first event, UTC; empty if unknown.",
                            "2026-11-14T22:42:23.000000000Z"),
    [SYSTEM_LAST] =
        ALWAYS(TEXT, "last_ts", "", "Time of the last event.", "2026-11-14T22:42:25.000000000Z"),
    [SYSTEM_FIRST_NS] = ALWAYS(
        TEXT, "first_ts_ns", "ns",
        "Time of the first event since 1970, or since the start of the profile if that is unknown.",
        "1794868943000000000"),
    [SYSTEM_LAST_NS] =
        ALWAYS(TEXT, "last_ts_ns", "ns", "Time of the last event.", "1794868945000000000"),
    [SYSTEM_NTFF] = ALWAYS(INT64, "ntff_version", "", "NTFF version; 0 for other formats.", "0"),
    [SYSTEM_HBM] = ALWAYS(INT64, "hbm_capacity_bytes", "B", "Memory per device; 0 if unknown.",
                          "150754820096"),
};

static const struct field metadata_fields[] = {
    [META_SCHEMA] = ALWAYS(TEXT, "profile_schema_version", "", "Version of this schema.", "7.4.0"),
    [META_NTFF] = ALWAYS(INT32, "ntff_version", "", "NTFF version; 0 for other formats.", "0"),
    [META_CORES] = ALWAYS(INT32, "num_physical_cores", "",
                          "Number of physical cores profiled; 0 for other formats.", "0"),
    [META_VNC] = ALWAYS(BOOL, "vnc_enabled", "",
                        "Whether virtual cores combine several physical cores.", "false"),
    [META_FIRST_HARDWARE] = ALWAYS(INT64, "first_hw_timestamp", "ns",
                                   "Start of the first device event, relative to the start of the "
                                   "profile; 0 if there is none.",
                                   "81340"),
    [META_LAST_HARDWARE] = ALWAYS(INT64, "last_hw_timestamp", "ns",
                                  "End of the last device event; 0 if there is none.", "993340"),
    [META_FIRST] = ALWAYS(TEXT, "first_ts", "", "Time of the first event, UTC; empty if unknown.",
                          "2026-11-14T22:42:23.000000000Z"),
    [META_LAST] =
        ALWAYS(TEXT, "last_ts", "", "Time of the last event.", "2026-11-14T22:42:25.000000000Z"),
    [META_DMA_BANDWIDTH] =
        ALWAYS(FLOAT32, "dma_ddr_bandwidth", "B/s",
               "Bandwidth of all DMA engines of a core; 0 if there are none.", "0"),
    [META_DMA_ENGINES] = ALWAYS(INT32, "num_dma_engines_per_neuroncore", "",
                                "DMA engines per core; 0 if there are none.", "0"),
    [META_HBM_BANDWIDTH] =
        ALWAYS(FLOAT32, "hbm_ddr_bandwidth", "B/s", "Device memory bandwidth; 0 if unknown.", "0"),
    [META_TENSOR_ROWS] = ALWAYS(INT64, "tensor_engine_num_rows", "",
                                "Rows of the tensor engine; 0 if there is none.", "0"),
    [META_TENSOR_COLUMNS] = ALWAYS(INT64, "tensor_engine_num_cols", "",
                                   "Columns of the tensor engine; 0 if there is none.", "0"),
    [META_TENSOR_CLOCK] = ALWAYS(FLOAT32, "tensor_engine_clock_freq", "GHz",
                                 "Clock of the tensor engine; 0 if there is none.", "0"),
    [META_VECTOR_CLOCK] = ALWAYS(FLOAT32, "vector_engine_clock_freq", "GHz",
                                 "Clock of the vector engine; 0 if there is none.", "0"),
    [META_VECTOR_CHANNELS] = ALWAYS(INT64, "vector_engine_num_channels", "",
                                    "Channels of the vector engine; 0 if there is none.", "0"),
    [META_SCALAR_CLOCK] = ALWAYS(FLOAT32, "scalar_engine_clock_freq", "GHz",
                                 "Clock of the scalar engine; 0 if there is none.", "0"),
    [META_SCALAR_CHANNELS] = ALWAYS(INT64, "scalar_engine_num_channels", "",
                                    "Channels of the scalar engine; 0 if there is none.", "0"),
    [META_GPSIMD_CLOCK] = ALWAYS(FLOAT32, "gpsimd_engine_clock_freq", "GHz",
                                 "Clock of the GpSimd engine; 0 if there is none.", "0"),
    [META_GPSIMD_CHANNELS] = ALWAYS(INT64, "gpsimd_engine_num_channels", "",
                                    "Channels of the GpSimd engine; 0 if there is none.", "0"),
    [META_CORE_CLOCK] =
        ALWAYS(FLOAT32, "neuroncore_clock_freq", "GHz", "Core clock; 0 if unknown.", "0"),
    [META_TICKS] =
        ALWAYS(INT64, "ticks_per_nanosec", "", "Device clock ticks per nanosecond, rounded.", "1"),
    [META_INSTANCE_TYPE] = MAYBE(NAME, "instance_type", "", "Device model.", "NVIDIA H200"),
    [META_RUNTIME_VERSION] = MAYBE(NAME, "runtime_version", "", "Version of the runtime.", "2.28"),
    [META_COLLECTIVES_VERSION] =
        MAYBE(NAME, "collectives_version", "", "Version of the collectives library.", "2.28"),
    [META_DRIVER_VERSION] = MAYBE(NAME, "driver_version", "", "Version of the driver.", "13000"),
    [META_EXPLORER_VERSION] =
        MAYBE(NAME, "explorer_version", "", "Program that wrote the tables.", "kymo 0.1.0"),
    [META_COMPILER_VERSION] =
        MAYBE(NAME, "compiler_version", "", "Version of the compiler.", "0.10.2"),
    [META_CORE] = MAYBE(INT64, "neuroncore_idx", "", "Profiled core.", "0"),
    [META_DEVICE] = MAYBE(INT64, "neuron_device_idx", "", "Profiled device.", "0"),
    [META_ULTRASERVER] = MAYBE(INT64, "ultraserver_id", "", "Ultraserver of the host.", "1"),
    [META_ULTRASERVER_TYPE] = MAYBE(NAME, "ultraserver_type", "", "Ultraserver type.", "trn2-u"),
    [META_ULTRASERVER_SIZE] =
        MAYBE(INT32, "ultraserver_size", "", "Number of hosts in the ultraserver.", "4"),
    [META_ULTRASERVER_INDEX] = MAYBE(INT32, "ultraserver_instance_index", "",
                                     "Index of the host in the ultraserver.", "0"),
    [META_BUCKET] =
        MAYBE(NAME, "s3_bucket_path", "", "Upload location of the profile.", "s3://bucket/profile"),
    [META_PROFILE] = MAYBE(NAME, "profile_name", "", "Profile name.", "gpt"),
    [META_BUILD_TIME] = MAYBE(NAME, "explorer_build_time", "",
                              "Build time of the program that wrote the tables.", "2026-11-14"),
    [META_SIMULATION] =
        MAYBE(BOOL, "is_simulation", "", "Whether the times are simulated.", "false"),
};

static const struct field warnings_fields[] = {
    [WARNING_MESSAGE] =
        ALWAYS(TEXT, "message", "", "Text of the warning.", "2 events were dropped"),
    [WARNING_CATEGORY] = ONE_OF(true, "category", "Severity.", "warning", "warning, error"),
};

static const struct field schema_fields_fields[] = {
    [SCHEMA_TABLE] = ALWAYS(NAME, "table_name", "", "Table name.", "Step"),
    [SCHEMA_TABLE_MEANING] =
        ALWAYS(NAME, "table_description", "", "Table description.", "Program steps."),
    [SCHEMA_FIELD] = ALWAYS(NAME, "field_name", "", "Column name.", "start_ts"),
    [SCHEMA_MEANING] = ALWAYS(NAME, "field_description", "", "Column description.", "Start time."),
    [SCHEMA_EXAMPLE] = MAYBE(NAME, "field_example", "", "Example value.", "81340"),
    [SCHEMA_TYPE] =
        ONE_OF(true, "field_type", "Column type.", "int64",
               "int64, int32, float32, float64, bool, string, list<string>, list<int64>"),
    [SCHEMA_REQUIRED] =
        ALWAYS(BOOL, "field_required", "", "Whether the column has no NULLs.", "true"),
    [SCHEMA_FORMAT] =
        ONE_OF(false, "field_format", "Text format, if any.", "json", "json, date-time"),
    [SCHEMA_UNIT] = MAYBE(NAME, "field_unit", "", "Unit.", "ns"),
    [SCHEMA_MINIMUM] = MAYBE(FLOAT32, "field_minimum", "", "Minimum value.", "0"),
    [SCHEMA_MAXIMUM] = MAYBE(FLOAT32, "field_maximum", "", "Maximum value.", "100"),
    [SCHEMA_CHOICES] = MAYBE(NAME, "field_enum_values", "", "Possible values, comma-separated.",
                             "launch, context"),
};

#define TABLE(name, meaning, fields) {name, meaning, fields, sizeof(fields) / sizeof *(fields)}

const struct table_schema table_schemas[TABLE_COUNT] = {
    [TABLE_EVENTS] = TABLE("SystemProfileEvents", "Events on hosts and devices, one row per event.",
                           events_fields),
    [TABLE_KERNELS] =
        TABLE("GpuKernel", "GPU kernels: launch configuration, occupancy, and HLO operation.",
              kernels_fields),
    [TABLE_COPIES] = TABLE("GpuCopy", "GPU copies and memsets.", copies_fields),
    [TABLE_COLLECTIVES] =
        TABLE("Collective", "Collective operations: data exchanged and process group.",
              collectives_fields),
    [TABLE_ALLOCATIONS] =
        TABLE("MemoryAllocation",
              "Allocations and frees through the framework's allocators, with allocator state.",
              allocations_fields),
    [TABLE_COUNTERS] =
        TABLE("CounterSample", "Counter samples, one row per sample.", counters_fields),
    [TABLE_FLOWS] = TABLE("Flow", "Flows: links from a cause to its effect.", flows_fields),
    [TABLE_RUNS] =
        TABLE("HloRun", "Executions of HLO modules and operations on GPUs, derived from kernels.",
              runs_fields),
    [TABLE_STEPS] =
        TABLE("Step", "Program steps: annotated on the host, recorded by devices, or guessed.",
              steps_fields),
    [TABLE_DEVICES] =
        TABLE("Device", "Devices: what they can do, and how busy they were.", devices_fields),
    [TABLE_DEVICE_OPERATIONS] =
        TABLE("DeviceOperation",
              "Time and costs of operations, one row per device, program and operation.",
              device_operations_fields),
    [TABLE_STEP_BREAKDOWNS] =
        TABLE("StepBreakdown", "What devices did in each step, in parts that do not overlap.",
              step_breakdowns_fields),
    [TABLE_RANK_INFO] =
        TABLE("Rank", "Ranks of a run; only in datasets, one row a file.", rank_info_fields),
    [TABLE_RANK_STEPS] =
        TABLE("RankStep", "What each device of a rank did in each step.", rank_step_fields),
    [TABLE_RANK_COLLECTIVES] =
        TABLE("RankCollective", "Collectives and transfers between ranks, as they ran on devices.",
              rank_collective_fields),
    [TABLE_RANK_KERNELS] =
        TABLE("RankKernel", "Kernels of each step, those that take most time.", rank_kernel_fields),
    [TABLE_FINDINGS] =
        TABLE("Finding", "What costs time and what to do about it; ranked.", findings_fields),
    [TABLE_EVIDENCE] =
        TABLE("FindingEvidence", "Events and times that findings speak of.", evidence_fields),
    [TABLE_OPERATOR_SUMMARIES] =
        TABLE("OperatorSummary", "Operators of the framework: calls, and time on devices.",
              operator_summaries_fields),
    [TABLE_MODULE_SUMMARIES] =
        TABLE("ModuleSummary", "Modules (nn.Module, TorchScript): calls, and time on devices.",
              module_summaries_fields),
    [TABLE_TRACKS] =
        TABLE("Track", "Tree of tracks: hosts, processes, sources and lanes.", tracks_fields),
    [TABLE_EVENT_TYPES] = TABLE(
        "EventType", "Event types: attributes shared by all events of a type.", event_types_fields),
    [TABLE_PYTHON_FRAMES] =
        TABLE("PythonFrame", "Traced Python functions, by event type.", python_frames_fields),
    [TABLE_MODULES] = TABLE("HloModule", "Programs compiled by XLA.", modules_fields),
    [TABLE_OPERATIONS] =
        TABLE("HloOperation", "Operations of HLO modules, with their source locations.",
              operations_fields),
    [TABLE_FRAMES] =
        TABLE("StackFrame", "Stack frames of compiled operations in user code.", frames_fields),
    [TABLE_FRAME_LOCATIONS] =
        TABLE("StackFrameFileLocation", "Locations in source files.", frame_locations_fields),
    [TABLE_FRAME_FILES] = TABLE("StackFrameFileName", "Source files.", frame_files_fields),
    [TABLE_FRAME_FUNCTIONS] = TABLE("StackFrameFunctionName", "Functions.", frame_functions_fields),
    [TABLE_SOURCE_FILES] =
        TABLE("SourceFile",
              "Source files the profile names, from --framework-source-root and --nki-source-root.",
              source_files_fields),
    [TABLE_CPU_USAGE] = TABLE("CpuUsage", "CPU utilization of hosts.", cpu_usage_fields),
    [TABLE_HOST_MEMORY] = TABLE("HostMemUsage", "Memory usage of hosts.", host_memory_fields),
    [TABLE_SYSTEM_METADATA] = TABLE("SystemProfileMetadata", "When the profile was taken; one row.",
                                    system_metadata_fields),
    [TABLE_METADATA] =
        TABLE("Metadata", "What was profiled, and hardware constants; one row.", metadata_fields),
    [TABLE_WARNINGS] =
        TABLE("Warning", "Warnings of the source and of the importer.", warnings_fields),
    [TABLE_SCHEMA_FIELDS] = TABLE("SchemaFields", "This schema: one row per column of every table.",
                                  schema_fields_fields),
    [TABLE_INSTRUCTION] =
        TABLE("Instruction", "Instructions of the engines, one row per run.", instruction_fields),
    [TABLE_PACKET] =
        TABLE("DmaPacket", "Packets: what a DMA engine moves for one descriptor.", packet_fields),
    [TABLE_TRANSFER] =
        TABLE("DmaPacketAggregated", "Transfers: runs of DMA blocks.", transfer_fields),
    [TABLE_UPDATE] = TABLE("SemaphoreUpdate", "Changes of semaphores.", update_fields),
    [TABLE_PENDING] =
        TABLE("PendingDma", "Queued transfers, each time their number changes.", pending_fields),
    [TABLE_DMA_USAGE] = TABLE("DmaUsage", "DMA throughput.", dma_usage_fields),
    [TABLE_HBM_USAGE] = TABLE("HbmUsage", "HBM throughput.", hbm_usage_fields),
    [TABLE_SBUF_USAGE] = TABLE("SbufUsage", "Share of SBUF in use.", sbuf_usage_fields),
    [TABLE_PSUM_USAGE] = TABLE("PsumUsage", "Share of PSUM in use.", psum_usage_fields),
    [TABLE_SBUF_ALLOCATION] =
        TABLE("SbufAllocation", "What is in SBUF, and when.", sbuf_allocation_fields),
    [TABLE_SCRATCHPAD_USAGE] =
        TABLE("ScratchpadUsage", "Memory tracker: use of the scratchpad in HBM, each change.",
              scratchpad_usage_fields),
    [TABLE_SCRATCHPAD_ALLOCATION] =
        TABLE("ScratchpadAllocation",
              "Memory tracker: what is in the scratchpad, and when; one row per tensor.",
              scratchpad_allocation_fields),
    [TABLE_ACTIVE] =
        TABLE("ActiveTime", "Intervals in which an engine, DMA or a collective is active.",
              active_fields),
    [TABLE_CC_OP] = TABLE("CcOp", "Collective operations.", cc_op_fields),
    [TABLE_CC_INSTRUCTION] =
        TABLE("CcInstruction", "Instructions of CC-cores.", cc_instruction_fields),
    [TABLE_CC_STREAM] = TABLE("CcStream", "Streams of collectives.", cc_stream_fields),
    [TABLE_BARRIER] = TABLE("CoreBarriers", "Barriers between ranks.", barrier_fields),
    [TABLE_NODE] = TABLE("FrameworkNode", "Tree of layers: time, operations, bytes.", node_fields),
    [TABLE_FRAMEWORK] =
        TABLE("FrameworkInstruction", "Framework operators: time, bytes.", framework_fields),
    [TABLE_HLO] = TABLE("HloInstruction", "HLO or graph operations: time, bytes.", hlo_fields),
    [TABLE_OPCODE] = TABLE("OpcodeSummary", "Instructions by engine and opcode.", opcode_fields),
    [TABLE_TENSOR] =
        TABLE("TensorInfo", "Tensors of the model, and how they were loaded.", tensor_fields),
    [TABLE_NEFF] = TABLE("NeffHeader", "Header of the NEFF; one row per core.", neff_fields),
    [TABLE_QUEUE_INFO] = TABLE("DmaQueuesInfo", "DMA queues of the program.", queue_info_fields),
    [TABLE_HBM_TYPE] =
        TABLE("HbmUsageSummaryByType", "What the program keeps in HBM.", hbm_type_fields),
    [TABLE_DEVICE_ERROR] = TABLE("Error", "Errors that the device notified.", device_error_fields),
    [TABLE_THROTTLE] = TABLE("Throttle", "Throttling of the Tensor engine.", throttle_fields),
    [TABLE_THROTTLE_SUM] = TABLE("ThrottleSummary", "Throttling by kind.", throttle_sum_fields),
    [TABLE_EXECUTION] = TABLE("ExecutionInfo", "Executions.", execution_fields),
    [TABLE_DEVICE_PROFILE] = TABLE("DeviceProfileList", "Device profiles of this system profile.",
                                   device_profile_fields),
    [TABLE_CRITICAL_PATH] =
        TABLE("CriticalPath", "The critical path of each execution, without gaps.", path_fields),
    [TABLE_DEVICE_WARNING] =
        TABLE("PerformanceWarning", "What is marked on the timeline: where, and why.",
              device_warning_fields),
    [TABLE_RANK] = TABLE("RankSummary", "Ranks of several, and how long they waited.", rank_fields),
    [TABLE_MEETING] =
        TABLE("CollectiveSkew", "Collectives matched across ranks; the greatest skew first.",
              meeting_fields),
    [TABLE_SUMMARY] = TABLE("Summary", "Metrics; one row per core.", summary_fields),
};

const char *field_type_name(enum field_type type)
{
    static const char *const names[] = {
        [FIELD_INT64] = "int64",
        [FIELD_INT32] = "int32",
        [FIELD_FLOAT32] = "float32",
        [FIELD_FLOAT64] = "float64",
        [FIELD_BOOL] = "bool",
        [FIELD_NAME] = "string",
        [FIELD_TEXT] = "string",
        [FIELD_TEXT_LIST] = "list<string>",
        [FIELD_INT64_LIST] = "list<int64>",
    };
    return names[type];
}

/*
 * Columns of events: on hosts and devices, and what belongs to them.
 */
#include "store/tables/schema_parts.h"

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

const struct field events_fields[] = {
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

const struct field kernels_fields[] = {
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
    [KERNEL_LABEL] =
        MAYBE(NAME, "hlo_op", "",
              "HLO operation as labeled by the source; the graph inside CUDA graphs.", "fusion.12"),
    [KERNEL_OPERATION] = MAYBE(INT64, "operation_id", "", "HLO operation: HloOperation.id.", "118"),
    [KERNEL_FRAMEWORK_OP] = FRAMEWORK_OP,
    [KERNEL_FRAMEWORK_EVENT] = FRAMEWORK_EVENT,
    [KERNEL_FILE] = LAUNCH_FILE,
    [KERNEL_LINE] = LAUNCH_LINE,
    [KERNEL_ATTRIBUTION] =
        ONE_OF(true, "attribution", "How its operation is known.", "recorded",
               "recorded, kernel name, schedule order, framework operator, none"),
    [KERNEL_MATRIX_UNITS] = MAYBE(
        BOOL, "uses_tensor_cores", "",
        "Whether it uses tensor cores, by its name and its operation; null if unknown.", "true"),
    [KERNEL_FAMILY] =
        ONE_OF(true, "family", "What kind of kernel it is, by its name.", "gemm",
               "gemm, attention, convolution, embedding, norm, softmax, reduction, elementwise, "
               "copy, communication, other"),
};

const struct field copies_fields[] = {
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
    [COPY_LABEL] =
        MAYBE(NAME, "hlo_op", "",
              "HLO operation as labeled by the source; the graph inside CUDA graphs.", "fusion.12"),
    [COPY_FRAMEWORK_OP] = FRAMEWORK_OP,
    [COPY_FRAMEWORK_EVENT] = FRAMEWORK_EVENT,
    [COPY_FILE] = LAUNCH_FILE,
    [COPY_LINE] = LAUNCH_LINE,
};

const struct field collectives_fields[] = {
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

const struct field allocations_fields[] = {
    [ALLOCATION_ID] = ALWAYS(INT64, "id", "", "Event: SystemProfileEvents.id.", "2048"),
    [ALLOCATION_NAME] = ALWAYS(NAME, "name", "", "Event name.", "MemoryAllocation"),
    [ALLOCATION_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "Time, relative to the start of the profile.", "81340"),
    [ALLOCATION_TRACK] = ALWAYS(INT64, "track_id", "", "Track: Track.id.", "4"),
    [ALLOCATION_ALLOCATOR] = MAYBE(NAME, "allocator_name", "", "Allocator.", "GPU_0_bfc"),
    [ALLOCATION_REQUESTED] = MAYBE(INT64, "requested_bytes", "B", "Requested size.", "16785408"),
    [ALLOCATION_BYTES] = MAYBE(INT64, "allocation_bytes", "B", "Allocated size.", "33554432"),
    [ALLOCATION_ADDRESS] = MAYBE(INT64, "address", "", "Address.", "12952010752"),
    [ALLOCATION_IN_USE] = MAYBE(INT64, "bytes_allocated", "B", "Memory in use afterward.", "73728"),
    [ALLOCATION_RESERVED] = MAYBE(INT64, "bytes_reserved", "B", "Memory reserved afterward.", "0"),
    [ALLOCATION_AVAILABLE] =
        MAYBE(INT64, "bytes_available", "B", "Memory free afterward.", "112583434240"),
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

const struct field counters_fields[] = {
    [COUNTER_ID] = ALWAYS(INT64, "id", "", "Event: SystemProfileEvents.id.", "300"),
    [COUNTER_TRACK] = ALWAYS(INT64, "track_id", "", "Track of the counter: Track.id.", "9"),
    [COUNTER_NAME] = ALWAYS(NAME, "name", "", "Counter name.", "power_watts"),
    [COUNTER_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "Time, relative to the start of the profile.", "81340"),
    [COUNTER_VALUE] = ALWAYS(FLOAT64, "value", "", "Value.", "412.5"),
};

const struct field flows_fields[] = {
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

const struct field runs_fields[] = {
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
    [RUN_KERNELS] = ALWAYS(INT64, "kernel_count", "", "Number of its kernels and copies.", "2"),
    [RUN_KERNEL_TIME] = ALWAYS(INT64, "kernel_ns", "ns",
                               "Sum of the durations of its kernels and copies.", "11000"),
};

const struct field steps_fields[] = {
    [STEP_ID] = ALWAYS(INT64, "id", "", "Id of the step, from 0.", "3"),
    [STEP_NUMBER] = ALWAYS(INT64, "number", "", "Step number set by the program.", "19"),
    [STEP_NAME] = ALWAYS(NAME, "name", "", "Annotation name.", "train"),
    [STEP_EVENT] = ALWAYS(INT64, "event_id", "", "Annotation: SystemProfileEvents.id.", "42"),
    [STEP_START] = ALWAYS(INT64, "start_ts", "ns",
                          "Start on the host, relative to the start of the profile.", "81340"),
    [STEP_END] = ALWAYS(INT64, "end_ts", "ns", "End on the host.", "93340"),
    [STEP_DURATION] = ALWAYS(INT64, "duration_ns", "ns",
                             "Duration on the host; of a recorded step, the longest that one "
                             "device recorded.",
                             "12000"),
    [STEP_DEVICE_START] =
        MAYBE(INT64, "device_start_ts", "ns", "Start of its first event on any device.", "82000"),
    [STEP_DEVICE_END] =
        MAYBE(INT64, "device_end_ts", "ns", "End of its last event on any device.", "99000"),
    [STEP_DEVICE_EVENTS] =
        ALWAYS(INT64, "device_event_count", "", "Number of its device events.", "768"),
    [STEP_ORIGIN] = ONE_OF(true, "origin",
                           "Annotated by the program, recorded by the devices, or guessed from "
                           "the program that takes most time.",
                           "annotated", "annotated, recorded, guessed"),
    [STEP_DEVICE_TIME] = MAYBE(INT64, "device_ns", "ns",
                               "Time on devices: from its first to its last event on one device, "
                               "the longest of all devices.",
                               "17000"),
};

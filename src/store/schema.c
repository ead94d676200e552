/*
 * The tables' descriptions: one line a column.
 */
#include "store/schema.h"

/* A column that every row has a value in, and one that may be NULL. */
#define ALWAYS(type, name, unit, meaning, example)                                                 \
    {name, FIELD_##type, true, unit, meaning, example, NULL}
#define MAYBE(type, name, unit, meaning, example)                                                  \
    {name, FIELD_##type, false, unit, meaning, example, NULL}
/* Text columns of a few known values. */
#define ONE_OF(required, name, meaning, example, choices)                                          \
    {name, FIELD_NAME, required, "", meaning, example, choices}

static const struct field events_fields[] = {
    [EVENT_ID] = ALWAYS(INT64, "id", "", "Number of the event within the profile.", "1024"),
    [EVENT_NAME] =
        ALWAYS(NAME, "name", "", "What ran: a function, an operation, a kernel.", "MemcpyD2H"),
    [EVENT_START] = ALWAYS(INT64, "start_ts", "ns",
                           "When it began, counted from the start of the profile.", "81340"),
    [EVENT_END] = ALWAYS(INT64, "end_ts", "ns", "When it ended: start_ts + duration_ns.", "93340"),
    [EVENT_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "How long it took.", "12000"),
    [EVENT_SOURCE] = ONE_OF(true, "trace_event_source", "Which layer recorded it.", "gpu_hw",
                            "framework, neuron_rt, neuron_hw, gpu_hw, tpu_hw, device_hw, other"),
    [EVENT_INSTANCE] = ALWAYS(NAME, "instance_id", "", "The machine it ran on.", "host0"),
    [EVENT_PROCESS] = ALWAYS(INT64, "process_id", "",
                             "The process it belongs to, as the source numbers it.", "701"),
    [EVENT_THREAD] =
        ALWAYS(INT64, "thread_id", "",
               "The thread, or on a device the stream or line, as the source numbers it.", "4711"),
    [EVENT_CORE] =
        MAYBE(INT64, "nc_idx", "", "Which core or device of the machine; NULL on the host.", "0"),
    [EVENT_PHYSICAL_CORE] =
        MAYBE(INT64, "pcore_idx", "", "Physical core inside a logical one.", "0"),
    [EVENT_WORKER] = MAYBE(INT64, "worker_gid", "",
                           "Number of the worker in the whole job, where the source tells.", "3"),
    [EVENT_FLOWS] = MAYBE(
        TEXT_LIST, "flow_id", "",
        "Chains of cause and effect it is part of: events that share one belong together.", "[12]"),
    [EVENT_STREAM] =
        MAYBE(NAME, "framework_stream_id", "", "The stream of the device.", "Stream #13(Kernel)"),
    [EVENT_ATTRIBUTES] = MAYBE(TEXT, "extra_attributes_json", "",
                               "What the source says beyond the columns of all tables, as JSON.",
                               "{\"device_id\":0}"),
    [EVENT_TRACK] = ALWAYS(INT64, "track_id", "", "The track it is on: Track.id.", "5"),
    [EVENT_TYPE] = ALWAYS(INT64, "event_type_id", "",
                          "Its kind, with what all events of the kind share: EventType.id.", "17"),
    [EVENT_STEP] = MAYBE(INT64, "step_id", "", "The step it belongs to: Step.id.", "3"),
    [EVENT_OCCURRENCES] =
        MAYBE(INT64, "occurrence_count", "",
              "Set on rows that sum up so many events and have no time of their own.", "250"),
    [EVENT_START_FRACTION] = ALWAYS(INT32, "start_fraction_ps", "ps",
                                    "What start_ts leaves out: picoseconds beyond it.", "250"),
    [EVENT_DURATION_FRACTION] =
        ALWAYS(INT32, "duration_fraction_ps", "ps", "What duration_ns leaves out.", "0"),
};

static const struct field kernels_fields[] = {
    [KERNEL_ID] = ALWAYS(INT64, "id", "", "The event: SystemProfileEvents.id.", "1024"),
    [KERNEL_NAME] = ALWAYS(NAME, "name", "", "Name of the kernel.", "ampere_sgemm_128x64"),
    [KERNEL_START] = ALWAYS(INT64, "start_ts", "ns",
                            "When it began, counted from the start of the profile.", "81340"),
    [KERNEL_END] = ALWAYS(INT64, "end_ts", "ns", "When it ended.", "93340"),
    [KERNEL_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "How long it took.", "12000"),
    [KERNEL_DEVICE] = MAYBE(INT64, "device_idx", "", "Which device of the machine.", "0"),
    [KERNEL_STREAM] = ALWAYS(INT64, "stream_id", "", "The stream it ran on.", "13"),
    [KERNEL_CORRELATION] =
        MAYBE(INT64, "correlation_id", "", "Number that the driver gave its launch.", "1274"),
    [KERNEL_LAUNCH] =
        MAYBE(INT64, "launch_event_id", "",
              "The call on the host that launched it: SystemProfileEvents.id.", "988"),
    [KERNEL_STEP] = MAYBE(INT64, "step_id", "", "The step it belongs to: Step.id.", "3"),
    [KERNEL_GRID_X] = MAYBE(INT64, "grid_x", "", "Blocks of the grid in x.", "2048"),
    [KERNEL_GRID_Y] = MAYBE(INT64, "grid_y", "", "Blocks of the grid in y.", "1"),
    [KERNEL_GRID_Z] = MAYBE(INT64, "grid_z", "", "Blocks of the grid in z.", "1"),
    [KERNEL_BLOCK_X] = MAYBE(INT64, "block_x", "", "Threads of a block in x.", "128"),
    [KERNEL_BLOCK_Y] = MAYBE(INT64, "block_y", "", "Threads of a block in y.", "1"),
    [KERNEL_BLOCK_Z] = MAYBE(INT64, "block_z", "", "Threads of a block in z.", "1"),
    [KERNEL_REGISTERS] = MAYBE(INT64, "registers_per_thread", "", "Registers of a thread.", "98"),
    [KERNEL_SHARED] =
        MAYBE(INT64, "shared_bytes", "B", "Shared memory of a block in all.", "32768"),
    [KERNEL_STATIC_SHARED] = MAYBE(INT64, "static_shared_bytes", "B",
                                   "Shared memory of a block fixed by the code.", "0"),
    [KERNEL_DYNAMIC_SHARED] = MAYBE(INT64, "dynamic_shared_bytes", "B",
                                    "Shared memory of a block asked for at launch.", "32768"),
    [KERNEL_OCCUPANCY] =
        MAYBE(FLOAT64, "occupancy_percent", "%",
              "Warps that can be resident, of those the device has room for.", "25"),
    [KERNEL_THEORETICAL_OCCUPANCY] = MAYBE(FLOAT64, "theoretical_occupancy_percent", "%",
                                           "The same, as the profiler works it out.", "25"),
    [KERNEL_MINIMUM_GRID] = MAYBE(INT64, "occupancy_min_grid_size", "",
                                  "Smallest grid that can fill the device.", "132"),
    [KERNEL_SUGGESTED_BLOCK] = MAYBE(INT64, "occupancy_suggested_block_size", "",
                                     "Block size that would fill it best.", "512"),
    [KERNEL_GRAPH] = MAYBE(INT64, "cuda_graph_id", "", "The CUDA graph it is part of.", "66"),
    [KERNEL_GRAPH_NODE] =
        MAYBE(INT64, "cuda_graph_node_id", "", "Its node in that graph.", "283467841853"),
    [KERNEL_CONTEXT] = MAYBE(NAME, "context_id", "", "The device context.", "$$1"),
    [KERNEL_SCOPE_RANGE] = MAYBE(INT64, "scope_range_id", "",
                                 "The range of annotations it was launched in.", "281474976716738"),
    [KERNEL_MODULE] =
        MAYBE(NAME, "hlo_module", "", "The HLO module it was compiled from.", "jit_train_step"),
    [KERNEL_PROGRAM] = MAYBE(INT64, "program_id", "", "Number of that module.", "15913"),
    [KERNEL_LABEL] = MAYBE(
        NAME, "hlo_op", "",
        "The HLO operation, as the source labels it; inside CUDA graphs, the graph.", "fusion.12"),
    [KERNEL_OPERATION] =
        MAYBE(INT64, "operation_id", "", "The HLO operation: HloOperation.id.", "118"),
    [KERNEL_FRAMEWORK_OP] =
        MAYBE(NAME, "framework_op", "", "The operation of the framework, as the source labels it.",
              "XlaModule:"),
};

static const struct field copies_fields[] = {
    [COPY_ID] = ALWAYS(INT64, "id", "", "The event: SystemProfileEvents.id.", "1024"),
    [COPY_NAME] = ALWAYS(NAME, "name", "", "Name of the copy.", "MemcpyH2D"),
    [COPY_START] = ALWAYS(INT64, "start_ts", "ns",
                          "When it began, counted from the start of the profile.", "81340"),
    [COPY_END] = ALWAYS(INT64, "end_ts", "ns", "When it ended.", "93340"),
    [COPY_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "How long it took.", "12000"),
    [COPY_DEVICE] = MAYBE(INT64, "device_idx", "", "Which device of the machine.", "0"),
    [COPY_STREAM] = ALWAYS(INT64, "stream_id", "", "The stream it ran on.", "13"),
    [COPY_CORRELATION] =
        MAYBE(INT64, "correlation_id", "", "Number that the driver gave its launch.", "1274"),
    [COPY_LAUNCH] = MAYBE(INT64, "launch_event_id", "",
                          "The call on the host that launched it: SystemProfileEvents.id.", "988"),
    [COPY_STEP] = MAYBE(INT64, "step_id", "", "The step it belongs to: Step.id.", "3"),
    [COPY_OPERATION] = ONE_OF(true, "operation", "Copied or set.", "memcpy", "memcpy, memset"),
    [COPY_BYTES] = MAYBE(INT64, "size_bytes", "B", "How much.", "8192"),
    [COPY_SOURCE_KIND] = MAYBE(NAME, "source_kind", "", "Kind of memory it came from.", "pinned"),
    [COPY_DESTINATION_KIND] =
        MAYBE(NAME, "destination_kind", "", "Kind of memory it went to.", "device"),
    [COPY_PEER] = MAYBE(INT64, "destination_device", "", "The device it went to.", "0"),
    [COPY_ASYNC] =
        MAYBE(BOOL, "is_async", "", "Whether the call returned before it was done.", "true"),
    [COPY_GRAPH] = MAYBE(INT64, "cuda_graph_id", "", "The CUDA graph it is part of.", "66"),
    [COPY_GRAPH_NODE] =
        MAYBE(INT64, "cuda_graph_node_id", "", "Its node in that graph.", "283467841853"),
    [COPY_CONTEXT] = MAYBE(NAME, "context_id", "", "The device context.", "$$1"),
    [COPY_SCOPE_RANGE] = MAYBE(INT64, "scope_range_id", "",
                               "The range of annotations it was launched in.", "281474976716738"),
    [COPY_MODULE] =
        MAYBE(NAME, "hlo_module", "", "The HLO module it was compiled from.", "jit_train_step"),
    [COPY_PROGRAM] = MAYBE(INT64, "program_id", "", "Number of that module.", "15913"),
    [COPY_LABEL] = MAYBE(
        NAME, "hlo_op", "",
        "The HLO operation, as the source labels it; inside CUDA graphs, the graph.", "fusion.12"),
    [COPY_FRAMEWORK_OP] =
        MAYBE(NAME, "framework_op", "", "The operation of the framework, as the source labels it.",
              "XlaModule:"),
};

static const struct field collectives_fields[] = {
    [COLLECTIVE_ID] = ALWAYS(INT64, "id", "", "The event: SystemProfileEvents.id.", "1024"),
    [COLLECTIVE_NAME] = ALWAYS(NAME, "name", "", "Name of the event.", "record_param_comms"),
    [COLLECTIVE_START] = ALWAYS(INT64, "start_ts", "ns",
                                "When it began, counted from the start of the profile.", "81340"),
    [COLLECTIVE_END] = ALWAYS(INT64, "end_ts", "ns", "When it ended.", "93340"),
    [COLLECTIVE_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "How long it took.", "12000"),
    [COLLECTIVE_TRACK] = ALWAYS(INT64, "track_id", "",
                                "Where: Track.id; the host's call and the device's kernel "
                                "are two rows.",
                                "4"),
    [COLLECTIVE_OPERATION] = ALWAYS(NAME, "operation", "", "What was done.", "allreduce"),
    [COLLECTIVE_DATA_TYPE] = MAYBE(NAME, "data_type", "", "Type of the elements.", "BFloat16"),
    [COLLECTIVE_IN_ELEMENTS] =
        MAYBE(INT64, "input_elements", "", "Elements that went in.", "6637568"),
    [COLLECTIVE_OUT_ELEMENTS] =
        MAYBE(INT64, "output_elements", "", "Elements that came out.", "6637568"),
    [COLLECTIVE_IN_SPLIT] = MAYBE(NAME, "input_split_sizes", "",
                                  "Elements for each rank, where they differ.", "[512, 256]"),
    [COLLECTIVE_OUT_SPLIT] = MAYBE(NAME, "output_split_sizes", "",
                                   "Elements from each rank, where they differ.", "[256, 512]"),
    [COLLECTIVE_GROUP] = MAYBE(NAME, "group_name", "", "The process group.", "0"),
    [COLLECTIVE_GROUP_DESCRIPTION] =
        MAYBE(NAME, "group_description", "", "What the group is for.", "default_pg"),
    [COLLECTIVE_GROUP_SIZE] = MAYBE(INT64, "group_size", "", "Ranks in the group.", "8"),
    [COLLECTIVE_GROUP_RANKS] =
        MAYBE(NAME, "group_ranks", "", "Which ranks these are.", "[0, 1, 2, 3]"),
};

static const struct field allocations_fields[] = {
    [ALLOCATION_ID] = ALWAYS(INT64, "id", "", "The event: SystemProfileEvents.id.", "2048"),
    [ALLOCATION_NAME] = ALWAYS(NAME, "name", "", "What happened.", "MemoryAllocation"),
    [ALLOCATION_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "When, counted from the start of the profile.", "81340"),
    [ALLOCATION_TRACK] = ALWAYS(INT64, "track_id", "", "The track of the event: Track.id.", "4"),
    [ALLOCATION_ALLOCATOR] = MAYBE(NAME, "allocator_name", "", "Which allocator.", "GPU_0_bfc"),
    [ALLOCATION_REQUESTED] =
        MAYBE(INT64, "requested_bytes", "B", "What was asked for.", "16785408"),
    [ALLOCATION_BYTES] = MAYBE(INT64, "allocation_bytes", "B", "What was given.", "33554432"),
    [ALLOCATION_ADDRESS] = MAYBE(INT64, "address", "", "Where.", "12952010752"),
    [ALLOCATION_IN_USE] = MAYBE(INT64, "bytes_allocated", "B", "In use afterwards.", "73728"),
    [ALLOCATION_RESERVED] = MAYBE(INT64, "bytes_reserved", "B", "Reserved afterwards.", "0"),
    [ALLOCATION_AVAILABLE] =
        MAYBE(INT64, "bytes_available", "B", "Free afterwards.", "112583434240"),
    [ALLOCATION_PEAK] =
        MAYBE(INT64, "peak_bytes_in_use", "B", "The most that ever was in use.", "134308096"),
    [ALLOCATION_FRAGMENTATION] =
        MAYBE(FLOAT64, "fragmentation", "", "Share of the free memory outside its largest piece.",
              "0.349"),
    [ALLOCATION_REGION] = MAYBE(INT64, "region_id", "", "Region of memory the source names.", "0"),
    [ALLOCATION_DATA_TYPE] =
        MAYBE(INT64, "data_type", "", "Type of the elements, as the source numbers it.", "0"),
    [ALLOCATION_SOURCE] =
        MAYBE(NAME, "source_file", "", "Where in the framework's source it was recorded.",
              "bfc_allocator.cc"),
};

static const struct field counters_fields[] = {
    [COUNTER_ID] = ALWAYS(INT64, "id", "", "The event: SystemProfileEvents.id.", "300"),
    [COUNTER_TRACK] = ALWAYS(INT64, "track_id", "", "The counter: Track.id.", "9"),
    [COUNTER_NAME] = ALWAYS(NAME, "name", "", "Name of the counter.", "power_watts"),
    [COUNTER_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "When, counted from the start of the profile.", "81340"),
    [COUNTER_VALUE] = ALWAYS(FLOAT64, "value", "", "What was read.", "412.5"),
};

static const struct field flows_fields[] = {
    [FLOW_IN] = ALWAYS(INT64, "in_id", "", "The cause: its id in in_table.", "988"),
    [FLOW_OUT] = ALWAYS(INT64, "out_id", "", "The effect: its id in out_table.", "1024"),
    [FLOW_IN_TABLE] = ALWAYS(NAME, "in_table", "", "Table of the cause.", "SystemProfileEvents"),
    [FLOW_OUT_TABLE] = ALWAYS(NAME, "out_table", "", "Table of the effect.", "SystemProfileEvents"),
    [FLOW_TYPE] = ONE_OF(false, "dependency_type",
                         "A launch of device work, or a context passed on between threads.",
                         "launch", "launch, context"),
    [FLOW_GAP] =
        MAYBE(INT64, "gap_time", "ns",
              "From the end of the cause to the start of the effect; negative when they overlap.",
              "5200"),
};

static const struct field runs_fields[] = {
    [RUN_ID] = ALWAYS(INT64, "id", "", "Number of the run.", "12"),
    [RUN_KIND] = ONE_OF(true, "kind", "What ran.", "operation", "module, operation"),
    [RUN_NAME] = ALWAYS(NAME, "name", "", "Name of the module or the operation.", "fusion.12"),
    [RUN_START] =
        ALWAYS(INT64, "start_ts", "ns",
               "When its first kernel began, counted from the start of the profile.", "81340"),
    [RUN_END] = ALWAYS(INT64, "end_ts", "ns", "When its last kernel ended.", "93340"),
    [RUN_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "From the one to the other.", "12000"),
    [RUN_TRACK] = ALWAYS(INT64, "track_id", "", "The track it is drawn on: Track.id.", "40"),
    [RUN_STREAM_TRACK] =
        ALWAYS(INT64, "stream_track_id", "", "The track of its kernels: Track.id.", "5"),
    [RUN_MODULE] = MAYBE(INT64, "module_id", "", "HloModule.id.", "0"),
    [RUN_OPERATION] =
        MAYBE(INT64, "operation_id", "",
              "HloOperation.id; NULL for modules and for kernels that could not be told.", "118"),
    [RUN_STEP] = MAYBE(INT64, "step_id", "", "The step it belongs to: Step.id.", "3"),
    [RUN_KERNELS] = ALWAYS(INT64, "kernel_count", "", "How many kernels it took.", "2"),
};

static const struct field steps_fields[] = {
    [STEP_ID] = ALWAYS(INT64, "id", "", "Number of the step within the profile, from 0.", "3"),
    [STEP_NUMBER] = ALWAYS(INT64, "number", "", "Number the program gave it.", "19"),
    [STEP_NAME] = ALWAYS(NAME, "name", "", "Name of the annotation.", "train"),
    [STEP_EVENT] = ALWAYS(INT64, "event_id", "", "The annotation: SystemProfileEvents.id.", "42"),
    [STEP_START] =
        ALWAYS(INT64, "start_ts", "ns",
               "When it began on the host, counted from the start of the profile.", "81340"),
    [STEP_END] = ALWAYS(INT64, "end_ts", "ns", "When it ended there.", "93340"),
    [STEP_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "Its time on the host.", "12000"),
    [STEP_DEVICE_START] =
        MAYBE(INT64, "device_start_ts", "ns", "When its first work on a device began.", "82000"),
    [STEP_DEVICE_END] =
        MAYBE(INT64, "device_end_ts", "ns", "When its last work on a device ended.", "99000"),
    [STEP_DEVICE_EVENTS] =
        ALWAYS(INT64, "device_event_count", "", "How many events on devices belong to it.", "768"),
};

static const struct field tracks_fields[] = {
    [TRACK_ID] = ALWAYS(INT64, "id", "", "Number of the track.", "5"),
    [TRACK_PARENT] = MAYBE(INT64, "parent_id", "", "The track around it; NULL for machines.", "2"),
    [TRACK_KIND] =
        ONE_OF(true, "kind", "Level of the tree.", "lane", "instance, process, source, lane"),
    [TRACK_NAME] = ALWAYS(NAME, "name", "", "Its name.", "Stream #13(Kernel)"),
    [TRACK_ROLE] = ONE_OF(false, "role", "What a source or lane holds.", "stream",
                          "host, device, plain, stream, ops, modules, steps, async, counter"),
    [TRACK_INSTANCE_NAME] = ALWAYS(NAME, "instance_id", "", "The machine.", "host0"),
    [TRACK_NUMBER] =
        ALWAYS(INT64, "number", "", "Number the source gives it: process, thread or line.", "13"),
    [TRACK_SORT_KEY] = ALWAYS(INT64, "sort_key", "", "Place among its siblings.", "2"),
    [TRACK_EVENTS] = ALWAYS(INT64, "event_count", "", "How many events it holds.", "768000"),
    [TRACK_FIRST_ID] =
        MAYBE(INT64, "first_event_id", "",
              "Id of its first event; the others follow. NULL when it has none.", "512000"),
    [TRACK_TABLE] =
        MAYBE(NAME, "event_table", "", "The table these ids are of.", "SystemProfileEvents"),
    [TRACK_START] = MAYBE(INT64, "first_ts", "ns", "When its first event began.", "81340"),
    [TRACK_END] = MAYBE(INT64, "last_ts", "ns", "When its last event ended.", "993340"),
    [TRACK_BUSY] = MAYBE(INT64, "busy_ns", "ns", "Time covered by at least one event.", "702000"),
    [TRACK_ATTRIBUTES] =
        MAYBE(TEXT, "attributes_json", "", "What else the source says about it, as JSON.",
              "{\"timestamp_ns\":1}"),
};

static const struct field event_types_fields[] = {
    [TYPE_ID] = ALWAYS(INT64, "id", "", "Number of the kind.", "17"),
    [TYPE_NAME] =
        ALWAYS(NAME, "name", "", "Name of its events.", "%fusion.12 = f32[8]{0} fusion(...)"),
    [TYPE_DISPLAY_NAME] =
        MAYBE(NAME, "display_name", "", "A shorter name for people.", "fusion.12"),
    [TYPE_ATTRIBUTES] = MAYBE(TEXT, "attributes_json", "",
                              "What the source says about the kind, as JSON.", "{\"flops\":1024}"),
};

static const struct field python_frames_fields[] = {
    [PYTHON_TYPE] = ALWAYS(INT64, "event_type_id", "", "The kind of event: EventType.id.", "230"),
    [PYTHON_NAME] = ALWAYS(NAME, "name", "", "Name of its events.", "$train.py:31 step"),
    [PYTHON_FILE] = MAYBE(NAME, "file_path", "", "The file.", "train.py"),
    [PYTHON_LINE] = MAYBE(INT64, "line_number", "", "The line the function begins on.", "31"),
    [PYTHON_FUNCTION] = MAYBE(NAME, "function_name", "", "The function.", "step"),
};

static const struct field modules_fields[] = {
    [MODULE_ID] = ALWAYS(INT64, "id", "", "Number of the module within the profile.", "0"),
    [MODULE_NAME] = ALWAYS(NAME, "name", "", "Its name.", "jit_train_step"),
    [MODULE_LABEL] = ALWAYS(NAME, "label", "", "Its name and number as the source lists it.",
                            "jit_train_step(15913)"),
    [MODULE_PROGRAM] = ALWAYS(INT64, "program_id", "", "Number XLA gave it.", "15913"),
    [MODULE_INSTANCE] = ALWAYS(NAME, "instance_id", "", "The machine it is from.", "host0"),
    [MODULE_OPERATIONS] =
        ALWAYS(INT64, "operation_count", "", "How many operations it has.", "412"),
};

static const struct field operations_fields[] = {
    [OPERATION_ID] = ALWAYS(INT64, "id", "", "Number of the operation within the profile.", "118"),
    [OPERATION_MODULE] = ALWAYS(INT64, "module_id", "", "HloModule.id.", "0"),
    [OPERATION_NAME] = ALWAYS(NAME, "name", "", "Its name.", "fusion.12"),
    [OPERATION_OPCODE] = ALWAYS(NAME, "opcode", "", "What it does.", "fusion"),
    [OPERATION_COMPUTATION] =
        ALWAYS(NAME, "computation", "", "The computation it is part of.", "main.42"),
    [OPERATION_FRAMEWORK_OP] =
        MAYBE(NAME, "op_name", "", "The framework's operation behind it.", "jit(step)/dot_general"),
    [OPERATION_FILE] = MAYBE(NAME, "source_file", "", "The file it was written in.", "train.py"),
    [OPERATION_LINE] = MAYBE(INT64, "source_line", "", "The line.", "31"),
    [OPERATION_FRAME] =
        MAYBE(NAME, "stack_frame_id", "", "Innermost frame of its stack: StackFrame.id.", "7"),
};

static const struct field frames_fields[] = {
    [FRAME_ID] = ALWAYS(NAME, "id", "", "Number of the frame.", "7"),
    [FRAME_LOCATION] = ALWAYS(INT32, "file_location_id", "", "StackFrameFileLocation.id.", "3"),
    [FRAME_PARENT] =
        ALWAYS(NAME, "parent_frame_id", "", "The caller: StackFrame.id; 0 for the outermost.", "2"),
};

static const struct field frame_locations_fields[] = {
    [LOCATION_ID] = ALWAYS(NAME, "id", "", "Number of the place.", "3"),
    [LOCATION_FILE] =
        ALWAYS(INT32, "file_name_id", "", "StackFrameFileName.id; 0 when unknown.", "1"),
    [LOCATION_FUNCTION] =
        ALWAYS(INT32, "function_name_id", "", "StackFrameFunctionName.id; 0 when unknown.", "2"),
    [LOCATION_LINE] = ALWAYS(INT32, "line_number", "", "The line.", "31"),
};

static const struct field frame_files_fields[] = {
    [NAMED_ID] = ALWAYS(NAME, "id", "", "Number of the file.", "1"),
    [NAMED_NAME] = ALWAYS(NAME, "name", "", "Its path.", "train.py"),
};

static const struct field frame_functions_fields[] = {
    [NAMED_ID] = ALWAYS(NAME, "id", "", "Number of the function.", "2"),
    [NAMED_NAME] = ALWAYS(NAME, "name", "", "Its name.", "step"),
};

static const struct field cpu_usage_fields[] = {
    [CPU_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "When, counted from the start of the profile.", "81340"),
    [CPU_PERCENT] =
        ALWAYS(FLOAT32, "util_percent", "%", "Share of the time that it worked.", "63.5"),
    [CPU_ID] = ALWAYS(NAME, "cpu_id", "", "Which processor, or all.", "cpu7"),
    [CPU_INSTANCE] = ALWAYS(NAME, "instance_id", "", "The machine.", "host0"),
    [CPU_ULTRASERVER] =
        MAYBE(INT64, "ultraserver_id", "", "The ultraserver the machine is part of.", "1"),
    [CPU_ULTRASERVER_INDEX] =
        MAYBE(INT64, "ultraserver_instance_index", "", "Its place there.", "0"),
};

static const struct field host_memory_fields[] = {
    [MEMORY_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "When, counted from the start of the profile.", "81340"),
    [MEMORY_USED] = ALWAYS(INT64, "used_bytes", "B", "In use.", "68719476736"),
    [MEMORY_PERCENT] =
        ALWAYS(FLOAT32, "used_percent", "%", "The same as a share of all memory.", "25"),
    [MEMORY_INSTANCE] = ALWAYS(NAME, "instance_id", "", "The machine.", "host0"),
    [MEMORY_ULTRASERVER] =
        MAYBE(INT64, "ultraserver_id", "", "The ultraserver the machine is part of.", "1"),
    [MEMORY_ULTRASERVER_INDEX] =
        MAYBE(INT64, "ultraserver_instance_index", "", "Its place there.", "0"),
};

static const struct field system_metadata_fields[] = {
    [SYSTEM_FIRST] = ALWAYS(TEXT, "first_ts", "",
                            "Time of the first event, UTC; empty when the source does not tell.",
                            "2026-11-14T22:42:23.000000000Z"),
    [SYSTEM_LAST] =
        ALWAYS(TEXT, "last_ts", "", "Time of the last event.", "2026-11-14T22:42:25.000000000Z"),
    [SYSTEM_FIRST_NS] =
        ALWAYS(TEXT, "first_ts_ns", "ns",
               "The same since 1970; since the start of the profile when the source does not tell.",
               "1794868943000000000"),
    [SYSTEM_LAST_NS] =
        ALWAYS(TEXT, "last_ts_ns", "ns", "Time of the last event.", "1794868945000000000"),
    [SYSTEM_NTFF] = ALWAYS(INT64, "ntff_version", "",
                           "Version of the trace files; 0 when it was made from others.", "0"),
    [SYSTEM_HBM] = ALWAYS(INT64, "hbm_capacity_bytes", "B",
                          "Memory of a device; 0 when the source does not tell.", "150754820096"),
};

static const struct field metadata_fields[] = {
    [META_SCHEMA] = ALWAYS(TEXT, "profile_schema_version", "", "Version of this schema.", "7.4.0"),
    [META_NTFF] = ALWAYS(INT32, "ntff_version", "",
                         "Version of the trace files; 0 when it was made from others.", "0"),
    [META_CORES] = ALWAYS(INT32, "num_physical_cores", "",
                          "Physical cores profiled; 0 when it was made from others.", "0"),
    [META_VNC] =
        ALWAYS(BOOL, "vnc_enabled", "", "Whether several physical cores act as one.", "false"),
    [META_FIRST_HARDWARE] = ALWAYS(
        INT64, "first_hw_timestamp", "ns",
        "First event on a device, counted from the start of the profile; 0 without one.", "81340"),
    [META_LAST_HARDWARE] = ALWAYS(INT64, "last_hw_timestamp", "ns",
                                  "End of the last event on a device; 0 without one.", "993340"),
    [META_FIRST] = ALWAYS(TEXT, "first_ts", "",
                          "Time of the first event, UTC; empty when the source does not tell.",
                          "2026-11-14T22:42:23.000000000Z"),
    [META_LAST] =
        ALWAYS(TEXT, "last_ts", "", "Time of the last event.", "2026-11-14T22:42:25.000000000Z"),
    [META_DMA_BANDWIDTH] = ALWAYS(FLOAT32, "dma_ddr_bandwidth", "B/s",
                                  "Bandwidth of a DMA engine; 0 when it has none.", "0"),
    [META_DMA_ENGINES] = ALWAYS(INT32, "num_dma_engines_per_neuroncore", "",
                                "DMA engines of a core; 0 when it has none.", "0"),
    [META_HBM_BANDWIDTH] =
        ALWAYS(FLOAT32, "hbm_ddr_bandwidth", "B/s",
               "Bandwidth of the device's memory; 0 when the source does not tell.", "0"),
    [META_TENSOR_ROWS] = ALWAYS(INT64, "tensor_engine_num_rows", "",
                                "Rows of the tensor engine; 0 without one.", "0"),
    [META_TENSOR_COLUMNS] = ALWAYS(INT64, "tensor_engine_num_cols", "",
                                   "Columns of the tensor engine; 0 without one.", "0"),
    [META_TENSOR_CLOCK] = ALWAYS(FLOAT32, "tensor_engine_clock_freq", "GHz",
                                 "Clock of the tensor engine; 0 without one.", "0"),
    [META_VECTOR_CLOCK] = ALWAYS(FLOAT32, "vector_engine_clock_freq", "GHz",
                                 "Clock of the vector engine; 0 without one.", "0"),
    [META_VECTOR_CHANNELS] = ALWAYS(INT64, "vector_engine_num_channels", "",
                                    "Channels of the vector engine; 0 without one.", "0"),
    [META_SCALAR_CLOCK] = ALWAYS(FLOAT32, "scalar_engine_clock_freq", "GHz",
                                 "Clock of the scalar engine; 0 without one.", "0"),
    [META_SCALAR_CHANNELS] = ALWAYS(INT64, "scalar_engine_num_channels", "",
                                    "Channels of the scalar engine; 0 without one.", "0"),
    [META_GPSIMD_CLOCK] = ALWAYS(FLOAT32, "gpsimd_engine_clock_freq", "GHz",
                                 "Clock of the GpSimd engine; 0 without one.", "0"),
    [META_GPSIMD_CHANNELS] = ALWAYS(INT64, "gpsimd_engine_num_channels", "",
                                    "Channels of the GpSimd engine; 0 without one.", "0"),
    [META_CORE_CLOCK] = ALWAYS(FLOAT32, "neuroncore_clock_freq", "GHz",
                               "Clock of the core; 0 when the source does not tell.", "0"),
    [META_TICKS] =
        ALWAYS(INT64, "ticks_per_nanosec", "", "Ticks of the device's clock in a nanosecond.", "1"),
    [META_INSTANCE_TYPE] = MAYBE(NAME, "instance_type", "", "Kind of device.", "NVIDIA H200"),
    [META_RUNTIME_VERSION] = MAYBE(NAME, "runtime_version", "", "Version of the runtime.", "2.28"),
    [META_COLLECTIVES_VERSION] =
        MAYBE(NAME, "collectives_version", "", "Version of the collectives library.", "2.28"),
    [META_DRIVER_VERSION] = MAYBE(NAME, "driver_version", "", "Version of the driver.", "13000"),
    [META_EXPLORER_VERSION] =
        MAYBE(NAME, "explorer_version", "", "What made the tables.", "kymo 0.1.0"),
    [META_COMPILER_VERSION] =
        MAYBE(NAME, "compiler_version", "", "Version of the compiler.", "0.10.2"),
    [META_CORE] = MAYBE(INT64, "neuroncore_idx", "", "Core that was profiled.", "0"),
    [META_DEVICE] = MAYBE(INT64, "neuron_device_idx", "", "Device that was profiled.", "0"),
    [META_ULTRASERVER] = MAYBE(INT64, "ultraserver_id", "", "The ultraserver.", "1"),
    [META_ULTRASERVER_TYPE] = MAYBE(NAME, "ultraserver_type", "", "Its type.", "trn2-u"),
    [META_ULTRASERVER_SIZE] = MAYBE(INT32, "ultraserver_size", "", "Its size.", "4"),
    [META_ULTRASERVER_INDEX] = MAYBE(INT32, "ultraserver_instance_index", "", "Place in it.", "0"),
    [META_BUCKET] = MAYBE(NAME, "s3_bucket_path", "", "Where the profile was uploaded to.",
                          "s3://bucket/profile"),
    [META_PROFILE] = MAYBE(NAME, "profile_name", "", "Name of the profile.", "gpt"),
    [META_BUILD_TIME] = MAYBE(NAME, "explorer_build_time", "",
                              "When what made the tables was built.", "2026-11-14"),
    [META_SIMULATION] =
        MAYBE(BOOL, "is_simulation", "", "Whether the times are simulated.", "false"),
};

static const struct field warnings_fields[] = {
    [WARNING_MESSAGE] = ALWAYS(TEXT, "message", "", "The warning.", "2 events were dropped"),
    [WARNING_CATEGORY] =
        ONE_OF(true, "category", "How serious it is.", "warning", "warning, error"),
};

static const struct field schema_fields_fields[] = {
    [SCHEMA_TABLE] = ALWAYS(NAME, "table_name", "", "The table.", "Step"),
    [SCHEMA_TABLE_MEANING] =
        ALWAYS(NAME, "table_description", "", "What the table holds.", "Steps of the program."),
    [SCHEMA_FIELD] = ALWAYS(NAME, "field_name", "", "The column.", "start_ts"),
    [SCHEMA_MEANING] =
        ALWAYS(NAME, "field_description", "", "What the column holds.", "When it began."),
    [SCHEMA_EXAMPLE] = MAYBE(NAME, "field_example", "", "A value it could have.", "81340"),
    [SCHEMA_TYPE] = ONE_OF(true, "field_type", "Type of its values.", "int64",
                           "int64, int32, float32, float64, bool, string, list<string>"),
    [SCHEMA_REQUIRED] =
        ALWAYS(BOOL, "field_required", "", "Whether every row has a value.", "true"),
    [SCHEMA_FORMAT] = ONE_OF(false, "field_format", "Form of the text, where it has one.", "json",
                             "json, date-time"),
    [SCHEMA_UNIT] = MAYBE(NAME, "field_unit", "", "Unit of the values.", "ns"),
    [SCHEMA_MINIMUM] = MAYBE(FLOAT32, "field_minimum", "", "The least it can be.", "0"),
    [SCHEMA_MAXIMUM] = MAYBE(FLOAT32, "field_maximum", "", "The most it can be.", "100"),
    [SCHEMA_CHOICES] = MAYBE(NAME, "field_enum_values", "", "Possible values, comma-separated.",
                             "launch, context"),
};

#define TABLE(name, meaning, fields) {name, meaning, fields, sizeof(fields) / sizeof *(fields)}

const struct table_schema table_schemas[TABLE_COUNT] = {
    [TABLE_EVENTS] = TABLE(
        "SystemProfileEvents",
        "What ran, on the host and on the devices: one row an event, as recorded.", events_fields),
    [TABLE_KERNELS] = TABLE(
        "GpuKernel",
        "Kernels on GPUs: launch configuration, occupancy, and the operation each belongs to.",
        kernels_fields),
    [TABLE_COPIES] =
        TABLE("GpuCopy", "Copies to, from and on GPUs, and memory that was set.", copies_fields),
    [TABLE_COLLECTIVES] = TABLE(
        "Collective",
        "Collective operations between ranks: what was exchanged, and in which process group.",
        collectives_fields),
    [TABLE_ALLOCATIONS] = TABLE(
        "MemoryAllocation",
        "Memory taken and given back through the framework's allocators, and their state then.",
        allocations_fields),
    [TABLE_COUNTERS] =
        TABLE("CounterSample", "Samples of counters: one row a sample.", counters_fields),
    [TABLE_FLOWS] =
        TABLE("Flow", "Causes and effects: which event made which other happen.", flows_fields),
    [TABLE_RUNS] = TABLE("HloRun",
                         "Executions of HLO modules and operations on GPUs, worked out from the "
                         "kernels of each stream.",
                         runs_fields),
    [TABLE_STEPS] = TABLE("Step", "Steps of the program, as annotated on the host.", steps_fields),
    [TABLE_TRACKS] =
        TABLE("Track", "Where events happened: machines, processes, sources and lanes, a tree.",
              tracks_fields),
    [TABLE_EVENT_TYPES] = TABLE("EventType", "Kinds of events: what all events of one kind share.",
                                event_types_fields),
    [TABLE_PYTHON_FRAMES] =
        TABLE("PythonFrame", "Python functions that were traced, by kind of event.",
              python_frames_fields),
    [TABLE_MODULES] = TABLE("HloModule", "Programs that XLA compiled.", modules_fields),
    [TABLE_OPERATIONS] = TABLE(
        "HloOperation", "Operations of the modules, and where in the user's code they come from.",
        operations_fields),
    [TABLE_FRAMES] = TABLE(
        "StackFrame", "Stack frames of the user's code behind compiled operations.", frames_fields),
    [TABLE_FRAME_LOCATIONS] =
        TABLE("StackFrameFileLocation", "Places in source files.", frame_locations_fields),
    [TABLE_FRAME_FILES] = TABLE("StackFrameFileName", "Source files.", frame_files_fields),
    [TABLE_FRAME_FUNCTIONS] = TABLE("StackFrameFunctionName", "Functions.", frame_functions_fields),
    [TABLE_CPU_USAGE] = TABLE("CpuUsage", "How busy the host's processors were.", cpu_usage_fields),
    [TABLE_HOST_MEMORY] =
        TABLE("HostMemUsage", "How much of the host's memory was in use.", host_memory_fields),
    [TABLE_SYSTEM_METADATA] = TABLE("SystemProfileMetadata", "When the profile was taken: one row.",
                                    system_metadata_fields),
    [TABLE_METADATA] =
        TABLE("Metadata", "What was profiled, and the constants of the hardware: one row.",
              metadata_fields),
    [TABLE_WARNINGS] =
        TABLE("Warning", "What the source, or reading it, warns of.", warnings_fields),
    [TABLE_SCHEMA_FIELDS] = TABLE(
        "SchemaFields", "This description: one row a column of every table.", schema_fields_fields),
};

const char *field_type_name(enum field_type type)
{
    static const char *const names[] = {
        [FIELD_INT64] = "int64",     [FIELD_INT32] = "int32",
        [FIELD_FLOAT32] = "float32", [FIELD_FLOAT64] = "float64",
        [FIELD_BOOL] = "bool",       [FIELD_NAME] = "string",
        [FIELD_TEXT] = "string",     [FIELD_TEXT_LIST] = "list<string>",
    };
    return names[type];
}

/*
 * The tables of the profile schema.
 */
#include "store/tables/schema.h"

#include "store/tables/schema_device.h"
#include "store/tables/schema_parts.h"
#include "store/tables/schema_rank.h"

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

const char *field_sql_type(enum field_type type)
{
    static const char *const names[] = {
        [FIELD_INT64] = "BIGINT",        [FIELD_INT32] = "INTEGER",
        [FIELD_FLOAT32] = "FLOAT",       [FIELD_FLOAT64] = "DOUBLE",
        [FIELD_BOOL] = "BOOLEAN",        [FIELD_NAME] = "VARCHAR",
        [FIELD_TEXT] = "VARCHAR",        [FIELD_TEXT_LIST] = "VARCHAR[]",
        [FIELD_INT64_LIST] = "BIGINT[]",
    };
    return names[type];
}

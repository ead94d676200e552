/*
 * Columns of the tables that compare ranks.
 */
#include "store/tables/schema_rank.h"

#include "store/tables/schema_parts.h"

#define DEVICE_ID MAYBE(INT64, "device_id", "", "Device: Device.id; NULL for the host.", "0")
#define DEVICE_INDEX                                                                               \
    ALWAYS(INT64, "device_idx", "",                                                                \
           "Number of the device among those that the rank used; 0 for the host.", "0")

const struct field rank_info_fields[] = {
    [RANK_INFO_CAPTURE] = ALWAYS(TEXT, "capture", "", "Capture it was made of.", "rank-3.json.gz"),
    [RANK_INFO_HOST] = MAYBE(NAME, "host", "", "Machine it ran on, if known.", "node17"),
    [RANK_INFO_PROCESS] = MAYBE(INT64, "process_id", "", "Process id.", "701"),
    [RANK_INFO_WORLD_SIZE] =
        MAYBE(INT64, "world_size", "", "Number of ranks of the job, if known.", "1024"),
    [RANK_INFO_EPOCH] =
        ALWAYS(INT64, "epoch_ns", "ns",
               "Wall-clock time of time 0 of its tables, by the clock of its machine.",
               "1789000000000000000"),
    [RANK_INFO_FIRST] = ALWAYS(INT64, "first_ts", "ns", "Start of the first event.", "0"),
    [RANK_INFO_LAST] = ALWAYS(INT64, "last_ts", "ns", "End of the last event.", "220000000"),
    [RANK_INFO_DEVICES] = ALWAYS(INT64, "device_count", "", "Devices it used.", "1"),
    [RANK_INFO_DEVICE_NAME] = MAYBE(NAME, "device_name", "", "Name of its devices.", "NVIDIA H200"),
    [RANK_INFO_STEPS] = ALWAYS(INT64, "step_count", "", "Steps of the capture.", "100"),
    [RANK_INFO_STEP_ORIGIN] = {"step_origin", FIELD_NAME, false, "", "How steps were found.",
                               "annotated", "annotated, recorded, guessed"},
    [RANK_INFO_WRITER] = ALWAYS(NAME, "writer", "", "Program that wrote it.", "kymo 0.1.0"),
};

const struct field rank_step_fields[] = {
    [RANK_STEP_DEVICE] = DEVICE_ID,
    [RANK_STEP_DEVICE_INDEX] = DEVICE_INDEX,
    [RANK_STEP_NUMBER] = ALWAYS(INT64, "step", "", "Number of the step: Step.number.", "19"),
    [RANK_STEP_START] =
        ALWAYS(INT64, "start_ts", "ns", "Start, relative to the start of the profile.", "81340"),
    [RANK_STEP_END] = ALWAYS(INT64, "end_ts", "ns", "End: start_ts + duration_ns.", "4281340"),
    [RANK_STEP_DURATION] =
        ALWAYS(INT64, "duration_ns", "ns", "Duration, as in StepBreakdown.", "4200000"),
    [RANK_STEP_COMPUTE] =
        ALWAYS(INT64, "compute_ns", "ns", "Time in which the device computes.", "3000000"),
    [RANK_STEP_COPY] = ALWAYS(INT64, "copy_ns", "ns",
                              "Time in which it copies or sets memory, and neither computes nor "
                              "communicates.",
                              "40000"),
    [RANK_STEP_COMMUNICATION] = ALWAYS(INT64, "communication_ns", "ns",
                                       "Time in which it takes part in collectives or exchanges "
                                       "data with another rank, waits in them included.",
                                       "900000"),
    [RANK_STEP_EXPOSED] =
        ALWAYS(INT64, "exposed_communication_ns", "ns",
               "Part of communication_ns in which it does not compute.", "300000"),
    [RANK_STEP_OVERLAP] = ALWAYS(INT64, "overlap_ns", "ns",
                                 "Part of communication_ns in which it computes.", "600000"),
    [RANK_STEP_BUSY] = ALWAYS(INT64, "busy_ns", "ns",
                              "Time in which it does anything: compute_ns + copy_ns + "
                              "exposed_communication_ns.",
                              "3340000"),
    [RANK_STEP_IDLE] =
        ALWAYS(INT64, "idle_ns", "ns", "The rest of the step: duration_ns - busy_ns.", "860000"),
    [RANK_STEP_IDLE_HOST] =
        ALWAYS(INT64, "idle_host_ns", "ns",
               "Idle because the host had not yet launched what ran next.", "600000"),
    [RANK_STEP_IDLE_KERNEL] =
        ALWAYS(INT64, "idle_kernel_ns", "ns",
               "Idle in short gaps between work that was launched already.", "60000"),
    [RANK_STEP_IDLE_OTHER] =
        ALWAYS(INT64, "idle_other_ns", "ns",
               "The rest of idle_ns: waits for other streams, unknown.", "200000"),
    [RANK_STEP_INPUT_WAIT] = ALWAYS(INT64, "input_wait_ns", "ns", "As in StepBreakdown.", "0"),
    [RANK_STEP_HOST_COMPUTE] =
        ALWAYS(INT64, "host_compute_ns", "ns", "As in StepBreakdown.", "200000"),
    [RANK_STEP_LAUNCH] = ALWAYS(INT64, "kernel_launch_ns", "ns", "As in StepBreakdown.", "80000"),
    [RANK_STEP_COMPILE] = ALWAYS(INT64, "compile_ns", "ns", "As in StepBreakdown.", "0"),
    [RANK_STEP_KERNELS] = ALWAYS(INT64, "kernel_count", "", "Kernels.", "1258"),
    [RANK_STEP_COLLECTIVES] =
        ALWAYS(INT64, "collective_count", "", "Collectives and transfers between ranks.", "14"),
    [RANK_STEP_TOP_KERNELS] =
        ALWAYS(INT64, "top_kernels_hash", "",
               "Hash of the names of the eight kernels that compute longest, in order of their "
               "names: steps that run the same program have the same.",
               "-4523411098233987121"),
};

const struct field rank_collective_fields[] = {
    [RANK_COLLECTIVE_EVENT] =
        ALWAYS(INT64, "id", "", "Event on the device: SystemProfileEvents.id.", "1024"),
    [RANK_COLLECTIVE_DEVICE] = DEVICE_ID,
    [RANK_COLLECTIVE_DEVICE_INDEX] = DEVICE_INDEX,
    [RANK_COLLECTIVE_STREAM] = MAYBE(INT64, "stream_id", "", "Stream of the device.", "16"),
    [RANK_COLLECTIVE_STEP] =
        MAYBE(INT64, "step", "", "Number of the step; NULL outside steps.", "19"),
    [RANK_COLLECTIVE_COMMUNICATOR] =
        ALWAYS(NAME, "communicator", "",
               "Communicator: the same text on all its ranks, another for other ranks.",
               "default_pg [0, 1]"),
    [RANK_COLLECTIVE_OPERATION] = ALWAYS(NAME, "operation", "", "Operation.", "allreduce"),
    [RANK_COLLECTIVE_SEQUENCE] =
        MAYBE(INT64, "sequence", "",
              "Number of the operation in its communicator, counted by the library.", "211"),
    [RANK_COLLECTIVE_OCCURRENCE] =
        ALWAYS(INT64, "occurrence", "",
               "How many operations of this kind and peer came before it in its communicator and "
               "step.",
               "3"),
    [RANK_COLLECTIVE_PEER] = MAYBE(INT64, "peer", "", "Other rank of a send or receive.", "4"),
    [RANK_COLLECTIVE_GROUP_SIZE] =
        MAYBE(INT64, "group_size", "", "Ranks of the communicator.", "8"),
    [RANK_COLLECTIVE_START] =
        ALWAYS(INT64, "start_ts", "ns", "Start: the rank has arrived.", "81340"),
    [RANK_COLLECTIVE_END] = ALWAYS(INT64, "end_ts", "ns", "End: start_ts + duration_ns.", "93340"),
    [RANK_COLLECTIVE_DURATION] = ALWAYS(INT64, "duration_ns", "ns", "Duration.", "12000"),
    [RANK_COLLECTIVE_BYTES] = MAYBE(
        INT64, "bytes", "B",
        "Size as nccl-tests count it: of the larger of what a rank gives and gets.", "8196000"),
    [RANK_COLLECTIVE_DATA_TYPE] = MAYBE(NAME, "data_type", "", "Element type.", "BFloat16"),
    [RANK_COLLECTIVE_NAME] =
        ALWAYS(NAME, "name", "", "Name of the event.", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
};

const struct field rank_kernel_fields[] = {
    [RANK_KERNEL_DEVICE] = DEVICE_ID,
    [RANK_KERNEL_DEVICE_INDEX] = DEVICE_INDEX,
    [RANK_KERNEL_STEP] = ALWAYS(INT64, "step", "", "Number of the step.", "19"),
    [RANK_KERNEL_NAME] =
        MAYBE(NAME, "name", "",
              "Kernel; NULL for all those that are not among the 32 that take most time.",
              "sm90_xmma_gemm_bf16"),
    [RANK_KERNEL_CLASS] = {"class", FIELD_NAME, true, "", "What it does.", "compute",
                           "compute, communication, copy"},
    [RANK_KERNEL_COUNT] = ALWAYS(INT64, "count", "", "How often it ran.", "24"),
    [RANK_KERNEL_TOTAL] = ALWAYS(INT64, "total_ns", "ns", "Sum of its durations.", "810000"),
};

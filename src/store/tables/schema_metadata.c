/*
 * Columns of what describes a profile and its machines.
 */
#include "store/tables/schema_parts.h"

const struct field tracks_fields[] = {
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

const struct field event_types_fields[] = {
    [TYPE_ID] = ALWAYS(INT64, "id", "", "Id of the event type.", "17"),
    [TYPE_NAME] = ALWAYS(NAME, "name", "", "Event name.", "%fusion.12 = f32[8]{0} fusion(...)"),
    [TYPE_DISPLAY_NAME] = MAYBE(NAME, "display_name", "", "Short name for display.", "fusion.12"),
    [TYPE_ATTRIBUTES] = MAYBE(TEXT, "attributes_json", "", "Attributes of the event type, as JSON.",
                              "{\"flops\":1024}"),
    [TYPE_KIND] = ONE_OF(true, "role", "What its events are.", "operator",
                         "operator, annotation, module, step, kernel, copy, set, profiler, "
                         "capture, flow, other"),
};

const struct field cpu_usage_fields[] = {
    [CPU_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "Time, relative to the start of the profile.", "81340"),
    [CPU_PERCENT] = ALWAYS(FLOAT32, "util_percent", "%", "CPU utilization.", "63.5"),
    [CPU_ID] = ALWAYS(NAME, "cpu_id", "", "CPU, or all.", "cpu7"),
    [CPU_INSTANCE] = ALWAYS(NAME, "instance_id", "", "Host.", "host0"),
    [CPU_ULTRASERVER] = MAYBE(INT64, "ultraserver_id", "", "Ultraserver of the host.", "1"),
    [CPU_ULTRASERVER_INDEX] = MAYBE(INT64, "ultraserver_instance_index", "",
                                    "Index of the host in the ultraserver.", "0"),
};

const struct field host_memory_fields[] = {
    [MEMORY_TIME] =
        ALWAYS(INT64, "timestamp", "ns", "Time, relative to the start of the profile.", "81340"),
    /* The published schema requires both; what was not recorded is not 0. */
    [MEMORY_USED] = MAYBE(INT64, "used_bytes", "B", "Memory in use.", "68719476736"),
    [MEMORY_PERCENT] =
        MAYBE(FLOAT32, "used_percent", "%", "Memory in use relative to total memory.", "25"),
    [MEMORY_INSTANCE] = ALWAYS(NAME, "instance_id", "", "Host.", "host0"),
    [MEMORY_ULTRASERVER] = MAYBE(INT64, "ultraserver_id", "", "Ultraserver of the host.", "1"),
    [MEMORY_ULTRASERVER_INDEX] = MAYBE(INT64, "ultraserver_instance_index", "",
                                       "Index of the host in the ultraserver.", "0"),
};

const struct field system_metadata_fields[] = {
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

const struct field metadata_fields[] = {
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

const struct field warnings_fields[] = {
    [WARNING_MESSAGE] =
        ALWAYS(TEXT, "message", "", "Text of the warning.", "2 events were dropped"),
    [WARNING_CATEGORY] = ONE_OF(true, "category", "Severity.", "warning", "warning, error"),
};

const struct field schema_fields_fields[] = {
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

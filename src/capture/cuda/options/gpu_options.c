/*
 * The table of options and their values.
 */
#include "capture/cuda/options/gpu_options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum key {
    DETAIL,
    CALLS,
    MOST_CALLS,
    MOST_ACTIVITIES,
    MOST_ANNOTATIONS,
    NVTX,
    GRAPH_TRACE,
    COUNTERS,
    COUNTER_INTERVAL,
    COUNTER_BUFFER,
    DEVICES,
    NODES,
    SAMPLE_INTERVAL,
};
static_assert(SAMPLE_INTERVAL + 1 == GPU_KEYS, "one entry for each");

static const char *const details[] = {"graph", "kernel", "sampled", NULL};
static const char *const switches[] = {"true", "false", NULL};

const struct gpu_option_key gpu_keys[GPU_KEYS] = {
    [DETAIL] = {"gpu_detail", "gpu-detail", "KYMO_GPU_DETAIL", "LEVEL",
                "what to record of CUDA graphs: graph, kernel or sampled[=MS/S], kernels for MS ms "
                "of every S s (default: kernel)",
                details},
    [CALLS] = {"gpu_api_calls", "gpu-api-calls", "KYMO_GPU_API_CALLS", "NAMES",
               "record these CUDA calls as well, such as cudaMalloc,cuMemAlloc; launches are "
               "always recorded",
               NULL},
    [MOST_CALLS] = {"gpu_max_callback_api_events", "gpu-max-callback-api-events",
                    "KYMO_GPU_MAX_CALLBACK_API_EVENTS", "N",
                    "keep at most the first N CUDA calls (default: all)", NULL},
    [MOST_ACTIVITIES] = {"gpu_max_activity_api_events", "gpu-max-activity-api-events",
                         "KYMO_GPU_MAX_ACTIVITY_API_EVENTS", "N",
                         "keep at most the first N kernels, copies and waits (default: all)", NULL},
    [MOST_ANNOTATIONS] = {"gpu_max_annotation_strings", "gpu-max-annotation-strings",
                          "KYMO_GPU_MAX_ANNOTATION_STRINGS", "N",
                          "keep at most N operation names for nodes of CUDA graphs (default: all)",
                          NULL},
    [NVTX] = {"gpu_enable_nvtx_tracking", "gpu-enable-nvtx-tracking",
              "KYMO_GPU_ENABLE_NVTX_TRACKING", "BOOL",
              "record NVTX ranges, which also name kernels (default: true)", switches},
    [GRAPH_TRACE] = {"gpu_enable_cupti_activity_graph_trace",
                     "gpu-enable-cupti-activity-graph-trace",
                     "KYMO_GPU_ENABLE_CUPTI_ACTIVITY_GRAPH_TRACE", "BOOL",
                     "the same as --gpu-detail graph (default: false)", switches},
    [COUNTERS] =
        {"gpu_pm_sample_counters", "gpu-pm-sample-counters", "KYMO_GPU_PM_SAMPLE_COUNTERS", "NAMES",
         "sample these hardware counters (CUPTI metrics); the word default stands for how busy "
         "SMs, tensor cores, memory and links are (default: none)",
         NULL},
    [COUNTER_INTERVAL] = {"gpu_pm_sample_interval_us", "gpu-pm-sample-interval-us",
                          "KYMO_GPU_PM_SAMPLE_INTERVAL_US", "US",
                          "sample hardware counters at this interval (default: 500)", NULL},
    [COUNTER_BUFFER] = {"gpu_pm_sample_buffer_size_per_gpu_mb",
                        "gpu-pm-sample-buffer-size-per-gpu-mb",
                        "KYMO_GPU_PM_SAMPLE_BUFFER_SIZE_PER_GPU_MB", "MB",
                        "the buffer in which the GPU keeps samples until they are read (default: "
                        "64)",
                        NULL},
    [DEVICES] =
        {"gpu_num_chips_to_profile_per_task", "gpu-num-chips-to-profile-per-task",
         "KYMO_GPU_NUM_CHIPS_TO_PROFILE_PER_TASK", "N",
         "record only the first N GPUs of each process; all if N is 0, negative or more than there "
         "are (default: 0)",
         NULL},
    [NODES] = {"gpu_dump_graph_node_mapping", "gpu-dump-graph-node-mapping",
               "KYMO_GPU_DUMP_GRAPH_NODE_MAPPING", "BOOL",
               "record the operations that CUDA graph nodes come from (default: true)", switches},
    [SAMPLE_INTERVAL] = {"gpu_counter_interval_ms", "gpu-counter-interval-ms",
                         "KYMO_GPU_COUNTER_INTERVAL_MS", "MS",
                         "sample power, clocks, temperature, memory, utilization, PCIe and NVLink "
                         "at this interval (default: 100; 0: never)",
                         NULL},
};

/* A number at the start of the text; *end is behind it. */
static bool read_number(const char *text, uint64_t *number, const char **end)
{
    char *behind;
    errno = 0;
    *number = strtoull(text, &behind, 10);
    *end = behind;
    return errno == 0 && *text >= '0' && *text <= '9';
}

static bool set_number(uint64_t *to, const char *value, struct error *err)
{
    const char *end;
    uint64_t number;
    if (!read_number(value, &number, &end) || *end)
        return error_set(err, "'%s' is not a number", value);
    *to = number;
    return true;
}

/* XProf records all GPUs when the number is not one of GPUs: none or negative; more than there are
 * is the same. */
static bool set_devices(uint64_t *to, const char *value, struct error *err)
{
    bool is_negative = value[0] == '-';
    uint64_t number = 0;
    if (!set_number(&number, value + is_negative, err))
        return error_set(err, "'%s' is not a number", value);
    *to = is_negative ? 0 : number;
    return true;
}

static bool set_switch(bool *to, const char *value, struct error *err)
{
    bool is_on = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    if (!is_on && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
        return error_set(err, "'%s' is neither true nor false", value);
    *to = is_on;
    return true;
}

static bool set_interval(uint64_t *to, const char *value, struct error *err)
{
    enum { MOST_MS = 86400000 };
    uint64_t number = 0;
    if (!set_number(&number, value, err))
        return false;
    if (number > MOST_MS)
        return error_set(err, "'%s' is more than a day, %d ms", value, MOST_MS);
    *to = number;
    return true;
}

/* A number other than 0. */
static bool set_amount(uint64_t *to, const char *value, uint64_t most, struct error *err)
{
    uint64_t number = 0;
    if (!set_number(&number, value, err))
        return false;
    if (number == 0 || number > most)
        return error_set(err, "'%s' is not from 1 to %llu", value, (unsigned long long)most);
    *to = number;
    return true;
}

/* MS/S */
static bool set_windows(struct gpu_options *options, const char *value, struct error *err)
{
    enum { MS_PER_S = 1000, NS_PER_MS = 1000000, MOST_S = 86400 };
    uint64_t ms, s;
    const char *end;
    if (!read_number(value, &ms, &end) || *end != '/' || !read_number(end + 1, &s, &end) || *end)
        return error_set(err, "'sampled=%s' is not sampled=MS/S, such as sampled=50/1", value);
    if (ms == 0 || s == 0 || s > MOST_S || ms >= s * MS_PER_S)
        return error_set(err, "'sampled=%s': %llu ms do not fit into %llu s", value,
                         (unsigned long long)ms, (unsigned long long)s);
    options->window_ns = ms * NS_PER_MS;
    options->period_ns = s * MS_PER_S * NS_PER_MS;
    return true;
}

static bool set_detail(struct gpu_options *options, const char *value, struct error *err)
{
    static const char sampled[] = "sampled=";
    options->has_detail = true;
    if (strncmp(value, sampled, sizeof sampled - 1) == 0) {
        options->detail = GPU_SAMPLED;
        return set_windows(options, value + sizeof sampled - 1, err);
    }
    for (int i = 0; details[i]; i++)
        if (strcmp(value, details[i]) == 0) {
            options->detail = (enum gpu_detail)i;
            return true;
        }
    return error_set(err, "'%s' is not graph, kernel or sampled[=MS/S]", value);
}

/* Names are letters and digits; only CUPTI knows which of them are calls. */
static bool set_calls(const char **to, const char *value, struct error *err)
{
    for (const char *c = value; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != ',')
            return error_set(err, "'%s' is not a list of calls, such as cudaMalloc,cuMemAlloc",
                             value);
    *to = value;
    return true;
}

/* Only CUPTI knows which names are metrics of a device. */
static bool set_metrics(const char **to, const char *value, struct error *err)
{
    bool has_name = false;
    for (const char *c = value; *c; c++) {
        bool is_of_name = isalnum((unsigned char)*c) || *c == '_' || *c == '.';
        if (!is_of_name && *c != ',')
            return error_set(err,
                             "'%s' is not a list of metrics, such as "
                             "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
                             value);
        has_name = has_name || is_of_name;
    }
    if (!has_name)
        return error_set(err, "no metric in '%s'", value);
    *to = value;
    return true;
}

/* Values are checked here, before the program starts, so that a typo is an error and not a capture
 * without the option. */
bool gpu_option_set(struct gpu_options *options, size_t key, const char *value, struct error *err)
{
    enum { MOST_INTERVAL_US = 1000000, MOST_BUFFER_MB = 4096 };
    switch ((enum key)key) {
    case DETAIL:
        return set_detail(options, value, err);
    case CALLS:
        return set_calls(&options->calls, value, err);
    case MOST_CALLS:
        return set_number(&options->most_calls, value, err);
    case MOST_ACTIVITIES:
        return set_number(&options->most_activities, value, err);
    case MOST_ANNOTATIONS:
        return set_number(&options->most_annotations, value, err);
    case NVTX:
        return set_switch(&options->nvtx, value, err);
    case GRAPH_TRACE:
        return set_switch(&options->graph_trace, value, err);
    case COUNTERS:
        return set_metrics(&options->metrics, value, err);
    case COUNTER_INTERVAL:
        return set_amount(&options->metric_interval_us, value, MOST_INTERVAL_US, err);
    case COUNTER_BUFFER:
        return set_amount(&options->metric_buffer_mb, value, MOST_BUFFER_MB, err);
    case DEVICES:
        return set_devices(&options->devices, value, err);
    case SAMPLE_INTERVAL:
        return set_interval(&options->counter_interval_ms, value, err);
    default:
        return set_switch(&options->nodes, value, err);
    }
}

bool gpu_options_check(const struct gpu_options *options, struct error *err)
{
    bool has_detail = options->graph_trace && options->has_detail;
    if (has_detail && options->detail != GPU_GRAPHS)
        return error_set(err,
                         "gpu_enable_cupti_activity_graph_trace=true and gpu_detail=%s contradict "
                         "each other",
                         details[options->detail]);
    if (!options->metrics && (options->metric_interval_us || options->metric_buffer_mb))
        return error_set(
            err, "%s has no effect without gpu_pm_sample_counters",
            gpu_keys[options->metric_interval_us ? COUNTER_INTERVAL : COUNTER_BUFFER].name);
    return true;
}

void gpu_options_from_environment(struct gpu_options *options,
                                  void (*complain)(const struct error *err))
{
    struct error err, named;
    for (size_t i = 0; i < GPU_KEYS; i++) {
        const char *value = secure_getenv(gpu_keys[i].variable);
        if (!value || !*value || gpu_option_set(options, i, value, &err))
            continue;
        error_set(&named, "%s: %s", gpu_keys[i].variable, err.text);
        complain(&named);
    }
    if (!gpu_options_check(options, &err))
        complain(&err);
    if (options->graph_trace)
        options->detail = GPU_GRAPHS;
}

/*
 * kymo view: processes a capture into a profile and shows it, or writes another format.
 */
#include "cli/fleet_options.h"
#include "cli/view_options.h"
#include "report/fleet/fleet.h"
#include "serve/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

static int view(int count, char **arguments);

const struct command command_view = {
    .name = "view",
    .summary = "Process a capture into a profile and show it, or write another format.",
    .about =
        "Processes a capture into a profile in the workspace: tables in Parquet files and "
        "a timeline index. Prints a summary and serves the profile as a web page until ctrl-c or "
        "SIGTERM; --ingest-only ends before that. Without a capture, all profiles of the "
        "workspace are served.\n\n"
        "Captures are recordings of kymo inspect, XPlane files and sessions of JAX, XLA "
        "and TPUs, traces of PyTorch and others in Chrome format, and system traces and "
        "profiles of the Neuron tools as JSON or Parquet, and device profiles (NTFF) with "
        "their NEFF; uncompressed, or compressed with "
        "gzip or zstd. The format is detected from the content, not the name.\n\n"
        "Other output formats replace the profile: a summary as text or JSON, all data as "
        "JSON, a Perfetto trace, or points for InfluxDB. dataset adds the tables to those of "
        "other ranks, as kymo fleet add does.\n\n"
        "No database is needed to view a profile. As with neuron-profile, --db-bucket also "
        "names the profile and its address; with --db-endpoint or --db-org the events are "
        "also written to that InfluxDB, and then shown.",
    .usage = "[options] [PATH]",
    .examples =
        (const char *const[]){
            "run.xplane.pb",
            "run.xplane.pb --port 3001",
            "-n file.neff -s profile.ntff",
            "-d logs/plugins/profile/2026_11_14_22_42_23 --display-name gpt --ingest-only",
            "logs --output-format summary-json | jq .devices",
            "run.xplane.pb.gz --output-format json --output-file run.json",
            "run.xplane.pb --output-format parquet --output-file tables",
            "run.xplane.pb --output-format perfetto --output-file run.pftrace",
            "rank-3.json.gz --output-format dataset --output-file runs --run night",
            "run.xplane.pb --output-format db --db-org lab --db-bucket profiles",
            NULL,
        },
    .run = view,
};

static const char *const formats[] = {"parquet",  "summary-text", "summary-json", "json",
                                      "perfetto", "db",           "dataset",      NULL};

#define NO_PROGRESS ULONG_MAX

enum { DB_DEFAULT_TIMEOUT = 60, DB_MAX_TIMEOUT = 86400 };

static int read_lists(struct view_options *options)
{
    struct error err;
    options->choice.part = options->ignore_devices  ? CAPTURE_SYSTEM
                           : options->ignore_system ? CAPTURE_DEVICES
                                                    : CAPTURE_ALL;
    options->perfetto.has_flows = options->flows;
    options->perfetto.has_gpu_stages = options->gpu_stages;
    if (group_fields_read(
            &options->perfetto.primary,
            options->primary_group ? options->primary_group : "instance_id,process_id", &err) &&
        group_fields_read(&options->perfetto.secondary,
                          options->secondary_group ? options->secondary_group
                                                   : "worker_gid,lnc_idx,thread_id",
                          &err) &&
        filter_check(&options->choice.filter, &err))
        return EXIT_DONE;
    fprintf(stderr, "%s view: %s\n", program_name(), err.text);
    return EXIT_USAGE;
}

/* Before anything is read: a capture can take minutes. */
static int check_db_options(const struct view_options *options)
{
    const char *endpoint = named_or(options->db_endpoint, "INFLUX_HOST", "http:");
    const char *given = options->db_endpoint                        ? "db-endpoint"
                        : options->db_org                           ? "db-org"
                        : options->db_bucket                        ? "db-bucket"
                        : options->db_timeout != DB_DEFAULT_TIMEOUT ? "db-timeout"
                                                                    : NULL;
    bool is_db = view_fills_database(options);
    if (given && !is_db && !is_format(options, "parquet"))
        fprintf(stderr, "%s view: --%s requires --output-format db or parquet\n", program_name(),
                given);
    else if (is_format(options, "db") && options->file)
        fprintf(stderr, "%s view: --output-file cannot be used with --output-format db\n",
                program_name());
    else if (is_db && strncmp(endpoint, "http:", 5) != 0 && strncmp(endpoint, "https:", 6) != 0)
        fprintf(stderr,
                "%s view: --db-endpoint must be http://HOST:PORT or https://HOST:PORT, not %s\n",
                program_name(), endpoint);
    else if (is_db && (options->db_timeout == 0 || options->db_timeout > DB_MAX_TIMEOUT))
        fprintf(stderr, "%s view: --db-timeout must be 1 to %d seconds\n", program_name(),
                DB_MAX_TIMEOUT);
    else if (is_db && options->display_name &&
             (!options->display_name[0] || strlen(options->display_name) >= PROFILE_NAME_SIZE))
        fprintf(stderr, "%s view: --display-name must be 1 to %d bytes long\n", program_name(),
                PROFILE_NAME_SIZE - 1);
    else
        return EXIT_DONE;
    return EXIT_USAGE;
}

/* A dataset has whole ranks: options that leave out parts of a capture are refused. */
static int check_dataset_options(const struct view_options *options)
{
    const char *only = options->run                 ? "run"
                       : options->instance          ? "instance"
                       : options->rank != NOT_GIVEN ? "rank"
                                                    : NULL;
    const struct choice *choice = &options->choice;
    const char *refused = choice->filter.cores       ? "system-trace-filter-neuron-core"
                          : choice->filter.types     ? "system-trace-filter-event-type"
                          : choice->filter.instances ? "system-trace-filter-instance-id"
                          : choice->neff             ? "neff-path"
                          : choice->nki_source_root  ? "nki-source-root"
                          : choice->tracks_memory    ? "enable-memory-tracker"
                          : options->ignore_system   ? "ignore-system-profile"
                          : options->ignore_devices  ? "ignore-device-profile"
                                                     : NULL;
    bool is_dataset = is_format(options, "dataset");
    if (only && !is_dataset)
        fprintf(stderr, "%s view: --%s requires --output-format dataset\n", program_name(), only);
    else if (is_dataset && refused)
        fprintf(stderr, "%s view: --%s cannot be used with --output-format dataset\n",
                program_name(), refused);
    else if (is_dataset && !options->file)
        fprintf(stderr, "%s view: --output-format dataset requires --output-file DIR\n",
                program_name());
    else
        return EXIT_DONE;
    return EXIT_USAGE;
}

/* Rejects combinations of options that contradict each other. */
static int check_options(const struct view_options *options)
{
    const char *for_perfetto = options->primary_group     ? "system-trace-primary-group"
                               : options->secondary_group ? "system-trace-secondary-group"
                               : options->flows           ? "show-perfetto-flows"
                               : options->gpu_stages      ? "perfetto-gpu-stages"
                                                          : NULL;
    if (for_perfetto && !is_format(options, "perfetto")) {
        fprintf(stderr, "%s view: --%s requires --output-format perfetto\n", program_name(),
                for_perfetto);
        return EXIT_USAGE;
    }
    if (options->ignore_system && options->ignore_devices) {
        fprintf(stderr,
                "%s view: --ignore-system-profile and --ignore-device-profile cannot be combined\n",
                program_name());
        return EXIT_USAGE;
    }
    bool is_summary = is_format(options, "summary-text") || is_format(options, "summary-json");
    if (options->choice.tracks_memory && (is_summary || options->ignore_devices)) {
        fprintf(stderr, "%s view: --enable-memory-tracker cannot be combined with %s\n",
                program_name(),
                is_summary ? "a summary; use --output-format parquet, json, perfetto or db"
                           : "--ignore-device-profile");
        return EXIT_USAGE;
    }
    if (options->serving.source_root && !is_format(options, "parquet")) {
        fprintf(stderr, "%s view: --framework-source-root requires --output-format parquet\n",
                program_name());
        return EXIT_USAGE;
    }
    if (check_dataset_options(options) != EXIT_DONE)
        return EXIT_USAGE;
    bool takes_force = is_format(options, "parquet") || is_format(options, "dataset");
    const char *given = options->data_path               ? "data-path"
                        : is_format(options, "db")       ? NULL /* --display-name applies */
                        : options->display_name          ? "display-name"
                        : options->force && !takes_force ? "force"
                        : options->ingest_only           ? "ingest-only"
                                                         : NULL;
    if (given && !is_format(options, "parquet")) {
        fprintf(stderr, "%s view: --%s requires --output-format parquet\n", program_name(), given);
        return EXIT_USAGE;
    }
    if (check_db_options(options) != EXIT_DONE)
        return EXIT_USAGE;
    if (options->file && (options->display_name || options->data_path) &&
        is_format(options, "parquet")) {
        fprintf(stderr,
                "%s view: --output-file names the output directory; it cannot be used with "
                "--display-name or --data-path\n",
                program_name());
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static int begin_progress(const struct view_options *options)
{
    if (options->progress_fd == NO_PROGRESS)
        return EXIT_DONE;
    if (options->progress_fd > INT_MAX || fcntl((int)options->progress_fd, F_GETFD) < 0) {
        fprintf(stderr, "%s view: --progress-fd is not an open file descriptor\n", program_name());
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* the reader of --progress-fd may exit */
    progress_set_fd((int)options->progress_fd);
    return EXIT_DONE;
}

/* The capture given by operand or options, NULL if none; false if several. */
static bool one_capture(const struct view_options *options, const char *operand, const char **path)
{
    *path = operand ? operand : options->directory ? options->directory : options->session_file;
    return (operand != NULL) + (options->directory != NULL) + (options->session_file != NULL) <= 1;
}

/* In order of what needs least: no capture, one NTFF file, the workspace, then outputs that process
 * a capture. */
static int run_view(const struct view_options *options, const char *operand)
{
    if (options->terminology)
        return view_terminology();
    if (view_is_device_document(options))
        return view_device_document(options);
    const char *path;
    bool is_one = one_capture(options, operand, &path);
    if (is_one && !path && view_is_served(options))
        return serving_run(&options->serving, options->data_path, NULL, NULL);
    if (!is_one || !path) {
        fprintf(stderr, "%s view: one capture is needed: PATH, -d DIR or -s FILE\n",
                program_name());
        return EXIT_USAGE;
    }
    if (view_fills_database(options)) {
        int result = view_database(path, options);
        if (result != EXIT_DONE || is_format(options, "db"))
            return result;
    }
    if (is_format(options, "dataset"))
        return fleet_add(&(struct fleet_options){.dataset = options->file,
                                                 .operands = &path,
                                                 .operand_count = 1,
                                                 .run = options->run,
                                                 .instance = options->instance,
                                                 .rank = options->rank,
                                                 .jobs = options->jobs,
                                                 .force = options->force});
    struct error ignored;
    if (is_format(options, "parquet") && view_is_served(options) && dataset_check(path, &ignored))
        return serve_logs(path, options->data_path, &options->serving);
    return is_format(options, "parquet") ? view_profile(path, options)
                                         : view_document(path, options);
}

static struct view_options default_options(void)
{
    return (struct view_options){.format = formats[0],
                                 .top = 15,
                                 .db_timeout = DB_DEFAULT_TIMEOUT,
                                 .serving = SERVING_DEFAULTS,
                                 .progress_fd = NO_PROGRESS,
                                 .rank = NOT_GIVEN};
}

static int check_and_run(struct view_options *options, const char *operand)
{
    options->serving.nki_source_root = options->choice.nki_source_root;
    if (is_format(options, "parquet") && !options->display_name && !options->file)
        options->display_name = options->db_bucket;
    int result = check_options(options);
    if (result == EXIT_DONE)
        result = read_lists(options);
    if (result == EXIT_DONE)
        result = serving_check(&command_view, &options->serving);
    if (result == EXIT_DONE)
        result = begin_progress(options);
    return result == EXIT_DONE ? run_view(options, operand) : result;
}

/* Options have the names of neuron-profile's and neuron-explorer's where those have them. */
static int view(int count, char **arguments)
{
    struct view_options options = default_options();
    const struct option table[] = {
        {"session-dir", 'd', OPTION_TEXT, &options.directory, "DIR",
         "the capture, a directory; same as PATH, but json and perfetto without --output-file "
         "write "
         "system_profile and device_profile_model_ID files",
         NULL},
        {"session-file", 's', OPTION_TEXT, &options.session_file, "FILE",
         "the capture, a file; same as PATH", NULL},
        {"neff-path", 'n', OPTION_TEXT, &options.choice.neff, "FILE",
         "the executable (NEFF) of NTFF files (default: found beside them by UUID)", NULL},
        {"output-format", 0, OPTION_CHOICE, &options.format, "FORMAT",
         "output format (default: parquet)", formats},
        {"output-file", 0, OPTION_TEXT, &options.file, "FILE",
         "output file (default: standard output); with parquet, a directory instead of the "
         "workspace; with dataset, its directory",
         NULL},
        {"run", 0, OPTION_TEXT, &options.run, "NAME",
         "dataset: name of the run (default: that of the capture's directory)", NULL},
        {"rank", 0, OPTION_NUMBER, &options.rank, "N",
         "dataset: number of the rank (default: found in the capture)", NULL},
        {"instance", 0, OPTION_TEXT, &options.instance, "NAME",
         "dataset: machine the rank ran on (default: found in the capture)", NULL},
        {"display-name", 0, OPTION_TEXT, &options.display_name, "NAME",
         "name of the profile (default: derived from the contents)", NULL},
        {"data-path", 0, OPTION_TEXT, &options.data_path, "DIR",
         "workspace directory (default: ~/.local/share/kymo)", NULL},
        {"force", 0, OPTION_FLAG, &options.force, NULL,
         "replace an existing profile, or a rank of a dataset", NULL},
        {"ingest-only", 0, OPTION_FLAG, &options.ingest_only, NULL,
         "process the capture without showing it", NULL},
        {"system-trace-filter-neuron-core", 0, OPTION_TEXT, &options.choice.filter.cores, "CORES",
         "only these cores or devices, e.g. 0,2,4-7; numbered per host", NULL},
        {"system-trace-filter-event-type", 0, OPTION_TEXT, &options.choice.filter.types, "TYPES",
         "only these event types; also hardware, software", NULL},
        {"system-trace-filter-instance-id", 0, OPTION_TEXT, &options.choice.filter.instances,
         "NAMES", "only these hosts", NULL},
        {"ignore-system-profile", 0, OPTION_FLAG, &options.ignore_system, NULL,
         "skip system profiles", NULL},
        {"ignore-device-profile", 0, OPTION_FLAG, &options.ignore_devices, NULL,
         "skip device profiles", NULL},
        {"system-trace-primary-group", 0, OPTION_TEXT, &options.primary_group, "FIELDS",
         "fields that define a process in Perfetto (default: instance_id,process_id)", NULL},
        {"system-trace-secondary-group", 0, OPTION_TEXT, &options.secondary_group, "FIELDS",
         "fields that define a thread in Perfetto (default: worker_gid,lnc_idx,thread_id)", NULL},
        {"show-perfetto-flows", 0, OPTION_FLAG, &options.flows, NULL,
         "write flow arrows between causes and effects", NULL},
        {"perfetto-gpu-stages", 0, OPTION_FLAG, &options.gpu_stages, NULL,
         "write GPU streams and counters as Perfetto's GPU render stages and counters, instead of "
         "as tracks",
         NULL},
        {"db-endpoint", 0, OPTION_TEXT, &options.db_endpoint, "URL",
         "InfluxDB server (default: $INFLUX_HOST or http://localhost:8086); token in $INFLUX_TOKEN",
         NULL},
        {"db-org", 0, OPTION_TEXT, &options.db_org, "NAME",
         "InfluxDB organization (default: $INFLUX_ORG or kymo)", NULL},
        {"db-bucket", 0, OPTION_TEXT, &options.db_bucket, "NAME",
         "InfluxDB bucket (default: $INFLUX_BUCKET_NAME or kymo); also names the profile", NULL},
        {"db-timeout", 0, OPTION_NUMBER, &options.db_timeout, "SECONDS",
         "how long to retry an unresponsive server (default: 60)", NULL},
        {"nki-source-root", 0, OPTION_TEXT, &options.choice.nki_source_root, "DIR",
         "directory of the source files of NKI kernels", NULL},
        {"enable-memory-tracker", 0, OPTION_FLAG, &options.choice.tracks_memory, NULL,
         "device profiles: track scratchpad use over time, by tensor", NULL},
        {"terminology", 0, OPTION_FLAG, &options.terminology, NULL,
         "print what each metric of device profiles means", NULL},
        {"json-pretty-print", 0, OPTION_FLAG, &options.pretty, NULL, "indent JSON", NULL},
        {"top", 0, OPTION_NUMBER, &options.top, "N", "rows per table of the summary (default: 15)",
         NULL},
        SERVING_OPTIONS(options.serving),
        {"progress-fd", 0, OPTION_NUMBER, &options.progress_fd, "N",
         "write progress in percent to this file descriptor, one line each", NULL},
        LIMIT_OPTIONS,
        LOG_LEVEL_OPTION,
        {"jobs", 'j', OPTION_NUMBER, &options.jobs, "N", "threads to use (default: all cores)",
         NULL},
    };
    const char *path = NULL;
    size_t operands;
    int result = options_read(&command_view, table, sizeof table / sizeof *table, count, arguments,
                              &path, 1, &operands);
    return result == EXIT_DONE ? check_and_run(&options, path) : result;
}

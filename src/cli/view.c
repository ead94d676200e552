/*
 * kymo view: processes a capture into a profile and shows it, or writes it in another form.
 */
#include "cli/view_options.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

static int view(int count, char **arguments);

const struct command command_view = {
    .name = "view",
    .summary = "Process a capture into a profile and show it, or write another format.",
    .usage = "[options] [PATH]",
    .examples =
        (const char *const[]){
            "run.xplane.pb",
            "run.xplane.pb --port 3001",
            "-d logs/plugins/profile/2026_11_14_22_42_23 --display-name gpt --ingest-only",
            "logs --output-format summary-json | jq .devices",
            "run.xplane.pb.gz --output-format json --output-file run.json",
            "run.xplane.pb --output-format parquet --output-file tables",
            "run.xplane.pb --output-format perfetto --output-file run.pftrace",
            "run.xplane.pb --output-format db --db-org lab --db-bucket profiles",
            NULL,
        },
    .run = view,
};

static const char *const formats[] = {
    "parquet", "summary-text", "summary-json", "json", "perfetto", "db", NULL};

#define NO_PROGRESS ULONG_MAX

enum { DB_USUAL_TIMEOUT = 60, DB_LONGEST_TIMEOUT = 86400 };

static int read_lists(struct view_options *options)
{
    struct error err;
    options->choice.part = options->ignore_devices  ? CAPTURE_SYSTEM
                           : options->ignore_system ? CAPTURE_DEVICES
                                                    : CAPTURE_ALL;
    options->perfetto.has_flows = options->flows;
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

static int check_db_options(const struct view_options *options)
{
    const char *endpoint = named_or(options->db_endpoint, "INFLUX_HOST", "http:");
    const char *given = options->db_endpoint                      ? "db-endpoint"
                        : options->db_org                         ? "db-org"
                        : options->db_bucket                      ? "db-bucket"
                        : options->db_timeout != DB_USUAL_TIMEOUT ? "db-timeout"
                                                                  : NULL;
    bool is_db = is_format(options, "db");
    if (given && !is_db)
        fprintf(stderr, "%s view: --%s goes with --output-format db only\n", program_name(), given);
    else if (is_db && options->file)
        fprintf(stderr, "%s view: --output-file does not go with --output-format db\n",
                program_name());
    else if (is_db && strncmp(endpoint, "http:", 5) != 0 && strncmp(endpoint, "https:", 6) != 0)
        fprintf(stderr, "%s view: --db-endpoint is http://HOST:PORT or https://HOST:PORT, not %s\n",
                program_name(), endpoint);
    else if (is_db && (options->db_timeout == 0 || options->db_timeout > DB_LONGEST_TIMEOUT))
        fprintf(stderr, "%s view: --db-timeout is 1 to %d seconds\n", program_name(),
                DB_LONGEST_TIMEOUT);
    else if (is_db && options->display_name &&
             (!options->display_name[0] || strlen(options->display_name) >= PROFILE_NAME_SIZE))
        fprintf(stderr, "%s view: --display-name must have 1 to %d bytes\n", program_name(),
                PROFILE_NAME_SIZE - 1);
    else
        return EXIT_DONE;
    return EXIT_USAGE;
}

/* Options that say something about a profile mean nothing for a document. */
static int check_options(const struct view_options *options)
{
    const char *for_perfetto = options->primary_group     ? "system-trace-primary-group"
                               : options->secondary_group ? "system-trace-secondary-group"
                               : options->flows           ? "show-perfetto-flows"
                                                          : NULL;
    if (for_perfetto && !is_format(options, "perfetto")) {
        fprintf(stderr, "%s view: --%s goes with --output-format perfetto only\n", program_name(),
                for_perfetto);
        return EXIT_USAGE;
    }
    if (options->ignore_system && options->ignore_devices) {
        fprintf(stderr,
                "%s view: --ignore-system-profile and --ignore-device-profile leave nothing\n",
                program_name());
        return EXIT_USAGE;
    }
    const char *given = options->data_path         ? "data-path"
                        : is_format(options, "db") ? NULL /* has profiles of names, too */
                        : options->display_name    ? "display-name"
                        : options->force           ? "force"
                        : options->ingest_only     ? "ingest-only"
                                                   : NULL;
    if (given && !is_format(options, "parquet")) {
        fprintf(stderr, "%s view: --%s goes with --output-format parquet only\n", program_name(),
                given);
        return EXIT_USAGE;
    }
    if (check_db_options(options) != EXIT_DONE)
        return EXIT_USAGE;
    if (options->file && (options->display_name || options->data_path) &&
        is_format(options, "parquet")) {
        fprintf(stderr,
                "%s view: --output-file names the directory; --display-name and "
                "--data-path do not go with it\n",
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
        fprintf(stderr, "%s view: --progress-fd is no open file descriptor\n", program_name());
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* whoever listened may go away */
    progress_tell((int)options->progress_fd);
    return EXIT_DONE;
}

/* What the operands and options name, the capture; NULL for none. False when there are several. */
static bool one_capture(const struct view_options *options, const char *operand, const char **path)
{
    *path = operand ? operand : options->directory ? options->directory : options->session_file;
    return (operand != NULL) + (options->directory != NULL) + (options->session_file != NULL) <= 1;
}

static int run_view(const struct view_options *options, const char *operand)
{
    const char *path;
    bool is_one = one_capture(options, operand, &path);
    if (is_one && !path && view_is_served(options))
        return serving_run(&options->serving, options->data_path, NULL, NULL);
    if (!is_one || !path) {
        fprintf(stderr, "%s view: name one capture, as PATH, with -d DIR or with -s FILE%s\n",
                program_name(), path ? "" : "; or serve all profiles with --port 3001");
        return EXIT_USAGE;
    }
    if (options->neff) {
        log_fatal("%s: goes with an NTFF file, as the hardware writes it; Kymo does not read these "
                  "yet, but the JSON and the Parquet tables that Neuron's tools make of them",
                  options->neff);
        return EXIT_FAILED;
    }
    if (is_format(options, "db"))
        return view_database(path, options);
    return is_format(options, "parquet") ? view_profile(path, options)
                                         : view_document(path, options);
}

static int view(int count, char **arguments)
{
    struct view_options options = {.format = formats[0],
                                   .top = 15,
                                   .db_timeout = DB_USUAL_TIMEOUT,
                                   .serving = SERVING_USUAL,
                                   .progress_fd = NO_PROGRESS};
    const struct option table[] = {
        {"session-dir", 'd', OPTION_TEXT, &options.directory, "DIR",
         "the capture, as a directory; the same as PATH", NULL},
        {"session-file", 's', OPTION_TEXT, &options.session_file, "FILE",
         "the capture, as a file; the same as PATH", NULL},
        {"neff-path", 'n', OPTION_TEXT, &options.neff, "FILE",
         "the model that an NTFF file given with -s is of; these are not read yet", NULL},
        {"output-format", 0, OPTION_CHOICE, &options.format, "FORMAT",
         "what to write (default: parquet)", formats},
        {"output-file", 0, OPTION_TEXT, &options.file, "FILE",
         "where to write it (default: standard output; parquet: a directory, in place of the "
         "workspace)",
         NULL},
        {"display-name", 0, OPTION_TEXT, &options.display_name, "NAME",
         "name of the profile (default: made from the contents)", NULL},
        {"data-path", 0, OPTION_TEXT, &options.data_path, "DIR",
         "the workspace (default: ~/.local/share/kymo)", NULL},
        {"force", 0, OPTION_FLAG, &options.force, NULL, "replace a profile that is there", NULL},
        {"ingest-only", 0, OPTION_FLAG, &options.ingest_only, NULL,
         "process the capture and show nothing", NULL},
        {"system-trace-filter-neuron-core", 0, OPTION_TEXT, &options.choice.filter.cores, "CORES",
         "only these cores or devices, as 0,2,4-7; numbered on each machine by itself", NULL},
        {"system-trace-filter-event-type", 0, OPTION_TEXT, &options.choice.filter.types, "TYPES",
         "only events of these names; or hardware, software", NULL},
        {"system-trace-filter-instance-id", 0, OPTION_TEXT, &options.choice.filter.instances,
         "NAMES", "only these machines", NULL},
        {"ignore-system-profile", 0, OPTION_FLAG, &options.ignore_system, NULL,
         "leave out what is not a device's profile", NULL},
        {"ignore-device-profile", 0, OPTION_FLAG, &options.ignore_devices, NULL,
         "leave out the profiles of devices", NULL},
        {"system-trace-primary-group", 0, OPTION_TEXT, &options.primary_group, "FIELDS",
         "what makes a process in Perfetto (default: instance_id,process_id)", NULL},
        {"system-trace-secondary-group", 0, OPTION_TEXT, &options.secondary_group, "FIELDS",
         "what makes a thread there (default: worker_gid,lnc_idx,thread_id)", NULL},
        {"show-perfetto-flows", 0, OPTION_FLAG, &options.flows, NULL,
         "show in Perfetto what made what happen", NULL},
        {"db-endpoint", 0, OPTION_TEXT, &options.db_endpoint, "URL",
         "the InfluxDB server (default: $INFLUX_HOST or http://localhost:8086); $INFLUX_TOKEN is "
         "the token for it",
         NULL},
        {"db-org", 0, OPTION_TEXT, &options.db_org, "NAME",
         "its organization (default: $INFLUX_ORG or kymo)", NULL},
        {"db-bucket", 0, OPTION_TEXT, &options.db_bucket, "NAME",
         "the bucket to write to (default: $INFLUX_BUCKET_NAME or kymo)", NULL},
        {"db-timeout", 0, OPTION_NUMBER, &options.db_timeout, "SECONDS",
         "how long to go on trying with a server that takes nothing (default: 60)", NULL},
        {"json-pretty-print", 0, OPTION_FLAG, &options.pretty, NULL, "indent JSON", NULL},
        {"top", 0, OPTION_NUMBER, &options.top, "N",
         "rows in the rankings of the summary (default: 15)", NULL},
        SERVING_OPTIONS(options.serving),
        {"progress-fd", 0, OPTION_NUMBER, &options.progress_fd, "N",
         "write how far the work is to this file descriptor, in percent, a line each", NULL},
        LOG_LEVEL_OPTION,
        {"jobs", 'j', OPTION_NUMBER, &options.jobs, "N", "threads to use (default: all cores)",
         NULL},
    };
    const char *path = NULL;
    size_t operands;
    int result = options_read(&command_view, table, sizeof table / sizeof *table, count, arguments,
                              &path, 1, &operands);
    if (result == EXIT_DONE)
        result = check_options(&options);
    if (result == EXIT_DONE)
        result = read_lists(&options);
    if (result == EXIT_DONE)
        result = serving_check(&command_view, &options.serving);
    if (result == EXIT_DONE)
        result = begin_progress(&options);
    return result == EXIT_DONE ? run_view(&options, path) : result;
}

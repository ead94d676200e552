/*
 * kymo view: processes a capture into a profile and shows it, or writes it in another form.
 */
#include "cli/cli.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int view(int count, char **arguments);

const struct command command_view = {
    .name = "view",
    .summary = "Process a capture into a profile and show its summary, or write another format.",
    .usage = "[options] PATH",
    .examples =
        (const char *const[]){
            "run.xplane.pb",
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

struct view_options {
    const char *directory, *session_file, *format, *file, *display_name, *data_path;
    const char *primary_group, *secondary_group;
    struct filter filter;
    unsigned long top, jobs;
    bool pretty, force, ingest_only, flows;
    struct perfetto_options perfetto;
    const char *db_endpoint, *db_org, *db_bucket;
    unsigned long db_timeout;
};

enum { DB_USUAL_TIMEOUT = 60, DB_LONGEST_TIMEOUT = 86400 };

static bool is_format(const struct view_options *options, const char *format)
{
    return strcmp(options->format, format) == 0;
}

static bool write_view(struct session *session, const struct view_options *options,
                       struct output *out, struct error *err)
{
    bool to_file = options->file && strcmp(options->file, "-") != 0;
    struct text_style style = style_for(to_file, options->top);
    if (is_format(options, "summary-text")) {
        export_summary_text(&session->analysis, &style, out);
    } else if (is_format(options, "summary-json")) {
        export_summary_json(&session->analysis, options->pretty, out);
    } else {
        struct progress *progress = progress_start(session->source, "writing");
        bool ok = is_format(options, "perfetto")
                      ? export_perfetto(&session->analysis, session->source, session->pool,
                                        &options->perfetto, out, err)
                      : export_json(&session->analysis, session->source, session->pool,
                                    options->pretty, out, err);
        progress_stop(progress);
        return ok;
    }
    return true;
}

/* A Perfetto trace is no text: without a name it goes to a file of the documented name. */
static const char *document_file(const struct view_options *options)
{
    if (options->file || !is_format(options, "perfetto"))
        return options->file;
    return "system_profile.pftrace";
}

/* One document, to a file or to standard output. */
static int view_document(const char *path, const struct view_options *options)
{
    struct error err;
    struct output out;
    if (!output_open(&out, document_file(options), &err)) { /* before the work, not after it */
        print_error(&err);
        return EXIT_FAILED;
    }
    struct session session;
    if (!session_open_filtered(&session, path, options->jobs, &options->filter)) {
        output_discard(&out);
        return EXIT_FAILED;
    }
    bool ok = write_view(&session, options, &out, &err);
    if (ok)
        ok = output_commit(&out, &err);
    else
        output_discard(&out);
    session_close(&session);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

enum { PROFILE_NAME_SIZE = 256 };

/* Where a processed profile goes, and what it is called. */
struct target {
    char name[PROFILE_NAME_SIZE]; /* empty when it goes to a directory the user names */
    char *place;
    bool is_there; /* made from the same files before, and not to be made again */
};

/* The name the user gives, or one made from the contents. */
static bool find_name(const struct view_options *options, const struct session *session,
                      char name[static PROFILE_NAME_SIZE], struct error *err)
{
    if (options->display_name) {
        snprintf(name, PROFILE_NAME_SIZE, "%s", options->display_name);
        return true;
    }
    ARRAY(const char *) paths = {0};
    const struct capture_file *file;
    array_each (file, &session->capture.files)
        *array_push(&paths) = file->path;
    struct output manner; /* a filtered profile is another one */
    const struct filter *filter = &options->filter;
    output_memory(&manner);
    if (!filter_is_empty(filter))
        output_format(&manner, "%s;%s;%s", filter->cores ? filter->cores : "",
                      filter->types ? filter->types : "",
                      filter->instances ? filter->instances : "");
    bool ok = content_name('s', paths.items, paths.count, (struct text){manner.data, manner.size},
                           session->pool, name, err);
    output_discard(&manner);
    array_free(&paths);
    return ok;
}

static bool find_target(const struct view_options *options, const struct session *session,
                        struct target *target, struct error *err)
{
    *target = (struct target){0};
    if (options->file) {
        target->place = mem_copy_text(options->file, strlen(options->file));
        return true;
    }
    if (!find_name(options, session, target->name, err))
        return false;
    if (!profile_place(options->data_path, target->name, &target->place, err))
        return false;
    target->is_there =
        !options->display_name && !options->force && file_is_directory(target->place);
    return true;
}

static bool process(struct session *session, const struct view_options *options,
                    struct target *target, struct error *err)
{
    if (!find_target(options, session, target, err))
        return false;
    if (target->is_there) {
        log_info("processed before; --force does it again");
        return true;
    }
    struct profile_options profile = {.place = target->place,
                                      .name = target->name[0] ? target->name : NULL,
                                      .version = KYMO_VERSION,
                                      .replace = options->force};
    struct progress *progress = progress_start(session->source, "writing");
    bool ok = profile_make(&profile, &session->analysis, session->source, session->pool, err);
    progress_stop(progress);
    return ok;
}

static bool show_summary(const struct session *session, const struct view_options *options,
                         struct error *err)
{
    struct output out;
    struct text_style style = style_for(false, options->top);
    if (!output_open(&out, NULL, err))
        return false;
    export_summary_text(&session->analysis, &style, &out);
    output_char(&out, '\n');
    return output_commit(&out, err);
}

/* A name that is taken is found out before the work, not after it. */
static bool is_free(const struct view_options *options, struct error *err)
{
    char *place = NULL;
    if (options->force || (!options->file && !options->display_name))
        return true;
    if (options->file)
        place = mem_copy_text(options->file, strlen(options->file));
    else if (!profile_place(options->data_path, options->display_name, &place, err))
        return false;
    bool is_free = !file_is_directory(place);
    if (!is_free)
        error_in_file(err, place, "is there already; --force replaces it");
    mem_free(place);
    return is_free;
}

static int view_profile(const char *path, const struct view_options *options)
{
    struct error err;
    struct session session;
    struct target target;
    if (!is_free(options, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    if (!session_open_filtered(&session, path, options->jobs, &options->filter))
        return EXIT_FAILED;
    bool ok = process(&session, options, &target, &err);
    if (ok && !options->ingest_only)
        ok = show_summary(&session, options, &err);
    session_close(&session);
    if (!ok)
        print_error(&err);
    else
        printf("Profile \"%s\" is ready to view\n", target.name[0] ? target.name : target.place);
    mem_free(target.place);
    return ok ? finish_printing() : EXIT_FAILED;
}

static void give_notice(const char *text)
{
    log_info("%s", text);
}

static const char *named_or(const char *given, const char *variable, const char *usual)
{
    const char *value = given ? given : variable ? getenv(variable) : NULL;
    return value && *value ? value : usual;
}

static bool write_points(struct session *session, const struct view_options *options,
                         struct influx *influx, char name[static PROFILE_NAME_SIZE],
                         uint64_t *points, struct error *err)
{
    if (!find_name(options, session, name, err))
        return false;
    struct progress *progress = progress_start(session->source, "writing");
    bool ok = export_influx(&session->analysis, session->source, session->pool, influx, name,
                            options->force, points, err);
    progress_stop(progress);
    return ok;
}

static bool is_there(const char *path, struct error *err)
{
    return access(path, R_OK) == 0 ||
           error_in_file(err, path, "cannot be opened: %s", strerror(errno));
}

/* Into a database; whether it can be written to is found out before the work. */
static int view_database(const char *path, const struct view_options *options)
{
    struct error err;
    struct influx *influx;
    struct session session;
    char name[PROFILE_NAME_SIZE];
    uint64_t points;
    struct influx_options database = {
        .endpoint = named_or(options->db_endpoint, "INFLUX_HOST", "http://localhost:8086"),
        .org = named_or(options->db_org, "INFLUX_ORG", "kymo"),
        .bucket = named_or(options->db_bucket, "INFLUX_BUCKET_NAME", "kymo"),
        .token = getenv("INFLUX_TOKEN"),
        .patience_s = options->db_timeout,
        .notice = give_notice,
    };
    if (!is_there(path, &err) || !influx_open(&influx, &database, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    if (!session_open_filtered(&session, path, options->jobs, &options->filter)) {
        influx_close(influx);
        return EXIT_FAILED;
    }
    bool ok = write_points(&session, options, influx, name, &points, &err);
    session_close(&session);
    influx_close(influx);
    if (!ok) {
        print_error(&err);
        return EXIT_FAILED;
    }
    printf("%llu points written to bucket \"%s\" at %s\nProfile \"%s\" is ready to view\n",
           (unsigned long long)points, database.bucket, database.endpoint, name);
    return finish_printing();
}

static int read_lists(struct view_options *options)
{
    struct error err;
    options->perfetto.has_flows = options->flows;
    if (group_fields_read(
            &options->perfetto.primary,
            options->primary_group ? options->primary_group : "instance_id,process_id", &err) &&
        group_fields_read(&options->perfetto.secondary,
                          options->secondary_group ? options->secondary_group
                                                   : "worker_gid,lnc_idx,thread_id",
                          &err) &&
        filter_check(&options->filter, &err))
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

static int view(int count, char **arguments)
{
    struct view_options options = {.format = formats[0], .top = 15, .db_timeout = DB_USUAL_TIMEOUT};
    const struct option table[] = {
        {"session-dir", 'd', OPTION_TEXT, &options.directory, "DIR",
         "the capture, as a directory; the same as PATH", NULL},
        {"session-file", 's', OPTION_TEXT, &options.session_file, "FILE",
         "the capture, as a file; the same as PATH", NULL},
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
        {"system-trace-filter-neuron-core", 0, OPTION_TEXT, &options.filter.cores, "CORES",
         "only these cores or devices, as 0,2,4-7; numbered on each machine by itself", NULL},
        {"system-trace-filter-event-type", 0, OPTION_TEXT, &options.filter.types, "TYPES",
         "only events of these names; or hardware, software", NULL},
        {"system-trace-filter-instance-id", 0, OPTION_TEXT, &options.filter.instances, "NAMES",
         "only these machines", NULL},
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
    if (result != EXIT_DONE)
        return result;
    if (operands + (options.directory != NULL) + (options.session_file != NULL) != 1) {
        fprintf(stderr, "%s view: name one capture, as PATH, with -d DIR or with -s FILE\n",
                program_name());
        return EXIT_USAGE;
    }
    if (!operands)
        path = options.directory ? options.directory : options.session_file;
    if (is_format(&options, "db"))
        return view_database(path, &options);
    return is_format(&options, "parquet") ? view_profile(path, &options)
                                          : view_document(path, &options);
}

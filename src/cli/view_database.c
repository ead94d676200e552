/*
 * kymo view: writes events to InfluxDB, instead of making a profile or before that.
 */
#include "cli/view_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_notice(const char *text)
{
    log_info("%s", text);
}

const char *named_or(const char *given, const char *variable, const char *fallback)
{
    const char *value = given ? given : variable ? getenv(variable) : NULL;
    return value && *value ? value : fallback;
}

static bool write_points(struct session *session, const struct view_options *options,
                         struct influx *influx, char name[static PROFILE_NAME_SIZE],
                         uint64_t *points, struct error *err)
{
    if (!view_name(options, session, name, err))
        return false;
    struct progress *progress = progress_start(session->source, "writing");
    const struct influx_profile profile = {
        .name = name,
        .replace = options->force,
        .devices = session->source->inner ? NULL : import_device_cores(session->source)};
    bool ok = export_influx(&session->analysis, session->source, session->pool, influx, &profile,
                            points, err);
    progress_stop(progress);
    return ok;
}

static bool is_there(const char *path, struct error *err)
{
    return access(path, R_OK) == 0 || error_in_file(err, path, "cannot open: %s", strerror(errno));
}

/* --db-bucket alone does not: it names the profile. */
bool view_fills_database(const struct view_options *options)
{
    return is_format(options, "db") ||
           (is_format(options, "parquet") && (options->db_endpoint || options->db_org));
}

/* Checks first that the database is writable. */
int view_database(const char *path, const struct view_options *options)
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
        .timeout_s = options->db_timeout,
        .notice = print_notice,
    };
    if (!is_there(path, &err) || !influx_open(&influx, &database, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    if (!session_open_chosen(&session, path, options->jobs, &options->choice)) {
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
    printf("%llu point%s written to bucket \"%s\" at %s\n", (unsigned long long)points,
           points == 1 ? "" : "s", database.bucket, database.endpoint);
    if (is_format(options, "db"))
        printf("Profile \"%s\" is ready to view\n", name);
    return finish_printing();
}

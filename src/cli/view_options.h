/*
 * Options of kymo view, and its kinds of output.
 */
#ifndef KYMO_CLI_VIEW_OPTIONS_H
#define KYMO_CLI_VIEW_OPTIONS_H

#include "cli/cli.h"

struct device_list;
struct device_profile_entry;

struct view_options {
    const char *directory, *session_file, *format, *file, *display_name, *data_path;
    const char *primary_group, *secondary_group;
    struct choice choice;
    unsigned long top, jobs;
    bool terminology;
    bool pretty, force, ingest_only, flows, gpu_stages, ignore_system, ignore_devices;
    struct perfetto_options perfetto;
    const struct device_profile_entry *device_profiles; /* of a system profile */
    size_t device_profile_count;
    const struct device_list *device_list; /* the same of a JSON document; NULL: none */
    const char *db_endpoint, *db_org, *db_bucket;
    unsigned long db_timeout;
    struct serving serving;
    unsigned long progress_fd;
    const char *run, *instance; /* of a rank in a dataset */
    unsigned long rank;
};

static inline bool is_format(const struct view_options *options, const char *format)
{
    return strcmp(options->format, format) == 0;
}

/* --display-name, or a name derived from the contents. */
enum { PROFILE_NAME_SIZE = 256 };
bool view_name(const struct view_options *options, const struct session *session,
               char name[static PROFILE_NAME_SIZE], struct error *err);

/* The given value, otherwise that of the environment variable, otherwise the fallback. */
const char *named_or(const char *given, const char *variable, const char *fallback);

/* Whether the profile is served after processing. */
bool view_is_served(const struct view_options *options);

/* Each returns an exit code. */
int view_document(const char *path, const struct view_options *options);
int view_profile(const char *path, const struct view_options *options);
int view_database(const char *path, const struct view_options *options);
/* Whether events are written to InfluxDB: as the output, or beside a profile. */
bool view_fills_database(const struct view_options *options);

/* Of an NTFF with its NEFF: the summary, or JSON. */
bool view_is_device_document(const struct view_options *options);
int view_device_document(const struct view_options *options);
int view_terminology(void);
/* The summary of cores that were imported, as text or JSON, after that of their system if it is not
 * NULL. */
void view_device_summary(const struct device_cores *cores, const struct analysis *system,
                         const struct view_options *options, const struct text_style *style,
                         struct output *out);
/* The most important facts about them: one core, or how ranks waited for each other. */
void view_device_overview(const struct session *session, const struct text_style *style,
                          struct output *out);
void view_device_json(const struct device_core *core, const struct view_options *options,
                      struct pool *pool, struct output *out);

#endif

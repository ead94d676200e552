/*
 * kymo view: processes a capture into a profile in the workspace.
 */
#include "cli/view_options.h"

#include "store/store.h"

#include <stdio.h>

/* Name and directory of the profile to write. */
struct target {
    char name[PROFILE_NAME_SIZE]; /* empty for a directory given with --output-file */
    char *place;
    bool is_there; /* already processed from the same files */
};

/* A recording still in progress grows: later it is a different profile. */
static void put_events(const struct session *session, struct output *variant)
{
    uint64_t events = 0;
    const struct track *track;
    array_each (track, &session->source->catalog.tracks)
        events += track->events;
    output_format(variant, ";%llu", (unsigned long long)events);
}

bool view_name(const struct view_options *options, const struct session *session,
               char name[static PROFILE_NAME_SIZE], struct error *err)
{
    if (options->display_name) {
        snprintf(name, PROFILE_NAME_SIZE, "%s", options->display_name);
        return true;
    }
    path_list paths = {0};
    bool has_rings = false;
    const struct capture_file *file;
    array_each (file, &session->capture.files) {
        *array_push(&paths) = file->is_rings ? path_format("%s/session", file->path)
                                             : mem_copy_text(file->path, strlen(file->path));
        has_rings |= file->is_rings;
    }
    struct output variant; /* a filtered profile is a different one */
    const struct filter *filter = &options->choice.filter;
    output_memory(&variant);
    if (!filter_is_empty(filter))
        output_format(&variant, "%s;%s;%s", filter->cores ? filter->cores : "",
                      filter->types ? filter->types : "",
                      filter->instances ? filter->instances : "");
    if (has_rings)
        put_events(session, &variant);
    bool ok = content_name('s', (const char *const *)paths.items, paths.count,
                           (struct text){variant.data, variant.size}, session->pool, name, err);
    output_discard(&variant);
    paths_free(&paths);
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
    if (!view_name(options, session, target->name, err))
        return false;
    if (!profile_directory(options->data_path, target->name, &target->place, err))
        return false;
    target->is_there =
        !options->display_name && !options->force && file_is_directory(target->place);
    return true;
}

static bool write_summary(const struct analysis *analysis, const char *path, struct error *err)
{
    struct output out;
    if (!output_open(&out, path, err))
        return false;
    export_summary_json(analysis, false, &out);
    return output_commit(&out, err);
}

static bool process(struct session *session, const struct view_options *options,
                    struct target *target, struct error *err)
{
    if (!find_target(options, session, target, err))
        return false;
    if (target->is_there) {
        log_info("already processed; use --force to process it again");
        return true;
    }
    struct profile_options profile = {.summarize = write_summary,
                                      .target = target->place,
                                      .name = target->name[0] ? target->name : NULL,
                                      .version = KYMO_VERSION,
                                      .replace = options->force,
                                      .devices = import_device_cores(session->source)};
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

/* Checks before the work whether the name is taken. */
static bool is_free(const struct view_options *options, struct error *err)
{
    char *place = NULL;
    if (options->force || (!options->file && !options->display_name))
        return true;
    if (options->file)
        place = mem_copy_text(options->file, strlen(options->file));
    else if (!profile_directory(options->data_path, options->display_name, &place, err))
        return false;
    bool is_free = !file_is_directory(place);
    if (!is_free)
        error_in_file(err, place, "already exists; use --force to replace it");
    mem_free(place);
    return is_free;
}

/* Only profiles in the workspace can be served. */
bool view_is_served(const struct view_options *options)
{
    return is_format(options, "parquet") && !options->ingest_only && !options->file &&
           serving_is_wanted(&options->serving);
}

int view_profile(const char *path, const struct view_options *options)
{
    struct error err;
    struct session session;
    struct target target;
    if (!is_free(options, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    if (!session_open_chosen(&session, path, options->jobs, &options->choice))
        return EXIT_FAILED;
    bool ok = process(&session, options, &target, &err);
    if (ok && !options->ingest_only)
        ok = show_summary(&session, options, &err);
    session_close(&session);
    if (!ok)
        print_error(&err);
    else if (!view_is_served(options))
        printf("Profile \"%s\" is ready to view\n", target.name[0] ? target.name : target.place);
    mem_free(target.place);
    if (ok && view_is_served(options))
        return serving_run(&options->serving, options->data_path, target.name, NULL);
    return ok ? finish_printing() : EXIT_FAILED;
}

/*
 * kymo view: processes a capture into a profile in the workspace.
 */
#include "cli/view_options.h"

#include "analyze/device/device.h"
#include "store/tables/store.h"

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

/* A name derived from the contents, so that processing the same capture again finds its profile.
 * Options that change the profile are part of it. */
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
    if (options->choice.tracks_memory)
        output_text(&variant, ";memory-tracker");
    if (options->choice.nki_source_root)
        output_format(&variant, ";nki=%s", options->choice.nki_source_root);
    if (options->serving.source_root)
        output_format(&variant, ";framework=%s", options->serving.source_root);
    if (has_rings)
        put_events(session, &variant);
    char kind = !session->capture.files.items[0].is_ntff ? 's' : paths.count == 1 ? 'n' : 'p';
    bool ok = content_name(kind, (const char *const *)paths.items, paths.count,
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

bool write_summary_file(const struct analysis *analysis, const char *path, struct error *err)
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
    struct profile_options profile = {.summarize = write_summary_file,
                                      .target = target->place,
                                      .name = target->name[0] ? target->name : NULL,
                                      .version = KYMO_VERSION,
                                      .replace = options->force,
                                      .framework_source_root = options->serving.source_root,
                                      .nki_source_root = options->choice.nki_source_root,
                                      .devices = import_device_cores(session->source),
                                      .device_profiles = options->device_profiles,
                                      .device_profile_count = options->device_profile_count};
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
    if (import_device_cores(session->source))
        view_device_overview(session, &style, &out);
    else
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

/* Only profiles in the workspace can be served. With or without a terminal: a service or a
 * container has none. */
bool view_is_served(const struct view_options *options)
{
    return is_format(options, "parquet") && !options->ingest_only && !options->file;
}

/* A device profile that was made: its row in DeviceProfileList, and the ranks of its job. */
struct made_device {
    struct device_profile_entry entry; /* the caller frees instance and model */
    uint32_t rank_count;
};

static void describe_device(const struct session *session, struct made_device *part)
{
    const struct device_cores *cores = import_device_cores(session->source);
    const struct device_profile *profile = cores->items[0].profile;
    const struct ntff_header *header = ntff_header(profile->ntff);
    const char *model = device_neff(profile)->name;
    part->entry.instance = mem_copy_text(header->instance_id, strlen(header->instance_id));
    part->entry.model = mem_copy_text(model, strlen(model));
    part->entry.process = header->process_id;
    part->entry.core = (int64_t)header->device_index * profile->hardware->cores_per_chip +
                       (int64_t)header->core_index;
    part->entry.logical_core = header->logical_core;
    part->rank_count = header->rank_count;
}

/* Processes one part of the capture; the caller frees target->place. */
static bool make_part(const char *path, const struct view_options *options, bool is_shown,
                      struct target *target, struct made_device *part)
{
    struct error err;
    struct session session;
    *target = (struct target){0};
    if (!is_free(options, &err)) {
        print_error(&err);
        return false;
    }
    if (!session_open_chosen(&session, path, options->jobs, &options->choice))
        return false;
    bool ok = process(&session, options, target, &err);
    if (ok && is_shown)
        ok = show_summary(&session, options, &err);
    if (ok && part)
        describe_device(&session, part);
    session_close(&session);
    if (!ok)
        print_error(&err);
    return ok;
}

static int finish(const struct view_options *options, const struct target *target)
{
    if (view_is_served(options))
        return serving_run(&options->serving, options->data_path, target->name, NULL);
    printf("Profile \"%s\" is ready to view\n", target->name[0] ? target->name : target->place);
    return finish_printing();
}

static int view_whole(const char *path, const struct view_options *options)
{
    struct target target;
    bool ok = make_part(path, options, !options->ingest_only, &target, NULL);
    int result = ok ? finish(options, &target) : EXIT_FAILED;
    mem_free(target.place);
    return result;
}

/* The profile of each NTFF file, which is named after it. */
struct parts {
    ARRAY(struct device_profile_entry) entries;
    ARRAY(char *) texts; /* of the entries */
    bool has_ranks;      /* some are ranks of one job */
};

static const char *keep(struct parts *parts, char *text)
{
    *array_push(&parts->texts) = text;
    return text;
}

/* "gpt" and the file's name; a number where that is taken. */
static const char *part_name(struct parts *parts, const char *whole, const char *label)
{
    char *name = path_format("%s_%s", whole, label);
    for (size_t i = 0; i < parts->texts.count; i++)
        if (strcmp(parts->texts.items[i], name) == 0) {
            mem_free(name);
            name = path_format("%s_%s_%zu", whole, label, parts->entries.count + 1);
            break;
        }
    return keep(parts, name);
}

/* Ends with the first failure. Names and instances of the entries belong to `parts`. */
static bool make_devices(const char *path, const struct view_options *options,
                         const struct capture *capture, struct parts *parts)
{
    size_t number = 0;
    bool ok = true;
    const struct capture_file *file;
    array_each (file, &capture->files) {
        if (!file->is_device || !ok)
            continue;
        struct view_options own = *options;
        struct target target;
        struct made_device part = {0};
        own.choice.part = CAPTURE_DEVICE;
        own.choice.device = number++;
        own.display_name =
            options->display_name ? part_name(parts, options->display_name, file->label) : NULL;
        own.file = options->file ? part_name(parts, options->file, file->label) : NULL;
        ok = make_part(path, &own, false, &target, &part);
        if (ok) {
            const char *name = target.name[0] ? target.name : target.place;
            part.entry.name = keep(parts, mem_copy_text(name, strlen(name)));
            part.entry.instance = keep(parts, (char *)part.entry.instance);
            part.entry.model = keep(parts, (char *)part.entry.model);
            *array_push(&parts->entries) = part.entry;
            parts->has_ranks |= part.rank_count > 1;
        }
        mem_free(target.place);
    }
    return ok;
}

/* A line each; if there are many, their number with the first and the last. */
static void print_devices(const struct parts *parts)
{
    enum { FEW = 8 };
    size_t count = parts->entries.count;
    for (size_t i = 0; i < count && count <= FEW; i++)
        printf("Profile \"%s\" is ready to view\n", parts->entries.items[i].name);
    if (count > FEW)
        printf("%zu device profiles are ready to view: \"%s\" to \"%s\"\n", count,
               parts->entries.items[0].name, parts->entries.items[count - 1].name);
}

/* The profile of all ranks together, beside that of the system. */
static bool make_ranks(const char *path, const struct view_options *options, struct parts *parts)
{
    struct view_options own = *options;
    struct target target;
    own.choice.part = CAPTURE_DEVICES;
    own.display_name =
        options->display_name ? part_name(parts, options->display_name, "ranks") : NULL;
    own.file = options->file ? part_name(parts, options->file, "ranks") : NULL;
    bool ok = make_part(path, &own, false, &target, NULL);
    if (ok)
        printf("Profile \"%s\" is ready to view\n", target.name[0] ? target.name : target.place);
    mem_free(target.place);
    return ok;
}

/* A profile of each NTFF file, then of the whole: of the system, which lists them, and of ranks;
 * else of all cores together. */
static int view_parts(const char *path, const struct view_options *options,
                      const struct capture *capture)
{
    struct parts parts = {0};
    struct view_options whole = *options;
    int result = EXIT_FAILED;
    if (make_devices(path, options, capture, &parts)) {
        print_devices(&parts);
        bool has_system = capture_is_mixed(capture);
        bool has_ranks = has_system && parts.has_ranks && parts.entries.count > 1;
        whole.choice.part = has_system ? CAPTURE_SYSTEM : CAPTURE_DEVICES;
        whole.device_profiles = has_system ? parts.entries.items : NULL;
        whole.device_profile_count = has_system ? parts.entries.count : 0;
        whole.serving.is_collective = !has_system;
        if (!has_ranks || make_ranks(path, options, &parts))
            result = view_whole(path, &whole);
    }
    char **text;
    array_each (text, &parts.texts)
        mem_free(*text);
    array_free(&parts.texts);
    array_free(&parts.entries);
    return result;
}

int view_profile(const char *path, const struct view_options *options)
{
    struct error err;
    struct capture capture;
    if (!choice_find(&capture, path, &options->choice, &err)) {
        print_error(&err);
        capture_free(&capture);
        return EXIT_FAILED;
    }
    bool is_one =
        capture.files.count == 1 || !(capture.files.items[0].is_ntff || capture_is_mixed(&capture));
    int result = is_one ? view_whole(path, options) : view_parts(path, options, &capture);
    capture_free(&capture);
    return result;
}

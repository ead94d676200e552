/*
 * kymo view: writes a capture as a text, JSON or Perfetto file, or as one per part.
 */
#include "cli/view_device_list.h"

/* Device profiles have documents of their own kinds; everything else is a view of the system
 * profile. */
static bool write_view(struct session *session, const struct view_options *options,
                       struct output *out, struct error *err)
{
    bool to_file = options->file && strcmp(options->file, "-") != 0;
    struct text_style style = style_for(to_file, options->top);
    const struct device_cores *cores = import_device_cores(session->source);
    bool is_summary = is_format(options, "summary-text") || is_format(options, "summary-json");
    if (cores && is_summary) {
        view_device_summary(cores, NULL, options, &style, out);
    } else if (cores && cores->count == 1 && is_format(options, "json")) {
        view_device_json(&cores->items[0], options, session->pool, out);
    } else if (is_format(options, "summary-text")) {
        export_summary_text(&session->analysis, &style, out);
    } else if (is_format(options, "summary-json")) {
        export_summary_json(&session->analysis, options->pretty, out);
    } else {
        struct progress *progress = progress_start(session->source, "writing");
        struct perfetto_options perfetto = options->perfetto;
        perfetto.devices = session->source->inner ? NULL : cores; /* filters move lanes */
        const struct device_list *list = options->device_list;
        const struct json_options json = {options->pretty, list ? list->items.items : NULL,
                                          list ? list->items.count : 0};
        bool ok =
            is_format(options, "perfetto")
                ? export_perfetto(&session->analysis, session->source, session->pool, &perfetto,
                                  out, err)
                : export_json(&session->analysis, session->source, session->pool, &json, out, err);
        progress_stop(progress);
        return ok;
    }
    return true;
}

/* A Perfetto trace is binary: by default it goes to a file, not to standard output. */
static const char *document_file(const struct view_options *options)
{
    if (options->file || !is_format(options, "perfetto"))
        return options->file;
    return options->choice.part == CAPTURE_DEVICES ? "ntff.pftrace" : "system_profile.pftrace";
}

/* One document, to a file or to standard output. */
static int write_document(const char *path, const struct view_options *options)
{
    struct error err;
    struct output out;
    if (!output_open(&out, document_file(options), &err)) { /* fail before the work, not after */
        print_error(&err);
        return EXIT_FAILED;
    }
    struct session session;
    if (!session_open_chosen(&session, path, options->jobs, &options->choice)) {
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

/* The summaries of a system and of its devices, in one document. */
static int write_summaries(const char *path, const struct view_options *options)
{
    struct error err;
    struct output out;
    struct session system, devices;
    struct choice choice = options->choice;
    if (!output_open(&out, options->file, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    choice.part = CAPTURE_SYSTEM;
    bool ok = session_open_chosen(&system, path, options->jobs, &choice);
    if (ok) {
        bool to_file = options->file && strcmp(options->file, "-") != 0;
        struct text_style style = style_for(to_file, options->top);
        choice.part = CAPTURE_DEVICES;
        ok = session_open_chosen(&devices, path, options->jobs, &choice);
        if (ok) {
            view_device_summary(import_device_cores(devices.source), &system.analysis, options,
                                &style, &out);
            session_close(&devices);
        }
        session_close(&system);
    }
    if (!ok) {
        output_discard(&out);
        return EXIT_FAILED;
    }
    ok = output_commit(&out, &err);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* ---- A file for each part ------------------------------------------------------------------ */

/* The length of the model's number in "14382885777943380728_instid_0_vnc_3"; of other names all. */
static size_t model_size(const char *label)
{
    size_t digits = strspn(label, "0123456789");
    return digits > 0 && strncmp(label + digits, "_instid_", 8) == 0 ? digits : strlen(label);
}

static struct text parent_name(const char *path)
{
    const char *end = path_name(path) > path ? path_name(path) - 1 : path, *start = end;
    while (start > path && start[-1] != '/')
        start--;
    return (struct text){start, (size_t)(end - start)};
}

/* The guides' name, device_profile_model_<id>, if the model has one profile; else with what tells
 * it from the others: the core, if that is not enough the process's directory, at last a number. */
static void put_device_name(const struct capture *capture, const struct capture_file *device,
                            struct output *name)
{
    static const char prefix[] = "device_profile_model_";
    size_t size = model_size(device->label), of_model = 0, of_core = 0, of_process = 0, before = 0;
    const struct capture_file *file;
    array_each (file, &capture->files) {
        if (!file->is_device)
            continue;
        bool is_core = strcmp(file->label, device->label) == 0;
        bool is_process = is_core && text_equal(parent_name(file->path), parent_name(device->path));
        of_model += model_size(file->label) == size && !strncmp(file->label, device->label, size);
        of_core += is_core;
        of_process += is_process;
        before += is_process && file < device;
    }
    if (strncmp(device->label, prefix, sizeof prefix - 1) != 0)
        output_text(name, prefix);
    output_write(name, device->label, of_model > 1 ? strlen(device->label) : size);
    if (of_core > 1) {
        struct text parent = parent_name(device->path);
        output_format(name, "_%.*s", (int)parent.size, parent.data);
    }
    if (of_process > 1)
        output_format(name, "_%zu", before + 1);
}

static void list_devices(const struct capture *capture, struct device_list *list)
{
    const struct capture_file *file;
    array_each (file, &capture->files) {
        struct output name;
        output_memory(&name);
        put_device_name(capture, file, &name);
        output_char(&name, '\0');
        device_list_add(list, file, name.data);
        output_discard(&name);
    }
}

/* Writes the file of one device next to that of the system. */
static int write_device(const char *path, const struct view_options *options,
                        const struct capture *capture, const struct capture_file *device,
                        size_t number)
{
    struct view_options own = *options;
    const char *slash = options->file ? strrchr(options->file, '/') : NULL;
    struct output name;
    output_memory(&name);
    if (slash)
        output_write(&name, options->file, (size_t)(slash + 1 - options->file));
    put_device_name(capture, device, &name);
    output_text(&name, is_format(options, "perfetto") ? ".pftrace" : ".json");
    output_char(&name, '\0');
    own.file = name.data;
    own.choice.part = CAPTURE_DEVICE;
    own.choice.device = number;
    int result = write_document(path, &own);
    output_discard(&name);
    return result;
}

/* It names the files of the devices. */
static int write_system(const char *path, const struct view_options *options,
                        const struct capture *capture)
{
    struct view_options own = *options;
    own.choice.part = CAPTURE_SYSTEM;
    if (!own.file)
        own.file =
            is_format(options, "perfetto") ? "system_profile.pftrace" : "system_profile.json";
    struct device_list list = {0};
    list_devices(capture, &list);
    own.device_list = &list;
    int result = write_document(path, &own);
    device_list_free(&list);
    return result;
}

/* What the capture has of what is wanted. */
struct wanted {
    size_t systems, devices;
};

static int write_parts(const char *path, const struct view_options *options,
                       const struct capture *capture, const struct wanted *wanted)
{
    int result = wanted->systems > 0 ? write_system(path, options, capture) : EXIT_DONE;
    size_t number = 0;
    const struct capture_file *file;
    array_each (file, &capture->files)
        if (file->is_device && wanted->devices > 0 && result == EXIT_DONE)
            result = write_device(path, options, capture, file, number++);
    if (result == EXIT_DONE && wanted->systems == 0 && options->file)
        log_info("%zu device profiles are beside %s, which would be the system's", number,
                 options->file);
    return result;
}

/* Traces of a directory, as in the guides: a file for the system and one for each device profile.
 * --output-file may name one document; several cores are one in Perfetto, but not in JSON. */
static bool has_parts(const struct view_options *options, const struct wanted *wanted)
{
    bool is_json = is_format(options, "json");
    if (!is_json && !is_format(options, "perfetto"))
        return false;
    if (wanted->systems + wanted->devices == 0)
        return false; /* the error is another's */
    return (wanted->systems > 0 && wanted->devices > 0) || (wanted->devices > 1 && is_json) ||
           (options->directory && !options->file);
}

/* A capture with both system and device profiles makes several files of a trace format, but one
 * summary. */
int view_document(const char *path, const struct view_options *options)
{
    struct capture capture;
    struct error err;
    if (!capture_find(&capture, path, &err)) {
        print_warnings(&capture);
        capture_free(&capture);
        print_error(&err);
        return EXIT_FAILED;
    }
    size_t devices = 0;
    const struct capture_file *file;
    array_each (file, &capture.files)
        devices += file->is_device;
    struct view_options own = *options;
    enum capture_part part = own.choice.part;
    const struct wanted wanted = {part == CAPTURE_DEVICES ? 0 : capture.files.count - devices,
                                  part == CAPTURE_SYSTEM ? 0 : devices};
    if (devices == capture.files.count && part == CAPTURE_ALL)
        own.choice.part = CAPTURE_DEVICES;
    bool is_raw = capture_is_mixed(&capture) && part == CAPTURE_ALL; /* devices are NTFF files */
    int result = has_parts(options, &wanted) ? write_parts(path, options, &capture, &wanted)
                 : is_raw                    ? write_summaries(path, options)
                                             : write_document(path, &own);
    capture_free(&capture);
    return result;
}

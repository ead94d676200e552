/*
 * kymo info: prints the format and contents of a capture.
 */
#include "cli/cli.h"

#include <stdio.h>

static int info(int count, char **arguments);

const struct command command_info = {
    .name = "info",
    .summary = "Describe a capture: format, hosts, planes, lines, events, time span, versions.",
    .about =
        "Prints the contents of a capture without creating a profile: its format, hosts, "
        "devices and threads with their event counts, its start and duration, and the "
        "program that wrote it. For a device profile (NTFF) it prints the core, the executions "
        "and the notifications of each kind, for an executable (NEFF) what kymo neff info "
        "prints.",
    .usage = "[options] FILE|DIR",
    .examples =
        (const char *const[]){
            "run.xplane.pb",
            "--json logs/plugins/profile/2026_11_14_22_42_23",
            "profile.ntff",
            NULL,
        },
    .run = info,
};

/* Files of NeuronCores are described without an analysis; -1: it is not one of them. */
static int describe_device_file(const char *path, bool json)
{
    struct file file;
    struct error err;
    if (file_is_directory(path) || !file_open(&file, path, &err))
        return -1;
    bool is_neff = neff_recognize(file.data, file.size);
    bool is_ntff = ntff_recognize(file.data, file.size);
    file_close(&file);
    if (is_neff)
        return print_neff(path, json);
    return is_ntff ? print_ntff(path, json) : -1;
}

/* Device profiles that a directory has beside a system profile; damaged ones are left out, with a
 * warning. */
static void find_devices(const struct capture *capture, info_device_list *devices)
{
    const struct capture_file *file;
    if (!capture_is_mixed(capture))
        return;
    array_each (file, &capture->files) {
        struct error err;
        char line[ERROR_LINE_SIZE];
        struct ntff *ntff = file->is_ntff ? ntff_open(file->path, &err) : NULL;
        if (ntff)
            *array_push(devices) = (struct info_device){file->path, ntff};
        else if (file->is_ntff)
            log_warn("%s", error_line(&err, line));
    }
}

static bool write_info(const struct session *session, const info_device_list *devices, bool json,
                       struct error *err)
{
    struct output out;
    struct text_style style = style_for(false, 0);
    if (!output_open(&out, NULL, err))
        return false;
    if (json)
        export_info_json(&session->analysis, devices, true, &out);
    else
        export_info_text(&session->analysis, devices, &style, &out);
    return output_commit(&out, err);
}

/* NEFF and NTFF files are described as they are. In a directory device profiles are only listed:
 * analyzing them takes long. */
static int info(int count, char **arguments)
{
    bool json = false;
    unsigned long jobs = 0;
    const struct option table[] = {
        {"json", 0, OPTION_FLAG, &json, NULL, "write JSON", NULL},
        LIMIT_OPTIONS,
        LOG_LEVEL_OPTION,
        {"jobs", 'j', OPTION_NUMBER, &jobs, "N", "threads to use (default: all cores)", NULL},
    };
    const char *path = NULL;
    size_t operands;
    int result = options_read(&command_info, table, sizeof table / sizeof *table, count, arguments,
                              &path, 1, &operands);
    if (result != EXIT_DONE)
        return result;
    if (operands == 0) {
        fprintf(stderr, "%s info: missing argument: a file or directory\n", program_name());
        return EXIT_USAGE;
    }
    result = describe_device_file(path, json);
    if (result >= 0)
        return result;
    struct session session;
    struct capture capture = {0};
    info_device_list devices = {0};
    struct choice choice = {0};
    struct error err;
    if (file_is_directory(path) && capture_find(&capture, path, &err))
        find_devices(&capture, &devices);
    if (devices.count > 0)
        choice.part = CAPTURE_SYSTEM;
    bool is_open = session_open_chosen(&session, path, jobs, &choice);
    bool ok = is_open && write_info(&session, &devices, json, &err);
    struct info_device *device;
    array_each (device, &devices)
        ntff_close(device->ntff);
    array_free(&devices);
    capture_free(&capture);
    if (is_open)
        session_close(&session);
    if (is_open && !ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/*
 * kymo info: prints the format and contents of a capture.
 */
#include "cli/cli.h"

#include <stdio.h>

static int info(int count, char **arguments);

const struct command command_info = {
    .name = "info",
    .summary = "Describe a capture: format, hosts, planes, lines, events, time span, versions.",
    .about = "Prints the contents of a capture without creating a profile: its format, hosts, "
             "devices and threads with their event counts, its start and duration, and the "
             "program that wrote it.",
    .usage = "[options] FILE|DIR",
    .examples =
        (const char *const[]){
            "run.xplane.pb",
            "--json logs/plugins/profile/2026_11_14_22_42_23",
            NULL,
        },
    .run = info,
};

static int info(int count, char **arguments)
{
    bool json = false;
    unsigned long jobs = 0;
    const struct option table[] = {
        {"json", 0, OPTION_FLAG, &json, NULL, "write JSON", NULL},
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
    struct session session;
    if (!session_open(&session, path, jobs))
        return EXIT_FAILED;
    struct error err;
    struct output out;
    bool ok = output_open(&out, NULL, &err);
    if (ok) {
        struct text_style style = style_for(false, 0);
        if (json)
            export_info_json(&session.analysis, true, &out);
        else
            export_info_text(&session.analysis, &style, &out);
        ok = output_commit(&out, &err);
    }
    session_close(&session);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

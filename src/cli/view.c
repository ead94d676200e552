/*
 * kymo view: works a capture out and shows it or writes it in another form.
 */
#include "cli/cli.h"

#include <stdio.h>

static int view(int count, char **arguments);

const struct command command_view = {
    .name = "view",
    .summary = "Work out a capture and show its summary, or write it in another format.",
    .usage = "[options] PATH",
    .examples =
        (const char *const[]){
            "run.xplane.pb",
            "-d logs/plugins/profile/2026_11_14_22_42_23",
            "logs --output-format summary-json | jq .devices",
            "run.xplane.pb.gz --output-format json --output-file run.json",
            NULL,
        },
    .run = view,
};

static const char *const formats[] = {"summary-text", "summary-json", "json", NULL};

struct view_options {
    const char *directory, *format, *file;
    unsigned long top, jobs;
    bool pretty;
};

static bool write_view(struct session *session, const struct view_options *options,
                       struct output *out, struct error *err)
{
    bool to_file = options->file && strcmp(options->file, "-") != 0;
    struct text_style style = style_for(to_file, options->top);
    if (strcmp(options->format, "summary-text") == 0) {
        export_summary_text(&session->analysis, &style, out);
    } else if (strcmp(options->format, "summary-json") == 0) {
        export_summary_json(&session->analysis, options->pretty, out);
    } else {
        struct progress *progress = progress_start(session->source, "writing");
        bool ok = export_json(&session->analysis, session->source, session->pool, options->pretty,
                              out, err);
        progress_stop(progress);
        return ok;
    }
    return true;
}

static int view(int count, char **arguments)
{
    struct view_options options = {.format = formats[0], .top = 15};
    const struct option table[] = {
        {"session-dir", 'd', OPTION_TEXT, &options.directory, "DIR",
         "the capture, as a directory; the same as PATH", NULL},
        {"output-format", 0, OPTION_CHOICE, &options.format, "FORMAT",
         "what to write (default: summary-text)", formats},
        {"output-file", 0, OPTION_TEXT, &options.file, "FILE",
         "where to write it (default: standard output)", NULL},
        {"json-pretty-print", 0, OPTION_FLAG, &options.pretty, NULL, "indent JSON", NULL},
        {"top", 0, OPTION_NUMBER, &options.top, "N",
         "rows in the rankings of summary-text (default: 15)", NULL},
        LOG_LEVEL_OPTION,
        {"jobs", 'j', OPTION_NUMBER, &options.jobs, "N", "threads to use (default: all cores)",
         NULL},
    };
    const char *path = NULL;
    size_t operands;
    int result = options_read(&command_view, table, sizeof table / sizeof *table, count, arguments,
                              &path, 1, &operands);
    if (result != EXIT_DONE)
        return result;
    if ((operands == 1) == (options.directory != NULL)) {
        fprintf(stderr, "%s view: name one capture, as PATH or with -d DIR\n", program_name());
        return EXIT_USAGE;
    }
    struct error err;
    struct output out;
    if (!output_open(&out, options.file, &err)) { /* before the work, not after it */
        print_error(&err);
        return EXIT_FAILED;
    }
    struct session session;
    if (!session_open(&session, operands ? path : options.directory, options.jobs)) {
        output_discard(&out);
        return EXIT_FAILED;
    }
    bool ok = write_view(&session, &options, &out, &err);
    if (ok)
        ok = output_commit(&out, &err);
    else
        output_discard(&out);
    session_close(&session);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/*
 * kymo show-session: prints what is in an NTFF file, without its NEFF.
 */
#include "cli/cli.h"

#include <stdio.h>

static int show_session(int count, char **arguments);

const struct command command_show_session = {
    .name = "show-session",
    .summary = "Print the notifications of a device profile.",
    .about = "Prints an NTFF file as it is, without its NEFF: what was executed, the errors, and, "
             "on request, each notification of the engines, CC-cores and DMA engines, "
             "with its time in ticks of the device's clock since the execution's start.",
    .usage = "[options] [FILE]",
    .examples =
        (const char *const[]){
            "-s profile.ntff",
            "-s profile.ntff --show-trace --show-dma",
            "-s profile.ntff -j | jq '.NeffNodes[].NodeInfo.Graphs[].CycleCount'",
            NULL,
        },
    .run = show_session,
};

struct show_arguments {
    const char *file;
    bool json, errors, info;
    struct show_options options;
};

static bool print_session(const struct show_arguments *given, const char *path, struct error *err)
{
    struct output out;
    struct ntff_loss loss;
    char text[NTFF_LOSS_SIZE];
    struct ntff *ntff = ntff_open(path, err);
    if (!ntff)
        return false;
    bool ok = output_open(&out, NULL, err);
    if (ok) {
        if (given->json)
            export_session_json(ntff, &given->options, &out, &loss);
        else
            export_session_text(ntff, &given->options, &out, &loss);
        ok = output_commit(&out, err);
        if (loss.places > 0)
            log_warn("%s: %s", path, ntff_loss_text(&loss, text));
    }
    ntff_close(ntff);
    return ok;
}

/* The file can be an operand or -s FILE, as in neuron-profile; both or neither is an error. */
static int show_session(int count, char **arguments)
{
    struct show_arguments given = {0};
    const struct option table[] = {
        {"session-file", 's', OPTION_TEXT, &given.file, "FILE", "the NTFF file; same as FILE",
         NULL},
        {"json", 'j', OPTION_FLAG, &given.json, NULL, "write JSON", NULL},
        {"show-errors", 'e', OPTION_FLAG, &given.errors, NULL, "print executions and errors only",
         NULL},
        {"show-trace", 0, OPTION_FLAG, &given.options.trace, NULL,
         "print each notification of engines and CC-cores", NULL},
        {"show-dma", 0, OPTION_FLAG, &given.options.dma, NULL,
         "print each notification of DMA engines", NULL},
        {"show-info", 'i', OPTION_FLAG, &given.info, NULL,
         "print the number of notifications of each kind, like kymo info", NULL},
        LOG_LEVEL_OPTION,
    };
    const char *path = NULL;
    size_t operands;
    int result = options_read(&command_show_session, table, sizeof table / sizeof *table, count,
                              arguments, &path, 1, &operands);
    if (result != EXIT_DONE)
        return result;
    if ((path != NULL) + (given.file != NULL) != 1) {
        fprintf(stderr, "%s show-session: one NTFF file is needed: -s FILE\n", program_name());
        return EXIT_USAGE;
    }
    if (given.errors && (given.options.trace || given.options.dma)) {
        fprintf(stderr,
                "%s show-session: --show-errors cannot be combined with --show-trace or "
                "--show-dma\n",
                program_name());
        return EXIT_USAGE;
    }
    path = path ? path : given.file;
    if (given.info)
        return print_ntff(path, given.json);
    struct error err;
    if (print_session(&given, path, &err))
        return EXIT_DONE;
    print_error(&err);
    return EXIT_FAILED;
}

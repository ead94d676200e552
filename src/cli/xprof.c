/*
 * xprof: serves a log directory as XProf's server does, on kymo serve.
 */
#include "cli/cli.h"
#include "serve/serve.h"

#include <stdio.h>

static int xprof(int count, char **arguments);

#define NO_WORKER "runs are processed by this program itself, without gRPC workers"
static const struct refusal refusals[] = {
    {"grpc-port", NO_WORKER},
    {"worker-service-address", NO_WORKER},
    {"max-concurrent-worker-requests", NO_WORKER},
    {"enable-tab-name-label", "the page is Kymo's, whose tabs have the names of profiles"},
    {NULL, NULL},
};

const struct command command_xprof = {
    .name = "xprof",
    .summary = "Serve a log directory as XProf's server does; the page is Kymo's.",
    .about =
        "Answers the requests that XProf's server answers, with and without the prefix "
        "/data/plugin/profile/: runs, run_tools, hosts, data, data_csv, module_list, "
        "capture_profile, generate_cache, config and version. Captures are written into the log "
        "directory. Runs are processed when they are first requested. Everything else is as for "
        "kymo "
        "serve: the server listens on the loopback interface unless --host says otherwise, and "
        "then requires a token.\n\n"
        "gRPC workers are not supported: this program processes runs itself.",
    .usage = "[options] [server] [DIR]",
    .examples =
        (const char *const[]){
            "--logdir logs --port 8791",
            "server logs",
            NULL,
        },
    .refusals = refusals,
    .run = xprof,
};

enum { XPROF_PORT = 8791 };

static int usage(const char *words)
{
    fprintf(stderr, "%s: %s\n", command_title(&command_xprof), words);
    return EXIT_USAGE;
}

/* Options are spelled as XProf's, underscores included; `server` is optional, as XProf accepts
 * both. */
static int xprof(int count, char **arguments)
{
    struct serving serving = SERVING_DEFAULTS;
    const char *data_path = NULL, *logs = NULL;
    const struct option table[] = {
        {"logdir", 'l', OPTION_TEXT, &logs, "DIR", "log directory", NULL},
        {"port", 'p', OPTION_NUMBER, &serving.port, "PORT", "port (default: 8791)", NULL},
        {"host", 0, OPTION_TEXT, &serving.host, "ADDRESS",
         "address to listen on (default: 127.0.0.1)", NULL},
        {"token", 0, OPTION_TEXT, &serving.token, "TOKEN",
         "access token that clients on other addresses need", NULL},
        {"src_prefix", 0, OPTION_TEXT, &serving.source_root, "DIR",
         "directory of the source files named in stack frames", NULL},
        {"hide_capture_profile_button", 0, OPTION_FLAG, &serving.forbids_capture, NULL,
         "disable captures from running programs", NULL},
        {"data-path", 0, OPTION_TEXT, &data_path, "DIR",
         "workspace directory (default: one per log directory)", NULL},
        LOG_LEVEL_OPTION,
    };
    const char *operands[2];
    size_t operand_count;
    int result = options_read(&command_xprof, table, sizeof table / sizeof *table, count, arguments,
                              operands, 2, &operand_count);
    if (result != EXIT_DONE)
        return result;
    size_t first = operand_count > 0 && strcmp(operands[0], "server") == 0;
    if (operand_count > first + 1 || (operand_count > first && logs))
        return usage("one log directory at a time");
    if (operand_count > first)
        logs = operands[first];
    if (!logs)
        return usage("missing argument: --logdir DIR");
    if (serving.port == SERVING_DEFAULT_PORT)
        serving.port = XPROF_PORT;
    serving.is_xprof = true;
    result = serving_check(&command_xprof, &serving);
    return result == EXIT_DONE ? serve_logs(logs, data_path, &serving) : result;
}

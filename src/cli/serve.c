/*
 * kymo serve: the web UI for a directory of captures; and the server options shared with kymo view.
 */
#include "serve/serve.h"
#include "cli/cli.h"
#include "report/fleet/fleet.h"
#include "store/tables/store.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int serve(int count, char **arguments);

const struct command command_serve = {
    .name = "serve",
    .summary = "Serve the web UI for a log directory; runs are processed on request.",
    .about = "Serves a web page with the runs below a log directory, such as one of "
             "TensorBoard. Runs are processed when they are first opened.\n\n"
             "By default the server listens on the loopback interface only. With --host and "
             "another address, clients need a token, which is part of the printed URL. It is "
             "random unless set with --token, --token-file or the variable KYMO_TOKEN, to at "
             "least 16 characters.",
    .usage = "[options] DIR",
    .examples =
        (const char *const[]){
            "logs --port 8791",
            "logs --host 0.0.0.0",
            NULL,
        },
    .run = serve,
};

enum { MAX_GIB = 1 << 20, MAX_MIB = 1 << 30, MAX_CPU_S = 1 << 30 };

enum { MAX_TOKEN = 256 };
static char token[MAX_TOKEN + 2];

/* Copies the token and overwrites the argument, which process lists show. */
static bool take_argument(const char *argument)
{
    size_t size = strlen(argument);
    if (size > MAX_TOKEN)
        return false;
    memcpy(token, argument, size + 1);
    memset((char *)(uintptr_t)argument, '*', size);
    return true;
}

static bool read_file(const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return error_in_file(err, path, "cannot be read: %s", strerror(errno));
    size_t size = fread(token, 1, sizeof token - 1, file);
    fclose(file);
    token[size] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    if (strlen(token) == 0 || strlen(token) > MAX_TOKEN)
        return error_in_file(err, path, "has no token of 1 to %d characters in its first line",
                             MAX_TOKEN);
    return true;
}

/* Reads the token from the option, the file or the environment. */
static bool find_token(struct serving *serving, struct error *err)
{
    const char *variable = getenv("KYMO_TOKEN");
    if (serving->token && serving->token_file)
        return error_set(err, "--token and --token-file exclude each other");
    if (serving->token && !take_argument(serving->token))
        return error_set(err, "--token must have %d characters at most", MAX_TOKEN);
    if (serving->token_file && !read_file(serving->token_file, err))
        return false;
    bool is_variable = !serving->token && !serving->token_file && variable && *variable;
    if (is_variable && strlen(variable) > MAX_TOKEN)
        return error_set(err, "KYMO_TOKEN must have %d characters at most", MAX_TOKEN);
    if (is_variable)
        memcpy(token, variable, strlen(variable) + 1);
    unsetenv("KYMO_TOKEN"); /* not for children */
    if (serving->token || serving->token_file || is_variable)
        serving->token = token;
    return true;
}

bool is_source_root(const struct command *command, const char *option, const char *path)
{
    if (!path || file_is_directory(path))
        return true;
    fprintf(stderr, "%s %s: --%s: %s: %s\n", program_name(), command->name, option, path,
            access(path, F_OK) == 0 ? "not a directory" : "no such directory");
    return false;
}

/* Tokens go into URLs and cookies, hence the characters that are refused. */
int serving_check(const struct command *command, struct serving *serving)
{
    struct error err;
    if (!is_source_root(command, "framework-source-root", serving->source_root) ||
        !is_source_root(command, "nki-source-root", serving->nki_source_root))
        return EXIT_USAGE;
    if (!find_token(serving, &err)) {
        print_error(&err);
        return EXIT_USAGE;
    }
    bool is_port = (serving->port <= UINT16_MAX || serving->port == SERVING_DEFAULT_PORT) &&
                   (serving->api_port <= UINT16_MAX || serving->api_port == SERVING_DEFAULT_PORT);
    bool is_size = serving->upload_limit_gib > 0 && serving->upload_limit_gib <= MAX_GIB;
    bool are_limits = serving->memory_mib <= MAX_MIB && serving->cpu_s <= MAX_CPU_S &&
                      serving->output_mib <= MAX_MIB;
    bool is_token = !serving->token || serving->token[0];
    for (const char *at = serving->token; at && *at; at++)
        is_token = is_token && *at > ' ' && *at < 0x7f && !strchr(";,\"\\", *at);
    bool is_host = !serving->host || serving->host[0];
    if (is_port && is_size && are_limits && is_token && is_host)
        return EXIT_DONE;
    fprintf(stderr, "%s %s: %s\n", program_name(), command->name,
            !is_port   ? "a port must be a number from 0 to 65535"
            : !is_size ? "--upload-limit must be 1 to 1048576 (GiB)"
            : !are_limits
                ? "the limits of processing must be at most 1073741824 (MiB or s), 0 for none"
            : !is_host ? "--host must not be empty"
                       : "a token must be printable ASCII without spaces and without ; , \" \\");
    return EXIT_USAGE;
}

static struct serve_port port_of(unsigned long given, uint16_t fallback)
{
    bool is_given = given != SERVING_DEFAULT_PORT;
    return (struct serve_port){is_given ? (uint16_t)given : fallback, is_given};
}

/* Returns when a signal stops the server. Memory that processing used is given back first: a server
 * may run for weeks. */
int serving_run(const struct serving *serving, const char *data_path, const char *profile,
                const char *logs)
{
    struct error err;
    struct serve_options options = {.data_path = data_path,
                                    .log_directory = logs,
                                    .is_dataset = logs && dataset_check(logs, &err),
                                    .profile = profile,
                                    .is_collective = serving->is_collective,
                                    .host = serving->host,
                                    .token = serving->token,
                                    .source_root = serving->source_root,
                                    .nki_source_root = serving->nki_source_root,
                                    .ui = port_of(serving->port, SERVE_UI_PORT),
                                    .api = port_of(serving->api_port, SERVE_API_PORT),
                                    .has_ui = !serving->has_no_ui,
                                    .is_xprof = serving->is_xprof,
                                    .allows_frames = serving->allows_frames,
                                    .allows_capture = serving->allows_capture,
                                    .forbids_capture = serving->forbids_capture,
                                    .upload_limit = (uint64_t)serving->upload_limit_gib << 30,
                                    .processing =
                                        {
                                            .memory_bytes = (uint64_t)serving->memory_mib << 20,
                                            .cpu_s = serving->cpu_s,
                                            .output_bytes = (uint64_t)serving->output_mib << 20,
                                            .scratch_gib = scratch_limit_gib,
                                            .tracks = catalog_limits.tracks,
                                            .names = catalog_limits.names,
                                        },
                                    .version = KYMO_VERSION};
    malloc_trim(0); /* returns memory used by processing to the system */
    if (serve_run(&options, &err))
        return EXIT_DONE;
    print_error(&err);
    return EXIT_FAILED;
}

/* A workspace per log directory: runs in different ones may have the same names. */
static bool logs_workspace(const char *logs, char **data_path, struct error *err)
{
    char *fallback;
    if (!workspace_open(NULL, &fallback, err))
        return false;
    size_t size = strlen(fallback) + 32;
    *data_path = mem_alloc(size);
    snprintf(*data_path, size, "%s/logs/%016llx", fallback,
             (unsigned long long)hash_content(logs, strlen(logs), 0));
    mem_free(fallback);
    return true;
}

int serve_logs(const char *directory, const char *data_path, const struct serving *serving)
{
    struct error err;
    char *real = realpath(directory, NULL), *own = NULL;
    int result = EXIT_FAILED;
    if (!real || !file_is_directory(real)) {
        error_in_file(&err, directory, "%s",
                      real              ? "not a directory"
                      : errno == ENOENT ? "No such file or directory: create it first (mkdir -p)"
                                        : strerror(errno));
        print_error(&err);
    } else if (!data_path && !logs_workspace(real, &own, &err)) {
        print_error(&err);
    } else {
        result = serving_run(serving, data_path ? data_path : own, NULL, real);
    }
    mem_free(own);
    free(real);
    return result;
}

/* view and xprof share serving_check and serve_logs: the three must not differ in what they accept.
 */
static int serve(int count, char **arguments)
{
    struct serving serving = SERVING_DEFAULTS;
    const char *data_path = NULL, *directory = NULL;
    const struct option table[] = {
        SERVING_OPTIONS(serving),
        {"data-path", 0, OPTION_TEXT, &data_path, "DIR",
         "workspace directory (default: one per log directory)", NULL},
        LIMIT_OPTIONS,
        LOG_LEVEL_OPTION,
    };
    size_t operands;
    int result = options_read(&command_serve, table, sizeof table / sizeof *table, count, arguments,
                              &directory, 1, &operands);
    if (result == EXIT_DONE)
        result = serving_check(&command_serve, &serving);
    if (result == EXIT_DONE && operands == 0) {
        fprintf(stderr,
                "%s serve: missing argument: a log directory; `%s view` serves the profiles of the "
                "workspace\n",
                program_name(), program_name());
        result = EXIT_USAGE;
    }
    return result == EXIT_DONE ? serve_logs(directory, data_path, &serving) : result;
}

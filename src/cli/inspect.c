/*
 * kymo inspect: runs a command with recording enabled through environment variables, then prints
 * the path and contents of the capture.
 */
#include "base/clock.h"
#include "cli/inspect_gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, INSPECT_OPTIONS = 8 };

#define PYTHON_SCRIPT "kymo/python-start/sitecustomize.py"

static int inspect(int count, char **arguments);

/* Those of neuron-explorer's guide: in neuron-profile's, new events are lost instead. */
#define WORDS_OF_EVENTS                                                                            \
    "Maximum number of trace events to capture when profiling. Once hitting this limit, old "      \
    "events are dropped"

const struct command command_inspect = {
    .name = "inspect",
    .summary = "Run a command and record the program, its runtime and the host.",
    .about = "Runs a command and records its annotations (kymo/kymo.h) and those of its "
             "libraries, its calls to Neuron runtimes, its work on NVIDIA GPUs, and the CPU "
             "and memory usage of the machine. The recording library is preloaded, and the one for "
             "GPUs loaded by their driver; the command itself is not modified. Signals are "
             "forwarded to it.\n\n"
             "Options that begin with --gpu are named after XProf's, and may also be "
             "written with underscores; each can also be set by a variable, KYMO_ and the name in "
             "capitals (KYMO_GPU_DETAIL=graph). Records that do not fit into their limits are "
             "counted as lost.\n\n"
             "Each process writes a directory below the output directory, even if it is killed. "
             "View it with kymo view -d DIR.\n\n"
             "The exit status is that of the command, 128 plus the signal number if it was "
             "killed by a signal, 127 if it was not found, or 126 if it could not be run.",
    .usage = "[options] COMMAND [arguments]",
    .examples =
        (const char *const[]){
            "python train.py",
            "-o output -- ./serve --port 80",
            "-n 5000000 --event-filter-type nrt_execute,hardware python train.py",
            "--gpu-detail sampled=50/1 python train.py",
            "--torch-ops python train.py",
            NULL,
        },
    .run = inspect,
    .guide_options =
        (const struct guide_option[]){
            {"neuron-profile", "output-dir",
             "Output directory for the captured profile data, including system and device profiles "
             "(default: ./output)"},
            {"neuron-profile", "num-trace-events", WORDS_OF_EVENTS},
            {"neuron-profile", "capture-system-profiles",
             "Disable capture of system profile data. Can reduce output size."},
            {"neuron-profile", "capture-device-profiles",
             "Disable capture of device profile data. Can reduce output size."},
            {"neuron-explorer", "output-dir",
             "Output directory for the inspection results (default: .)"},
            {"neuron-explorer", "num-trace-events", WORDS_OF_EVENTS},
            {NULL, NULL, NULL},
        },
    .guide_operand = "[userscript...]",
    .guide_argument = "userscript:",
    .guide_argument_words = "Run command/script that launches a Neuron workload. E.g. 'python "
                            "app.py' or './runscript.sh'",
};

struct inspect_options {
    const char *directory, *cores, *types;
    unsigned long events;
    bool no_system, no_devices, hlo;
    struct inspect_gpu gpu;
};

/* Path of a recording library, or NULL; free with mem_free. */
static char *find_library(const char *name)
{
    const char *directory = secure_getenv("KYMO_LIBRARY_DIR");
    if (!directory || !*directory)
        return installed_library(name);
    char *path = path_format("%s/%s", directory, name);
    if (access(path, R_OK) == 0)
        return path;
    mem_free(path);
    return NULL;
}

/* Resolves the path of the library to preload. */
static bool find_recorder(char real[static PATH_MAX], struct error *err)
{
    static const char *const names[] = {"libkymo-nrt.so", "libkymo.so"};
    char *path = NULL;
    for (size_t i = 0; !path && i < sizeof names / sizeof *names; i++)
        path = find_library(names[i]);
    if (!path)
        return error_set(err, "recording library not found: %s", names[0]);
    bool ok = realpath(path, real) && !strpbrk(real, ":;");
    if (!ok)
        error_in_file(err, path, "cannot preload: the path contains a colon or a semicolon");
    mem_free(path);
    return ok;
}

static bool set_gpu_variables(const struct inspect_gpu *gpu, struct error *err)
{
    char library[PATH_MAX], python[PATH_MAX];
    char *path = find_library("libkymo-cuda.so"), *script = find_library(PYTHON_SCRIPT);
    bool has_script = script && realpath(script, python);
    if (has_script)
        *strrchr(python, '/') = '\0';
    bool ok = inspect_gpu_prepare(gpu, path && realpath(path, library) ? library : NULL,
                                  has_script ? python : NULL, err);
    mem_free(path);
    mem_free(script);
    return ok;
}

/* Puts a path before those a variable has. */
static void put_first(const char *variable, const char *path)
{
    const char *before = getenv(variable);
    char *value = path_format("%s%s%s", path, before && *before ? ":" : "", before ? before : "");
    setenv(variable, value, 1);
    mem_free(value);
}

/* Before the user's own LD_PRELOAD, so that it intercepts calls first. Spaces separate paths there,
 * but not in LD_LIBRARY_PATH, where a library without a path is looked for. */
static bool set_preload(struct error *err)
{
    char real[PATH_MAX];
    if (!find_recorder(real, err))
        return false;
    char *slash = strrchr(real, '/');
    if (!strchr(real, ' ')) {
        put_first("LD_PRELOAD", real);
        return true;
    }
    *slash = '\0';
    put_first("LD_LIBRARY_PATH", real);
    put_first("LD_PRELOAD", slash + 1);
    return true;
}

static bool make_directory(const char *given, char path[static PATH_MAX], struct error *err)
{
    if (mkdir(given, 0777) != 0 && errno != EEXIST)
        return error_in_file(err, given, "cannot create directory: %s", strerror(errno));
    if (!realpath(given, path))
        return error_in_file(err, given, "cannot resolve path: %s", strerror(errno));
    return access(path, W_OK) == 0 ||
           error_in_file(err, given, "directory is not writable: %s", strerror(errno));
}

/* The recorder in each process tells XLA where to write them. */
static void request_programs(void)
{
    const char *flags = getenv("XLA_FLAGS");
    if (flags && strstr(flags, "--xla_dump_to="))
        log_warn("--hlo has no effect: XLA_FLAGS has --xla_dump_to already");
    else
        setenv("KYMO_HLO", "1", 1);
}

static bool set_variables(const struct inspect_options *options, const char *directory,
                          struct error *err)
{
    char events[32];
    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", directory, 1);
    setenv("NEURON_RT_INSPECT_SYSTEM_PROFILE", options->no_system ? "0" : "1", 1);
    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", options->no_devices ? "0" : "1", 1);
    if (options->hlo)
        request_programs();
    if (options->events > 0) {
        snprintf(events, sizeof events, "%lu", options->events);
        setenv("NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC", events, 1);
    }
    if (options->cores)
        setenv("NEURON_RT_INSPECT_EVENT_FILTER_NC", options->cores, 1);
    if (options->types)
        setenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE", options->types, 1);
    return set_gpu_variables(&options->gpu, err) && set_preload(err);
}

static volatile pid_t child;

/* Signals from the terminal reach the child too; those sent by kill reach only this process. */
static void forward(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (child > 0 && info->si_code <= 0)
        kill(child, number);
}

/* Signals that are ignored, as by nohup, stay so, here and in the command. */
static void forward_signals(void)
{
    static const int forwarded[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                    SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    struct sigaction before,
        action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        if (sigaction(forwarded[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(forwarded[i], &action, NULL);
}

/* Runs the command and waits; *status is that of waitpid. Returns the error number if it cannot be
 * run. */
static int run(char **command, int *status)
{
    sigset_t all, before;
    siginfo_t ended;
    const struct child_command users = {
        .program = command[0],
        .arguments = (const char *const *)(uintptr_t)command,
        .files = {CHILD_SAME, CHILD_SAME, CHILD_SAME, CHILD_SAME},
        .is_users = true,
    };
    pid_t id;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* no signal may be lost before it can be forwarded */
    int problem = child_exec(&users, &id);
    child = problem ? 0 : id;
    forward_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (problem)
        return problem;
    while (waitid(P_PID, (id_t)id, &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    child = 0; /* while the number is still its own */
    child_wait(id, status);
    return 0;
}

static void announce(char **command)
{
    struct output text;
    output_memory(&text);
    for (char **word = command; *word; word++)
        output_format(&text, "%s%s", word == command ? "" : " ", *word);
    output_char(&text, '\0');
    log_info("Running command \"%s\" with profiling enabled", text.data);
    output_discard(&text);
}

/* Recovers captures of processes that were killed. */
static bool finish_captures(const char *directory, int64_t since_ns, struct error *err)
{
    recovered_list list = {0};
    bool ok = recording_recover(directory, since_ns, &list, err);
    print_recovered(&list, LOG_WARN);
    recovered_free(&list);
    return ok;
}

/* Of a capture without events, which were not asked for. */
static void conclude_devices(const char *directory, size_t profiles)
{
    if (profiles > 0)
        log_info("kept %zu device profile%s; capture written to %s, view it with: %s view -d %s",
                 profiles, profiles == 1 ? "" : "s", directory, program_name(), directory);
    else
        log_warn("no device profiles were captured: no model was executed on a NeuronCore");
}

/* Prints what was recorded since the command started. */
static bool conclude(const struct inspect_options *options, const char *directory, int64_t since_ns,
                     struct error *err)
{
    struct recording_counts counts;
    if (!finish_captures(directory, since_ns, err) ||
        !recording_survey(directory, since_ns, &counts, err))
        return false;
    if (options->no_system && counts.drops.stored + counts.drops.dropped == 0) {
        if (!options->no_devices)
            conclude_devices(directory, counts.device_profiles);
        return true;
    }
    if (counts.drops.stored + counts.drops.dropped == 0) {
        log_warn(
            "no events were recorded: the command has no annotations (kymo/kymo.h), calls no known "
            "runtime, or does not load shared libraries; host samples, if any, are in %s",
            directory);
        return true;
    }
    char gpu[64] = "";
    warn_of_drops(counts.drops);
    if (counts.gpu > 0)
        snprintf(gpu, sizeof gpu, " and %llu GPU activit%s", (unsigned long long)counts.gpu,
                 counts.gpu == 1 ? "y" : "ies");
    log_info("kept %llu event%s%s of %zu process%s%s; capture written to %s, view it with: %s "
             "view -d %s",
             (unsigned long long)counts.kept, counts.kept == 1 ? "" : "s", gpu, counts.processes,
             counts.processes == 1 ? "" : "es", counts.drops.dropped > 0 ? "" : ", none lost",
             directory, program_name(), directory);
    return true;
}

/* The exit code is the command's own, so that inspect can be put before any command in a script;
 * its own failures count only if the command succeeded. */
static int run_inspected(const struct inspect_options *options, char **command)
{
    struct error err;
    char directory[PATH_MAX], end[CHILD_TEXT_SIZE];
    int status = 0;
    if (!make_directory(options->directory, directory, &err) ||
        !set_variables(options, directory, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    announce(command);
    int64_t since_ns = clock_wall_ns();
    int problem = run(command, &status);
    if (problem) {
        error_set(&err, "cannot run %s: %s", command[0], strerror(problem));
        print_error(&err);
        return child_unstarted_code(problem);
    }
    if (!conclude(options, directory, since_ns, &err)) {
        print_error(&err);
        if (child_has_succeeded(status))
            return EXIT_FAILED;
    }
    if (!child_has_succeeded(status))
        log_warn("the command %s", child_end_text(status, end));
    return child_exit_code(status);
}

/* Parsing ends at the first word that is not an option: what follows is the user's command with its
 * own options. */
static int inspect(int count, char **arguments)
{
    bool is_explorer = strcmp(program_name(), "neuron-explorer") == 0;
    struct inspect_options options = {.directory = is_explorer ? "." : "./output"};
    struct option table[INSPECT_OPTIONS + INSPECT_GPU_OPTIONS] = {
        {"output-dir", 'o', OPTION_TEXT, &options.directory, "DIR",
         is_explorer ? "output directory (default: .)" : "output directory (default: ./output)",
         NULL},
        {"num-trace-events", 'n', OPTION_NUMBER, &options.events, "N",
         "events to keep per thread or core; the oldest are dropped (default: 1000000)", NULL},
        {"event-filter-nc", 0, OPTION_TEXT, &options.cores, "CORES",
         "record only these NeuronCores, e.g. 0,2,4-7", NULL},
        {"event-filter-type", 0, OPTION_TEXT, &options.types, "TYPES",
         "record only these event types; also hardware, software, ^NAME to exclude one", NULL},
        {"capture-system-profiles", 0, OPTION_FLAG, &options.no_system, NULL,
         "disable capture of system profiles (named as in neuron-profile)", NULL},
        {"capture-device-profiles", 0, OPTION_FLAG, &options.no_devices, NULL,
         "disable capture of device profiles (named as in neuron-profile)", NULL},
        {"hlo", 0, OPTION_FLAG, &options.hlo, NULL,
         "keep the programs that XLA compiles, so that operations have kinds and source lines",
         NULL},
        LOG_LEVEL_OPTION,
    };
    inspect_gpu_options(&options.gpu, table + INSPECT_OPTIONS);
    int rest;
    int result = options_read_before(&command_inspect, table, sizeof table / sizeof *table, count,
                                     arguments, &rest);
    if (result != EXIT_DONE)
        return result;
    struct error err;
    if (!filter_check(&(struct filter){.cores = options.cores}, &err)) {
        fprintf(stderr, "%s inspect: %s\n", program_name(), err.text);
        return EXIT_USAGE;
    }
    if (rest >= count) {
        fprintf(stderr, "%s inspect: missing argument: the command to run\n", program_name());
        return EXIT_USAGE;
    }
    result = inspect_gpu_check(&options.gpu);
    if (result != EXIT_DONE)
        return result;
    return run_inspected(&options, arguments + rest);
}

/*
 * kymo capture: executes a NEFF and takes device profiles or a system trace of it, or captures from
 * running programs (--connect).
 */
#include "cli/capture_connect.h"
#include "neuron/run/runner/runner.h"

#include <stdio.h>
#include <stdlib.h>

enum { OPERANDS_MAX = 2048, FILTERS_MAX = 64 };

static int capture(int count, char **arguments);

const struct command command_capture = {
    .name = "capture",
    .summary = "Execute a NEFF and take device profiles of it, or capture from running programs.",
    .about =
        "Executes a NEFF with the given inputs, NumPy's .npy files or raw bytes, and writes a "
        "device profile of each profiled execution. Inputs that are not given are zero. "
        "Collectives run with one worker per rank, each a process with its own core. "
        "Workers may be on several nodes: run capture on each node, with the same total number of "
        "workers and the same NEURON_RT_ROOT_COMM_ID (address:port on the node of worker 0).\n\n"
        "With several workers, profiles are named profile_rank_R.ntff; with several executions, "
        "profile_exec_N.ntff or profile_rank_R_exec_N.ntff. Outputs are saved in the current "
        "directory, named after the output; from the second execution on, its number is at the "
        "end.\n\n"
        "Programs run on NeuronCores in software (KYMO_NEURON_INSTANCE selects which; "
        "KYMO_NEURON_COMPUTE=0 simulates timing without arithmetic), or on those of another "
        "runtime library "
        "(--runtime).\n\n"
        "With --connect, running programs that serve a profiler (jax.profiler.start_server or "
        "kymo_serve) are profiled. All hosts start at the same time and become one "
        "session, DIR/plugins/profile/RUN/HOST_PORT.xplane.pb, which kymo view and XProf open; RUN "
        "is the time, and the session's directory is printed. If hosts fail, the profiles of "
        "the others are kept, each failure is reported and the exit code is 1. Ctrl-C ends the "
        "capture early and keeps what was recorded.\n\n"
        "Options of --connect: host_tracer_level (0 to 3, default 2), device_tracer_level (default "
        "1), python_tracer_level (0 or 1, default 0), enable_hlo_proto, include_dataset_ops, "
        "host_traceme_filter_mask, delay_ms (until all hosts start; default 3000 with several "
        "hosts), "
        "session_id (the name of the run), override_hostnames (a name for the file of each host), "
        "use_system_hostname, tracemark_lower, tracemark_upper, gpu_* of XLA's tracer and tpu_*.",
    .usage = "[options] [NAME FILE]...",
    .examples =
        (const char *const[]){
            "-n file.neff -s profile.ntff",
            "-n gpt.neff --num-exec 3 --profile-nth-exec 3 input0 tokens.npy",
            "-n allreduce.neff -r 8 -i 0 --save-output-npy",
            "-n allreduce.neff -r 4 --collectives-worker-count 8 --collectives-worker-start-id 4",
            "-n file.neff -t systrace --systrace-event-filter nrt_execute",
            "--connect localhost:9999 --duration-ms 2000 -o logs",
            "--connect [fd00::1]:9999,worker2:9999 --options python_tracer_level=1,delay_ms=1000",
            NULL,
        },
    .run = capture,
};

struct arguments {
    struct runner_options run;
    const char *type, *mode, *profile_id, *multi_input, *rewrite, *io_from;
    unsigned long executions, nth, threshold, save_nth, per_node, count, start;
    bool disable_profile, lists_types;
    const char *filters[FILTERS_MAX];
    struct text_list filter_list;
    struct connect_options connect;
};

static void say(const char *line)
{
    printf("%s\n", line);
}

static int usage(const char *format, const char *word)
{
    fprintf(stderr, "%s capture: ", program_name());
    fprintf(stderr, format, word);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

/* ---- Inputs -------------------------------------------------------------------------------- */

/* The file of --multi-input: its text, and the inputs of each line, which point into it. */
struct input_lines {
    char *text;
    ARRAY(struct runner_inputs) lines;
};

/* The words of a line, as pairs. */
static bool read_line(char *line, struct runner_inputs *inputs)
{
    static const char blanks[] = " \t\r\n";
    ARRAY(struct runner_input) items = {0};
    char *rest = NULL;
    const char *path = "";
    for (char *name = strtok_r(line, blanks, &rest); name && path;
         name = strtok_r(NULL, blanks, &rest)) {
        path = strtok_r(NULL, blanks, &rest);
        *array_push(&items) = (struct runner_input){name, path};
    }
    *inputs = (struct runner_inputs){items.items, items.count};
    return path;
}

static bool read_multi_input(const char *path, struct input_lines *inputs, struct error *err)
{
    struct file file;
    if (!file_open(&file, path, err))
        return false;
    inputs->text = mem_copy_text((const char *)file.data, file.size);
    file_close(&file);
    char *rest = NULL;
    for (char *line = strtok_r(inputs->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!read_line(line, array_push(&inputs->lines)))
            return error_in_file(err, path, "line %zu is not a list of names and files",
                                 inputs->lines.count);
    return inputs->lines.count > 0 || error_in_file(err, path, "the file is empty");
}

static void free_multi_input(struct input_lines *inputs)
{
    struct runner_inputs *line;
    array_each (line, &inputs->lines)
        mem_free((void *)line->items);
    array_free(&inputs->lines);
    mem_free(inputs->text);
}

static void pair_operands(const char **operands, size_t count, struct runner_options *run)
{
    static struct runner_input items[OPERANDS_MAX / 2];
    static struct runner_inputs inputs;
    for (size_t i = 0; i + 1 < count; i += 2)
        items[i / 2] = (struct runner_input){operands[i], operands[i + 1]};
    inputs = (struct runner_inputs){items, count / 2};
    run->inputs = &inputs;
    run->input_sets = count > 0;
}

/* ---- Options ------------------------------------------------------------------------------- */

static int take_choices(struct arguments *given)
{
    struct runner_options *run = &given->run;
    run->trace = strcmp(given->type, "systrace") == 0;
    run->mode = strcmp(given->mode, "async") == 0        ? RUNNER_ASYNC
                : strcmp(given->mode, "async-wait") == 0 ? RUNNER_ASYNC_WAIT
                                                         : RUNNER_SYNC;
    run->rewrite = strcmp(given->rewrite, "alias") == 0 ? REWRITE_ALIAS
                   : strcmp(given->rewrite, "all") == 0 ? REWRITE_ALL
                                                        : REWRITE_NONE;
    run->profile_rank = -1;
    if (strcmp(given->profile_id, "all") != 0) {
        char *end;
        run->profile_rank = (int64_t)strtoul(given->profile_id, &end, 10);
        if (*end || end == given->profile_id || *given->profile_id == '-')
            return usage("--collectives-profile-id must be all or the number of a worker, not %s",
                         given->profile_id);
    }
    if (!run->session_file)
        run->session_file = run->trace ? "systrace.json" : "profile.ntff";
    return EXIT_DONE;
}

static int take_numbers(struct arguments *given)
{
    struct runner_options *run = &given->run;
    if (given->executions == 0)
        return usage("--num-exec must be at least %s", "1");
    if (given->per_node > UINT32_MAX || given->count > UINT32_MAX || given->start > UINT32_MAX)
        return usage("too many workers%s", "");
    if (given->count > 0 && given->per_node > given->count)
        return usage("--collectives-workers-per-node is more than %s",
                     "--collectives-worker-count");
    if (run->check_determinism && given->executions < 2)
        return usage("--check-output-determinism compares executions: use --num-exec 2%s",
                     " or more");
    if (run->mode == RUNNER_ASYNC && run->check_determinism)
        return usage("--check-output-determinism needs --exec-mode %s", "sync or async-wait");
    run->executions = given->executions;
    run->profile_nth = given->disable_profile ? 0 : given->nth;
    run->single_io_threshold = given->threshold;
    run->save_nth = given->save_nth;
    run->workers_per_node = (uint32_t)given->per_node;
    run->worker_count = (uint32_t)given->count;
    run->worker_start = (uint32_t)given->start;
    return EXIT_DONE;
}

static int print_types(const char *library)
{
    struct error err;
    const char **types;
    size_t count;
    if (!runner_event_types(library, &types, &count, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        printf("%s\n", types[i]);
        free((void *)types[i]);
    }
    free(types);
    return finish_printing();
}

/* Inputs of --multi-input point into the file's text, which is therefore freed only after the run.
 */
static int run(struct arguments *given, const char **operands, size_t count)
{
    struct error err;
    int result = take_choices(given);
    if (result == EXIT_DONE)
        result = take_numbers(given);
    if (result != EXIT_DONE)
        return result;
    if (given->multi_input && count > 0)
        return usage("give inputs with --multi-input or as operands, not both%s", "");
    if (count % 2 != 0)
        return usage("input %s has no file", operands[count - 1]);
    struct input_lines inputs = {0};
    bool ok = true;
    if (given->multi_input) {
        ok = read_multi_input(given->multi_input, &inputs, &err);
        given->run.inputs = inputs.lines.items;
        given->run.input_sets = inputs.lines.count;
    } else {
        pair_operands(operands, count, &given->run);
    }
    ok = ok && runner_run(&given->run, &err);
    free_multi_input(&inputs);
    if (!ok) {
        fflush(stdout);
        print_error(&err);
        return EXIT_FAILED;
    }
    return finish_printing();
}

/* Whether an option was given: its value differs from the default. */
static bool is_set(const struct option *option, const struct arguments *given,
                   const struct arguments *before)
{
    size_t offset = (size_t)((const char *)option->value - (const char *)given);
    size_t size = option->kind == OPTION_FLAG     ? sizeof(bool)
                  : option->kind == OPTION_NUMBER ? sizeof(unsigned long)
                  : option->kind == OPTION_LIST   ? sizeof(struct text_list)
                                                  : sizeof(const char *);
    return memcmp((const char *)given + offset, (const char *)before + offset, size) != 0;
}

/* Options of one kind of capture are refused for the other. LOG_LEVEL_OPTION, the last, is for
 * both. */
static int check_kind(const struct option *table, size_t count, const struct arguments *given,
                      const struct arguments *before, size_t operand_count)
{
    bool is_remote = given->connect.addresses;
    for (size_t i = 0; i + 1 < count; i++)
        if ((i < CONNECT_OPTION_COUNT) != is_remote && is_set(&table[i], given, before)) {
            fprintf(stderr, "%s: --%s %s --connect\n", command_title(&command_capture),
                    table[i].name, is_remote ? "cannot be used with" : "requires");
            return EXIT_USAGE;
        }
    return is_remote && operand_count > 0 ? usage("--connect takes no inputs%s", "") : EXIT_DONE;
}

static int run_kind(struct arguments *given, const char **operands, size_t count)
{
    if (given->connect.addresses)
        return capture_connect(&given->connect);
    if (given->lists_types)
        return print_types(given->run.library);
    given->run.event_filters = given->filter_list.items;
    given->run.event_filter_count = given->filter_list.count;
    return run(given, operands, count);
}

/* One command for two kinds of captures; `before` has the defaults, to find options that are given
 * but belong to the other kind. */
static int capture(int count, char **arguments)
{
    static const char *const types[] = {"profile", "systrace", NULL};
    static const char *const modes[] = {"sync", "async", "async-wait", NULL};
    static const char *const rewrites[] = {"none", "alias", "all", NULL};
    static const char *const sources[] = {"runtime", NULL};
    struct arguments given = {.run = {.neff = "file.neff", .say = say},
                              .type = "profile",
                              .mode = "sync",
                              .profile_id = "all",
                              .rewrite = "none",
                              .io_from = "runtime",
                              .executions = 1,
                              .nth = 1,
                              .connect = CONNECT_DEFAULTS};
    struct runner_options *run_options = &given.run;
    given.filter_list = (struct text_list){given.filters, 0, FILTERS_MAX};
    given.connect.settings = (struct text_list){given.connect.texts, 0, CONNECT_SETTINGS_MAX};
    const struct option table[] = {
        CONNECT_OPTIONS(given.connect),
        {"neff", 'n', OPTION_TEXT, &run_options->neff, "FILE", "NEFF (default: file.neff)", NULL},
        {"session-file", 's', OPTION_TEXT, &run_options->session_file, "FILE",
         "profile to write (default: profile.ntff, or systrace.json for a system trace)", NULL},
        {"num-exec", 0, OPTION_NUMBER, &given.executions, "N", "number of executions (default: 1)",
         NULL},
        {"profile-nth-exec", 0, OPTION_NUMBER, &given.nth, "N",
         "profile every Nth execution, 0 for none (default: 1)", NULL},
        {"capture-type", 't', OPTION_CHOICE, &given.type, "TYPE",
         "device profiles or the runtime's system trace (default: profile)", types},
        {"exec-mode", 0, OPTION_CHOICE, &given.mode, "MODE",
         "sync waits for each execution, async queues all and then waits, async-wait queues and "
         "waits for each (default: sync)",
         modes},
        {"ignore-exec-errors", 0, OPTION_FLAG, &run_options->ignore_errors, NULL,
         "continue after failed executions", NULL},
        {"disable-profile", 0, OPTION_FLAG, &given.disable_profile, NULL,
         "execute without profiling", NULL},
        {"enable-dge-notifs", 0, OPTION_FLAG, &run_options->dge_notifications, NULL,
         "profile transfers of dynamic DMA as well", NULL},
        {"single-io", 0, OPTION_FLAG, &run_options->single_io, NULL,
         "share one buffer among all inputs and outputs: timings are right, outputs are not", NULL},
        {"single-io-threshold", 0, OPTION_NUMBER, &given.threshold, "BYTES",
         "with --single-io: tensors up to this size keep their own buffer (default: 0)", NULL},
        {"save-output", 0, OPTION_FLAG, &run_options->save_raw, NULL, "save outputs as raw bytes",
         NULL},
        {"save-output-npy", 0, OPTION_FLAG, &run_options->save_npy, NULL, "save outputs as .npy",
         NULL},
        {"save-nth-output", 0, OPTION_NUMBER, &given.save_nth, "N",
         "save the outputs of every Nth execution only", NULL},
        {"check-output-determinism", 0, OPTION_FLAG, &run_options->check_determinism, NULL,
         "compare the CRC32 of outputs with the first execution's", NULL},
        {"write-tensors-per-exec", 0, OPTION_CHOICE, &given.rewrite, "WHICH",
         "inputs to write again before each execution (default: none)", rewrites},
        {"io-from", 0, OPTION_CHOICE, &given.io_from, "SOURCE",
         "where tensor names and sizes come from (default: runtime)", sources},
        {"collectives-workers-per-node", 'r', OPTION_NUMBER, &given.per_node, "N",
         "workers on this node (default: as many as the NEFF needs)", NULL},
        {"collectives-worker-count", 0, OPTION_NUMBER, &given.count, "N",
         "workers on all nodes (default: those on this node)", NULL},
        {"collectives-worker-start-id", 0, OPTION_NUMBER, &given.start, "N",
         "first worker on this node (default: 0)", NULL},
        {"collectives-profile-id", 'i', OPTION_TEXT, &given.profile_id, "WORKER",
         "worker to profile (default: all)", NULL},
        {"multi-input", 'm', OPTION_TEXT, &given.multi_input, "FILE",
         "file with a line of NAME FILE pairs for each worker of this node, or of all nodes", NULL},
        {"systrace-get-event-types", 0, OPTION_FLAG, &given.lists_types, NULL,
         "print the runtime's event types", NULL},
        {"systrace-event-filter", 0, OPTION_LIST, &given.filter_list, "TYPE",
         "trace only events of this type; may be repeated", NULL},
        {"runtime", 0, OPTION_TEXT, &run_options->library, "FILE",
         "runtime library (default: Kymo's libnrt.so.1, NeuronCores in software)", NULL},
        LOG_LEVEL_OPTION,
    };
    static const char *operands[OPERANDS_MAX];
    size_t operand_count, option_count = sizeof table / sizeof *table;
    const struct arguments before = given;
    int result = options_read(&command_capture, table, option_count, count, arguments, operands,
                              OPERANDS_MAX, &operand_count);
    if (result == EXIT_DONE)
        result = check_kind(table, option_count, &given, &before, operand_count);
    return result == EXIT_DONE ? run_kind(&given, operands, operand_count) : result;
}

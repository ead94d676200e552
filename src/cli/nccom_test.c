/*
 * kymo nccom-test: measures collectives on NeuronCores in software.
 */
#include "cli/cli.h"
#include "cli/nccom_report.h"
#include "nccom/nccom.h"
#include "wire/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { OPERANDS_MAX = 64 };

static int nccom_test(int count, char **arguments);

const struct command command_nccom_test = {
    .name = "nccom-test",
    .summary = "Measure collective operations on NeuronCores.",
    .about =
        "Runs collective operations of one or several sizes on all workers and prints how long "
        "they take. Operations: all_reduce (allr), all_gather (allg), all_gatherv (allgv), "
        "reduce_scatter (redsct), sendrecv, alltoall, alltoallv, permute; several are measured one "
        "after the other. Each worker is a process with a NeuronCore of its own; they exchange the "
        "data, and with --check every output is compared with what it must be.\n\n"
        "Times are those of the simulated device's clock, from when a core starts a collective, "
        "before it waits for the others, until its result is there. GB are 10^9 bytes. algbw is "
        "the size divided by the average time; busbw is algbw times 2(r-1)/r of all_reduce, 1 of "
        "sendrecv and permute, (r-1)/r of the others, of r ranks.\n\n"
        "Sizes are numbers of bytes, or end in kb, mb or gb. A size that cannot be divided among "
        "the ranks is rounded down, or up to one element for each; the table has the size that was "
        "used. Inputs are zero without --check.",
    .usage = "allr|allg|allgv|redsct|sendrecv|alltoall|alltoallv|permute [options]",
    .examples =
        (const char *const[]){
            "allr -r 2",
            "allg -b 512kb -e 512kb -r 32 -n 10 -d fp32 -w 1 -f 512",
            "allr allg -r 8 -b 1kb -e 1mb -f 8 -d bf16 --check --show-algorithm",
            "permute -r 8 --custom-src-target-pairs pairs.json",
            "allg -r 8 -n 1000 --stats avg p50 p99 --report-to-json-file results.json",
            NULL,
        },
    .run = nccom_test,
};

struct arguments {
    struct nccom_case nccom;
    struct nccom_table table;
    struct nccom_sizes sizes;
    struct nccom_stream streams[NCCOM_STREAMS]; /* operations, one after the other or at once */
    size_t stream_count;
    unsigned long workers, nodes, iters, warmup_iters, neff_iters, neff_warmup_iters, seed, spread;
    const char *min, *max, *step, *factor, *dtype, *check, *ratio, *groups, *pairs, *metadata,
        *streams_file, *report;
    bool non_interactive;
};
#define NO_SEED ULONG_MAX

/* ---- Messages ------------------------------------------------------------------------------ */

static int usage(const char *format, const char *word)
{
    fprintf(stderr, "%s: ", command_title(&command_nccom_test));
    fprintf(stderr, format, word);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int usage_error(const struct error *err)
{
    char line[ERROR_LINE_SIZE];
    return usage("%s", error_line(err, line));
}

/* Options of the vendor's tool that cannot work here. */
static const struct {
    const char *name;
    char letter;
    const char *reason;
} refused[] = {
    {"hosts", 's', "workers are started on this machine only, without MPI"},
    {"hosts-file", 0, "workers are started on this machine only, without MPI"},
    {"mpi-log-dir", 0, "workers are started on this machine only, without MPI"},
    {"slurm-mode", 'S', "workers are started on this machine only, without Slurm"},
    {"slurm-vcpus-per-node", 'u', "workers are started on this machine only, without Slurm"},
    {"slurm-setup-script", 0, "workers are started on this machine only, without Slurm"},
    {"slurm-job-id", 0, "workers are started on this machine only, without Slurm"},
    {"slurm-use-head-node-neuron-bench", 0,
     "workers are started on this machine only, without Slurm"},
    {"data-collector-port", 0,
     "workers hand their results over through shared memory, not the network"},
    {"data-collector-host", 0,
     "workers hand their results over through shared memory, not the network"},
    {"shared-output-buff", 0, "workers are processes, which share no device memory"},
    {"sb2sb", 0, "collectives of cores in software read and write HBM, not SBUF"},
    {"input-shape", 0,
     "it is the layout of data in SBUF; collectives of cores in software use HBM"},
    {"output-shape", 0,
     "it is the layout of data in SBUF; collectives of cores in software use HBM"},
    {"cc-dim", 0, "it is the layout of data in SBUF; collectives of cores in software use HBM"},
};

/* Whether a word is one of them. */
static bool is_refused(const char *word, size_t index)
{
    const char *name = refused[index].name;
    size_t size = strlen(name);
    if (word[0] != '-')
        return false;
    if (word[1] != '-')
        return refused[index].letter && word[1] == refused[index].letter;
    return strncmp(word + 2, name, size) == 0 && (word[2 + size] == '\0' || word[2 + size] == '=');
}

static int refuse(int count, char **arguments)
{
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++)
        for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
            if (is_refused(arguments[i], k)) {
                fprintf(stderr, "%s: --%s is not supported: %s\n",
                        command_title(&command_nccom_test), refused[k].name, refused[k].reason);
                return EXIT_USAGE;
            }
    return EXIT_DONE;
}

/* ---- Options ------------------------------------------------------------------------------- */

static int take_size(const char *text, const char *option, uint64_t *size)
{
    char message[128];
    if (!text)
        return EXIT_DONE;
    if (nccom_size(text, size) && *size > 0)
        return EXIT_DONE;
    snprintf(message, sizeof message, "--%s takes a size such as 8, 512kb or 1gb, not %%s", option);
    return usage(message, text); /* NOLINT(*-format-nonliteral): made above */
}

static int take_sizes(struct arguments *given)
{
    struct nccom_sizes *sizes = &given->sizes;
    int result = take_size(given->min, "minbytes", &sizes->min);
    if (result == EXIT_DONE)
        result = take_size(given->max, "maxbytes", &sizes->max);
    if (result == EXIT_DONE)
        result = take_size(given->step, "stepbytes", &sizes->step);
    if (result == EXIT_DONE)
        result = take_size(given->factor, "stepfactor", &sizes->factor);
    if (result != EXIT_DONE)
        return result;
    if (sizes->min > sizes->max)
        return usage("--minbytes is more than %s", "--maxbytes");
    if (given->step && given->factor)
        return usage("--stepbytes and --stepfactor exclude each other%s", "");
    if (sizes->factor == 1)
        return usage("--stepfactor must be at least %s", "2");
    if (sizes->step == 0)
        sizes->step = (sizes->max - sizes->min) / 10 > 0 ? (sizes->max - sizes->min) / 10 : 1;
    return EXIT_DONE;
}

static int take_numbers(struct arguments *given)
{
    struct nccom_case *nccom = &given->nccom;
    enum { MOST = 65536 };
    if (given->workers == 0)
        return usage("--nworkers is missing: how many workers, e.g. %s", "-r 2");
    if (given->workers > MOST)
        return usage("--nworkers is more than %s", "65536");
    if (given->nodes == 0 || given->nodes > given->workers || given->workers % given->nodes != 0)
        return usage("--nnodes must divide the workers%s", "");
    if (given->iters == 0)
        return usage("--iters must be at least %s", "1");
    nccom->workers = (uint32_t)given->workers;
    nccom->nodes = (uint32_t)given->nodes;
    nccom->iters = given->iters;
    nccom->warmup_iters = given->warmup_iters;
    nccom->neff_iters = given->neff_iters;
    nccom->neff_warmup_iters = given->neff_warmup_iters;
    return EXIT_DONE;
}

static int take_check(struct arguments *given)
{
    struct nccom_case *nccom = &given->nccom;
    const char *compute = getenv("KYMO_NEURON_COMPUTE");
    nccom->check = !given->check                           ? NCCOM_UNCHECKED
                   : strcmp(given->check, "all_ones") == 0 ? NCCOM_ALL_ONES
                                                           : NCCOM_RANDOM;
    if (nccom->check != NCCOM_UNCHECKED && compute && strcmp(compute, "0") == 0)
        return usage("--check needs results: %s is set", "KYMO_NEURON_COMPUTE=0");
    if (given->seed != NO_SEED && nccom->check != NCCOM_RANDOM)
        return usage("--seed is for %s", "--check random");
    nccom->seed = given->seed;
    if (nccom->check == NCCOM_RANDOM && given->seed == NO_SEED) {
        nccom->seed = (uint64_t)time(NULL);
        log_info("--check: the seed is %" PRIu64, nccom->seed);
    }
    return EXIT_DONE;
}

/* "[1,2,1]" */
static int take_ratio(const char *text, struct nccom_stream *stream)
{
    const char *at = text ? text : "";
    if (!text)
        return EXIT_DONE;
    do {
        char *end;
        at += strspn(at, "[ ,");
        unsigned long part = strtoul(at, &end, 10);
        if (end == at || part == 0 || part > 1000000 || stream->ratio_count == NCCOM_PARTS)
            return usage("--coalesced-cc-size-ratio takes up to 64 numbers such as [1,2,1], not %s",
                         text);
        stream->ratio[stream->ratio_count++] = (uint32_t)part;
        at = end + strspn(end, " ");
    } while (*at == ',');
    return strcmp(at, "]") == 0 || *at == '\0'
               ? EXIT_DONE
               : usage("--coalesced-cc-size-ratio takes numbers such as [1,2,1], not %s", text);
}

/* What the files say about an operation. */
static bool take_files(const struct arguments *given, uint32_t index, struct nccom_stream *stream,
                       struct error *err)
{
    if (given->groups && !nccom_read_groups(given->groups, index, &stream->groups, err))
        return false;
    if (given->spread > 0 && !nccom_spread_groups((uint32_t)given->workers, (uint32_t)given->spread,
                                                  &stream->groups, err))
        return false;
    if (given->metadata && !nccom_read_metadata(given->metadata, &stream->metadata, err))
        return false;
    return !given->pairs || nccom_read_pairs(given->pairs, index, &stream->pairs, err);
}

static int take_operations(struct arguments *given, const char **operands, size_t count,
                           const struct nccom_stream *defaults)
{
    struct error err;
    for (size_t i = 0; i < count; i++) {
        struct nccom_stream stream = *defaults;
        double stat;
        if (given->table.stat_count > 0 && nccom_stat_named(operands[i], &stat))
            continue; /* a further value of --stats */
        if (!nccom_op_named(operands[i], &stream.op))
            return usage("unknown operation %s; expected allr, allg, allgv, redsct, sendrecv, "
                         "alltoall, alltoallv or permute",
                         operands[i]);
        if (given->stream_count == sizeof given->streams / sizeof *given->streams)
            return usage("too many operations: %s", operands[i]);
        struct nccom_stream *added = &given->streams[given->stream_count];
        *added = stream;
        given->stream_count++;
        if (!take_files(given, (uint32_t)given->stream_count - 1, added, &err))
            return usage_error(&err);
    }
    return given->stream_count > 0 ? EXIT_DONE
                                   : usage("missing argument: the operation, e.g. %s", "allr");
}

static int take_streams(struct arguments *given, size_t operand_count,
                        const struct nccom_stream *defaults)
{
    struct nccom_stream first = *defaults;
    struct error err;
    if (operand_count > 0 || given->groups || given->pairs || given->metadata || given->spread ||
        given->ratio)
        return usage("operations, groups, pairs, metadata and ratios are in the file of %s",
                     "--streams-json");
    first.bytes = given->sizes.min;
    if (given->max || given->step || given->factor)
        return usage("streams have one size each, \"minbytes\" or %s", "--minbytes");
    return nccom_read_streams(given->streams_file, given->nccom.workers, &first, given->streams,
                              &given->stream_count, &err)
               ? EXIT_DONE
               : usage_error(&err);
}

static int take_stats(struct arguments *given, const struct text_list *stats, const char **operands,
                      size_t count)
{
    struct nccom_table *table = &given->table;
    double stat;
    for (size_t i = 0; i < stats->count; i++) {
        if (!nccom_stat_named(stats->items[i], &stat))
            return usage("--stats takes avg or percentiles such as p50, not %s", stats->items[i]);
        table->percentiles[table->stat_count++] = stat;
    }
    for (size_t i = 0; stats->count > 0 && i < count; i++)
        if (nccom_stat_named(operands[i], &stat) && table->stat_count < NCCOM_STATS)
            table->percentiles[table->stat_count++] = stat;
    if (table->stat_count == 0)
        table->percentiles[table->stat_count++] = PERCENTILE_AVERAGE;
    return EXIT_DONE;
}

static int take_all(struct arguments *given, const struct text_list *stats, const char **operands,
                    size_t count)
{
    struct nccom_stream defaults = {.ops_per_iter = 1};
    bool has_stats = stats->count > 0;
    int result = take_numbers(given);
    if (result == EXIT_DONE)
        result = take_sizes(given);
    if (result == EXIT_DONE && !nccom_dtype_named(given->dtype, &defaults.dtype))
        result =
            usage("unknown data type %s; expected uint8, int8, fp8, uint16, int16, fp16, bf16, "
                  "uint32, int32 or fp32",
                  given->dtype);
    if (result == EXIT_DONE)
        result = take_check(given);
    if (result == EXIT_DONE)
        result = take_ratio(given->ratio, &defaults);
    if (result == EXIT_DONE && given->groups && given->spread > 0)
        result =
            usage("--custom-replica-groups and --data-parallel-dimension exclude each other%s", "");
    if (result == EXIT_DONE && has_stats)
        result = take_stats(given, stats, operands, count);
    if (result == EXIT_DONE)
        result = given->streams_file ? take_streams(given, count, &defaults)
                                     : take_operations(given, operands, count, &defaults);
    if (result == EXIT_DONE && !has_stats)
        result = take_stats(given, stats, operands, count);
    return result;
}

/* ---- Runs ---------------------------------------------------------------------------------- */

struct run {
    struct arguments *given;
    struct output report;
    struct json json;
    double bus_sum;
    uint64_t rows, errors;
};

/* The path of a new, empty file; NULL after a message. */
static char *make_log(void)
{
    const char *folder = getenv("TMPDIR");
    char *path = path_format("%s/nccom_test_log_XXXXXX.log", folder && *folder ? folder : "/tmp");
    int file = mkstemps(path, 4);
    if (file >= 0) {
        close(file);
        return path;
    }
    log_error("%s: cannot make a log file: %s", path, strerror(errno));
    mem_free(path);
    return NULL;
}

static void write_error(const char *path, const struct error *err)
{
    char line[ERROR_LINE_SIZE];
    FILE *log = fopen(path, "a");
    if (!log)
        return;
    fprintf(log, "%s\n", error_line(err, line));
    fclose(log);
}

static bool shows_progress(const struct arguments *given)
{
    return !given->non_interactive && !given->nccom.debug && isatty(STDERR_FILENO);
}

static void show_progress(const struct arguments *given, uint64_t size)
{
    if (!shows_progress(given))
        return;
    fflush(stdout);
    if (size > 0)
        fprintf(stderr, "%" PRIu64 " B ...", size);
    else
        fprintf(stderr, "\r\033[K");
}

static void take_row(struct run *run, const struct nccom_row *row)
{
    nccom_print_row(&run->given->table, row);
    if (run->given->report)
        nccom_write_row(&run->json, &run->given->table, row);
    run->bus_sum += nccom_bus_bandwidth(row);
    run->rows++;
}

/* One case: a row, or one for each of its streams. */
static bool run_case(struct run *run, struct nccom_stream *streams, size_t count)
{
    struct arguments *given = run->given;
    struct nccom_case *nccom = &given->nccom;
    struct nccom_result results[NCCOM_STREAMS] = {{.time_count = 0}};
    struct error err;
    char *log = make_log();
    if (!log)
        return false;
    nccom->streams = streams;
    nccom->stream_count = count;
    nccom->log = log;
    show_progress(given, streams[0].bytes);
    bool ok = nccom_run(nccom, results, &err);
    show_progress(given, 0);
    for (size_t i = 0; ok && i < count; i++)
        take_row(run, &(struct nccom_row){&streams[i], &results[i]});
    if (ok) {
        unlink(log);
    } else {
        write_error(log, &err);
        if (nccom->debug)
            print_error(&err);
        nccom_print_failure(&given->table, streams[0].bytes, log);
        run->errors++;
    }
    fflush(stdout);
    for (size_t i = 0; i < count; i++)
        nccom_result_free(&results[i]);
    mem_free(log);
    return true;
}

/* Calls visit for each size that is used. */
static bool each_size(struct run *run, struct nccom_stream *stream,
                      bool (*visit)(struct run *run, struct nccom_stream *stream))
{
    const struct nccom_sizes *sizes = &run->given->sizes;
    uint64_t size = sizes->min, last = 0;
    do {
        struct nccom_shape shape;
        struct error err;
        stream->bytes = size;
        if (!nccom_shape(stream, run->given->nccom.workers, &shape, &err)) {
            print_error(&err);
            return false;
        }
        stream->bytes = shape.bytes;
        if (shape.bytes != last && !visit(run, stream))
            return false;
        last = shape.bytes;
    } while (nccom_next_size(sizes, &size));
    return true;
}

static bool fit(struct run *run, struct nccom_stream *stream)
{
    struct nccom_shape shape;
    struct error err;
    if (nccom_shape(stream, run->given->nccom.workers, &shape, &err))
        nccom_table_fit(&run->given->table, stream, &shape);
    return true;
}

static bool run_size(struct run *run, struct nccom_stream *stream)
{
    return run_case(run, stream, 1);
}

/* All at once; sizes are as they are used. */
static bool run_streams(struct run *run)
{
    struct arguments *given = run->given;
    struct nccom_shape shape;
    struct error err;
    for (size_t i = 0; i < given->stream_count; i++) {
        if (!nccom_shape(&given->streams[i], given->nccom.workers, &shape, &err)) {
            print_error(&err);
            return false;
        }
        nccom_table_fit(&given->table, &given->streams[i], &shape);
    }
    nccom_print_head(&given->table);
    return run_case(run, given->streams, given->stream_count);
}

static bool run_all(struct run *run)
{
    struct arguments *given = run->given;
    given->table.shows_op = given->stream_count > 1;
    if (given->streams_file)
        return run_streams(run);
    for (size_t i = 0; i < given->stream_count; i++)
        if (!each_size(run, &given->streams[i], fit))
            return false;
    nccom_print_head(&given->table);
    for (size_t i = 0; i < given->stream_count; i++)
        if (!each_size(run, &given->streams[i], run_size))
            return false;
    return true;
}

static int conclude(const struct run *run)
{
    if (run->errors > 0)
        printf("%" PRIu64 " errors found - test failed\n", run->errors);
    else
        printf("Avg bus bandwidth:\t%.4fGB/s\n", run->bus_sum / (double)run->rows);
    int result = finish_printing();
    return run->errors > 0 ? EXIT_FAILED : result;
}

static int run_and_report(struct arguments *given)
{
    struct run run = {.given = given};
    struct error err;
    if (given->report) {
        if (!output_open(&run.report, given->report, &err)) {
            print_error(&err);
            return EXIT_FAILED;
        }
        json_begin(&run.json, &run.report, true);
        json_open(&run.json, '{');
        json_key(&run.json, "results");
        json_open(&run.json, '[');
    }
    bool ok = run_all(&run);
    int result = ok ? conclude(&run) : EXIT_FAILED;
    if (given->report) {
        json_close(&run.json, ']');
        json_close(&run.json, '}');
        if (!output_commit(&run.report, &err)) {
            print_error(&err);
            return EXIT_FAILED;
        }
    }
    return result;
}

/* Whether the workers can do it: what can be known before. */
static int check_case(struct arguments *given)
{
    struct error err;
    size_t together = given->streams_file ? given->stream_count : 1;
    for (size_t i = 0; i < given->stream_count; i += together) {
        if (!given->streams_file)
            given->streams[i].bytes = given->sizes.min;
        given->nccom.streams = &given->streams[i];
        given->nccom.stream_count = together;
        if (!nccom_check_streams(&given->nccom, &err))
            return usage_error(&err);
    }
    return EXIT_DONE;
}

static int nccom_test(int count, char **arguments)
{
    static const char *const checks[] = {"random", "all_ones", NULL};
    static struct arguments given;
    struct nccom_case *nccom = &given.nccom;
    const char *stat_items[NCCOM_STATS];
    struct text_list stats = {stat_items, 0, NCCOM_STATS};
    given = (struct arguments){.sizes = {.min = 32 << 20, .max = 32 << 20},
                               .dtype = "uint8",
                               .nodes = 1,
                               .iters = 20,
                               .warmup_iters = 5};
    given.seed = NO_SEED;
    const struct option table[] = {
        {"nworkers", 'r', OPTION_NUMBER, &given.workers, "N", "workers: the ranks", NULL},
        {"nnodes", 'N', OPTION_NUMBER, &given.nodes, "N",
         "nodes that the workers are divided among, all on this machine (default: 1)", NULL},
        {"minbytes", 'b', OPTION_TEXT, &given.min, "SIZE", "the first size (default: 32M)", NULL},
        {"maxbytes", 'e', OPTION_TEXT, &given.max, "SIZE", "the last size (default: 32M)", NULL},
        {"stepbytes", 'i', OPTION_TEXT, &given.step, "SIZE",
         "what is added to a size (default: a tenth of the difference)", NULL},
        {"stepfactor", 'f', OPTION_TEXT, &given.factor, "FACTOR",
         "what a size is multiplied by instead", NULL},
        {"iters", 'n', OPTION_NUMBER, &given.iters, "N",
         "measured operations; with -I or -W: in a NEFF (default: 20)", NULL},
        {"warmup_iters", 'w', OPTION_NUMBER, &given.warmup_iters, "N",
         "operations before them that are not measured (default: 5)", NULL},
        {"neff_iters", 'I', OPTION_NUMBER, &given.neff_iters, "N",
         "executions of a NEFF with --iters operations", NULL},
        {"neff_warmup_iters", 'W', OPTION_NUMBER, &given.neff_warmup_iters, "N",
         "executions before them that are not measured", NULL},
        {"datatype", 'd', OPTION_TEXT, &given.dtype, "TYPE",
         "uint8, int8, fp8, uint16, int16, fp16, bf16, uint32, int32, fp32 (default: uint8)", NULL},
        {"check", 'c', OPTION_MAYBE, &given.check, "DATA",
         "compare all outputs with what they must be; inputs are random (default) or ones", checks},
        {"seed", 0, OPTION_NUMBER, &given.seed, "N", "of random inputs (default: the time)", NULL},
        {"unique-buff", 0, OPTION_FLAG, &nccom->unique_buffers, NULL,
         "buffers of its own for each operation", NULL},
        {"coalesced-cc-size-ratio", 0, OPTION_TEXT, &given.ratio, "RATIO",
         "make each operation of several of these sizes, e.g. [1,2,1], at once", NULL},
        {"variable-size-op-metadata", 0, OPTION_TEXT, &given.metadata, "FILE",
         "JSON: counts and displacements of alltoallv and allgv", NULL},
        {"alltoallv-metadata", 0, OPTION_TEXT, &given.metadata, "FILE",
         "older name of --variable-size-op-metadata", NULL},
        {"custom-replica-groups", 0, OPTION_TEXT, &given.groups, "FILE",
         "JSON: groups of ranks that exchange data", NULL},
        {"custom-replica-group", 0, OPTION_TEXT, &given.groups, "FILE",
         "older name of --custom-replica-groups", NULL},
        {"custom-src-target-pairs", 0, OPTION_TEXT, &given.pairs, "FILE",
         "JSON: source and target pairs of permute", NULL},
        {"data-parallel-dimension", 0, OPTION_NUMBER, &given.spread, "N",
         "groups of N ranks, as far apart as possible", NULL},
        {"streams-json", 0, OPTION_TEXT, &given.streams_file, "FILE",
         "JSON: operations that run at the same time, instead of those of the command line", NULL},
        {"stats", 't', OPTION_LIST, &stats, "STAT",
         "avg or percentiles such as p50; several may follow (default: avg)", NULL},
        {"show-algorithm", 0, OPTION_FLAG, &given.table.shows_algorithm, NULL,
         "a column with the algorithm: mesh or ring", NULL},
        {"show-input-output-size", 0, OPTION_FLAG, &given.table.shows_sizes, NULL,
         "columns with the sizes of a rank's input and output", NULL},
        {"report-to-json-file", 0, OPTION_TEXT, &given.report, "FILE", "write results as JSON",
         NULL},
        {"vcpu-pin-mode", 0, OPTION_FLAG, &nccom->pins_threads, NULL,
         "pin each worker to a processor", NULL},
        {"non-interactive", 0, OPTION_FLAG, &given.non_interactive, NULL,
         "show no progress on a terminal", NULL},
        {"debug", 0, OPTION_FLAG, &nccom->debug, NULL,
         "print what the workers and their runtime log", NULL},
        {"runtime", 0, OPTION_TEXT, &nccom->library, "FILE",
         "runtime library (default: Kymo's libnrt.so.1, NeuronCores in software)", NULL},
        LOG_LEVEL_OPTION,
    };
    const char *operands[OPERANDS_MAX];
    size_t operand_count;
    int result = refuse(count, arguments);
    if (result == EXIT_DONE)
        result = options_read(&command_nccom_test, table, sizeof table / sizeof *table, count,
                              arguments, operands, OPERANDS_MAX, &operand_count);
    if (result == EXIT_DONE)
        result = take_all(&given, &stats, operands, operand_count);
    if (result == EXIT_DONE)
        result = check_case(&given);
    if (result == EXIT_DONE)
        result = run_and_report(&given);
    for (size_t i = 0; i < given.stream_count; i++)
        nccom_stream_free(&given.streams[i]);
    return result;
}

/*
 * kymo nccom-test: measures collectives on NeuronCores in software.
 */
#include "base/wire/wire.h"
#include "cli/nccom_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OPERANDS_MAX = 64 };

static int nccom_test(int count, char **arguments);

const struct command command_nccom_test = {
    .name = "nccom-test",
    .summary = "Measure collective operations on NeuronCores.",
    .about =
        "Runs collective operations of one or several sizes on all workers and prints how long "
        "they take. The operations are all_reduce (allr), all_gather (allg), all_gatherv (allgv), "
        "reduce_scatter (redsct), sendrecv, alltoall, alltoallv, permute; several are measured one "
        "after the other. Each worker is a thread with its own NeuronCore; the workers exchange "
        "real data, and --check compares every output with the expected one.\n\n"
        "Times are those of the simulated device's clock, from when a core starts a collective, "
        "before it waits for the others, until it has the result. GB are 10^9 bytes. algbw is "
        "the size divided by the average time; with r ranks, busbw is algbw times 2(r-1)/r for "
        "all_reduce, 1 for sendrecv and permute, and (r-1)/r for the others.\n\n"
        "Sizes are numbers of bytes, or end in kb, mb or gb. A size that cannot be divided among "
        "the ranks is rounded down, or up to one element per rank; the table shows the size that "
        "was used. Without --check, inputs are zero.",
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

/* ---- Runs ---------------------------------------------------------------------------------- */

struct run {
    struct nccom_arguments *given;
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
    log_error("%s: cannot create a log file: %s", path, strerror(errno));
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

static bool shows_progress(const struct nccom_arguments *given)
{
    return !given->non_interactive && !given->nccom.debug && isatty(STDERR_FILENO);
}

static void show_progress(const struct nccom_arguments *given, uint64_t size)
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
    struct nccom_arguments *given = run->given;
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
    struct nccom_arguments *given = run->given;
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
    struct nccom_arguments *given = run->given;
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

/* The report is opened before the first measurement, which may take long, and written even if some
 * of them failed. */
static int run_and_report(struct nccom_arguments *given)
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

/* static, because the streams make it too large for the stack. Options of the vendor's tool that
 * cannot work here are refused with the reason, before others are parsed. */
static int nccom_test(int count, char **arguments)
{
    static const char *const checks[] = {"random", "all_ones", NULL};
    static struct nccom_arguments given;
    const char *operands[OPERANDS_MAX], *stat_items[NCCOM_STATS];
    struct text_list stats = {stat_items, 0, NCCOM_STATS};
    size_t operand_count;
    given = (struct nccom_arguments){.sizes = {.min = 32 << 20, .max = 32 << 20},
                                     .dtype = "uint8",
                                     .nodes = 1,
                                     .iters = 20,
                                     .warmup_iters = 5,
                                     .seed = NCCOM_NO_SEED};
    const struct option table[] = {NCCOM_SIZE_OPTIONS(given, checks), NCCOM_DATA_OPTIONS(given),
                                   NCCOM_OUTPUT_OPTIONS(given, stats), LOG_LEVEL_OPTION};
    int result = nccom_refuse(count, arguments);
    if (result == EXIT_DONE)
        result = options_read(&command_nccom_test, table, sizeof table / sizeof *table, count,
                              arguments, operands, OPERANDS_MAX, &operand_count);
    if (result == EXIT_DONE)
        result = nccom_take(&given, &stats, operands, operand_count);
    if (result == EXIT_DONE)
        result = run_and_report(&given);
    nccom_arguments_free(&given);
    return result;
}

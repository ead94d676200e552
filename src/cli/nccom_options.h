/*
 * Options of nccom-test, as given and as understood.
 */
#ifndef KYMO_CLI_NCCOM_OPTIONS_H
#define KYMO_CLI_NCCOM_OPTIONS_H

#include "cli/cli.h"
#include "cli/nccom_report.h"

struct nccom_arguments {
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
#define NCCOM_NO_SEED ULONG_MAX

#define NCCOM_SIZE_OPTIONS(given, checks)                                                           \
    {"nworkers", 'r', OPTION_NUMBER, &(given).workers, "N", "number of workers (ranks)", NULL},     \
        {"nnodes",                                                                                  \
         'N',                                                                                       \
         OPTION_NUMBER,                                                                             \
         &(given).nodes,                                                                            \
         "N",                                                                                       \
         "number of nodes to divide the workers among, all on this machine (default: 1)",           \
         NULL},                                                                                     \
        {"minbytes", 'b', OPTION_TEXT, &(given).min, "SIZE", "smallest size (default: 32M)", NULL}, \
        {"maxbytes", 'e', OPTION_TEXT, &(given).max, "SIZE", "largest size (default: 32M)", NULL},  \
        {"stepbytes",   'i',    OPTION_TEXT,                                                        \
         &(given).step, "SIZE", "step between sizes (default: a tenth of the range)",               \
         NULL},                                                                                     \
        {"stepfactor", 'f',                                                                         \
         OPTION_TEXT,  &(given).factor,                                                             \
         "FACTOR",     "multiply sizes by this factor instead",                                     \
         NULL},                                                                                     \
        {"iters",       'n',                                                                        \
         OPTION_NUMBER, &(given).iters,                                                             \
         "N",           "operations to measure; with -I or -W, per NEFF (default: 20)",             \
         NULL},                                                                                     \
        {"warmup_iters",                                                                            \
         'w',                                                                                       \
         OPTION_NUMBER,                                                                             \
         &(given).warmup_iters,                                                                     \
         "N",                                                                                       \
         "warm-up operations, which are not measured (default: 5)",                                 \
         NULL},                                                                                     \
        {"neff_iters",  'I',                                                                        \
         OPTION_NUMBER, &(given).neff_iters,                                                        \
         "N",           "executions to measure of a NEFF with --iters operations",                  \
         NULL},                                                                                     \
        {"neff_warmup_iters",                                                                       \
         'W',                                                                                       \
         OPTION_NUMBER,                                                                             \
         &(given).neff_warmup_iters,                                                                \
         "N",                                                                                       \
         "warm-up executions, which are not measured",                                              \
         NULL},                                                                                     \
        {"datatype",                                                                                \
         'd',                                                                                       \
         OPTION_TEXT,                                                                               \
         &(given).dtype,                                                                            \
         "TYPE",                                                                                    \
         "uint8, int8, fp8, uint16, int16, fp16, bf16, uint32, int32 or fp32 (default: uint8)",     \
         NULL},                                                                                     \
        {"check",        'c',    OPTION_MAYBE,                                                      \
         &(given).check, "DATA", "check all outputs; inputs are random (default) or all ones",      \
         checks},                                                                                   \
    {                                                                                               \
        "seed", 0, OPTION_NUMBER, &(given).seed, "N", "seed of random inputs (default: the time)",  \
            NULL                                                                                    \
    }

#define NCCOM_DATA_OPTIONS(given)                                                                  \
    {"unique-buff", 0,                                                                             \
     OPTION_FLAG,   &(given).nccom.unique_buffers,                                                 \
     NULL,          "use separate buffers for each operation",                                     \
     NULL},                                                                                        \
        {"coalesced-cc-size-ratio",                                                                \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).ratio,                                                                           \
         "RATIO",                                                                                  \
         "split each operation into several concurrent ones with this size ratio, e.g. [1,2,1]",   \
         NULL},                                                                                    \
        {"variable-size-op-metadata",                                                              \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).metadata,                                                                        \
         "FILE",                                                                                   \
         "JSON file with the counts and displacements of alltoallv and allgv",                     \
         NULL},                                                                                    \
        {"alltoallv-metadata",                                                                     \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).metadata,                                                                        \
         "FILE",                                                                                   \
         "older name of --variable-size-op-metadata",                                              \
         NULL},                                                                                    \
        {"custom-replica-groups",                                                                  \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).groups,                                                                          \
         "FILE",                                                                                   \
         "JSON file with the groups of ranks that exchange data",                                  \
         NULL},                                                                                    \
        {"custom-replica-group",                                                                   \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).groups,                                                                          \
         "FILE",                                                                                   \
         "older name of --custom-replica-groups",                                                  \
         NULL},                                                                                    \
        {"custom-src-target-pairs",                                                                \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).pairs,                                                                           \
         "FILE",                                                                                   \
         "JSON file with the source and target pairs of permute",                                  \
         NULL},                                                                                    \
        {"data-parallel-dimension",                                                                \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(given).spread,                                                                          \
         "N",                                                                                      \
         "use groups of N ranks, as far apart as possible",                                        \
         NULL},                                                                                    \
    {                                                                                              \
        "streams-json", 0, OPTION_TEXT, &(given).streams_file, "FILE",                             \
            "JSON file with operations to run concurrently, instead of those on the command line", \
            NULL                                                                                   \
    }

#define NCCOM_OUTPUT_OPTIONS(given, stats)                                                         \
    {"stats",  't',    OPTION_LIST,                                                                \
     &(stats), "STAT", "avg or percentiles such as p50; takes several values (default: avg)",      \
     NULL},                                                                                        \
        {"show-algorithm",                                                                         \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         &(given).table.shows_algorithm,                                                           \
         NULL,                                                                                     \
         "add a column with the algorithm: mesh or ring",                                          \
         NULL},                                                                                    \
        {"show-input-output-size",                                                                 \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         &(given).table.shows_sizes,                                                               \
         NULL,                                                                                     \
         "add columns with the sizes of a rank's input and output",                                \
         NULL},                                                                                    \
        {"report-to-json-file",                                                                    \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).report,                                                                          \
         "FILE",                                                                                   \
         "write results as JSON to this file",                                                     \
         NULL},                                                                                    \
        {"vcpu-pin-mode",                                                                          \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         &(given).nccom.pins_threads,                                                              \
         NULL,                                                                                     \
         "pin each worker to a processor",                                                         \
         NULL},                                                                                    \
        {"non-interactive",                                                                        \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         &(given).non_interactive,                                                                 \
         NULL,                                                                                     \
         "do not show progress on a terminal",                                                     \
         NULL},                                                                                    \
        {"debug",     0,                                                                           \
         OPTION_FLAG, &(given).nccom.debug,                                                        \
         NULL,        "print the logs of the workers and their runtime",                           \
         NULL},                                                                                    \
    {                                                                                              \
        "runtime", 0, OPTION_TEXT, &(given).nccom.library, "FILE",                                 \
            "runtime library (default: Kymo's libnrt.so.1, NeuronCores in software)", NULL         \
    }

/* Each returns EXIT_DONE, or EXIT_USAGE after a message. */
/* Options of the vendor's tool that cannot work here. */
int nccom_refuse(int count, char **arguments);
/* From texts to the case, its sizes, streams and columns. */
int nccom_take(struct nccom_arguments *given, const struct text_list *stats, const char **operands,
               size_t count);
void nccom_arguments_free(struct nccom_arguments *given);

#endif

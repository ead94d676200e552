/*
 * Options of nccom-test: what is given, and what it means.
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

#define NCCOM_SIZE_OPTIONS(given, checks)                                                            \
    {"nworkers", 'r', OPTION_NUMBER, &(given).workers, "N", "workers: the ranks", NULL},             \
        {"nnodes",                                                                                   \
         'N',                                                                                        \
         OPTION_NUMBER,                                                                              \
         &(given).nodes,                                                                             \
         "N",                                                                                        \
         "nodes that the workers are divided among, all on this machine (default: 1)",               \
         NULL},                                                                                      \
        {"minbytes", 'b', OPTION_TEXT, &(given).min, "SIZE", "the first size (default: 32M)", NULL}, \
        {"maxbytes", 'e', OPTION_TEXT, &(given).max, "SIZE", "the last size (default: 32M)", NULL},  \
        {"stepbytes",   'i',    OPTION_TEXT,                                                         \
         &(given).step, "SIZE", "what is added to a size (default: a tenth of the difference)",      \
         NULL},                                                                                      \
        {"stepfactor", 'f',                                                                          \
         OPTION_TEXT,  &(given).factor,                                                              \
         "FACTOR",     "what a size is multiplied by instead",                                       \
         NULL},                                                                                      \
        {"iters",       'n',                                                                         \
         OPTION_NUMBER, &(given).iters,                                                              \
         "N",           "measured operations; with -I or -W: in a NEFF (default: 20)",               \
         NULL},                                                                                      \
        {"warmup_iters",                                                                             \
         'w',                                                                                        \
         OPTION_NUMBER,                                                                              \
         &(given).warmup_iters,                                                                      \
         "N",                                                                                        \
         "operations before them that are not measured (default: 5)",                                \
         NULL},                                                                                      \
        {"neff_iters",  'I',                                                                         \
         OPTION_NUMBER, &(given).neff_iters,                                                         \
         "N",           "executions of a NEFF with --iters operations",                              \
         NULL},                                                                                      \
        {"neff_warmup_iters",                                                                        \
         'W',                                                                                        \
         OPTION_NUMBER,                                                                              \
         &(given).neff_warmup_iters,                                                                 \
         "N",                                                                                        \
         "executions before them that are not measured",                                             \
         NULL},                                                                                      \
        {"datatype",                                                                                 \
         'd',                                                                                        \
         OPTION_TEXT,                                                                                \
         &(given).dtype,                                                                             \
         "TYPE",                                                                                     \
         "uint8, int8, fp8, uint16, int16, fp16, bf16, uint32, int32, fp32 (default: uint8)",        \
         NULL},                                                                                      \
        {"check",                                                                                    \
         'c',                                                                                        \
         OPTION_MAYBE,                                                                               \
         &(given).check,                                                                             \
         "DATA",                                                                                     \
         "compare all outputs with what they must be; inputs are random (default) or ones",          \
         checks},                                                                                    \
    {                                                                                                \
        "seed", 0, OPTION_NUMBER, &(given).seed, "N", "of random inputs (default: the time)", NULL   \
    }

#define NCCOM_DATA_OPTIONS(given)                                                                  \
    {"unique-buff", 0,                                                                             \
     OPTION_FLAG,   &(given).nccom.unique_buffers,                                                 \
     NULL,          "buffers of its own for each operation",                                       \
     NULL},                                                                                        \
        {"coalesced-cc-size-ratio",                                                                \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).ratio,                                                                           \
         "RATIO",                                                                                  \
         "make each operation of several of these sizes, e.g. [1,2,1], at once",                   \
         NULL},                                                                                    \
        {"variable-size-op-metadata",                                                              \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(given).metadata,                                                                        \
         "FILE",                                                                                   \
         "JSON: counts and displacements of alltoallv and allgv",                                  \
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
         "JSON: groups of ranks that exchange data",                                               \
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
         "JSON: source and target pairs of permute",                                               \
         NULL},                                                                                    \
        {"data-parallel-dimension",                                                                \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(given).spread,                                                                          \
         "N",                                                                                      \
         "groups of N ranks, as far apart as possible",                                            \
         NULL},                                                                                    \
    {                                                                                              \
        "streams-json", 0, OPTION_TEXT, &(given).streams_file, "FILE",                             \
            "JSON: operations that run at the same time, instead of those of the command line",    \
            NULL                                                                                   \
    }

#define NCCOM_OUTPUT_OPTIONS(given, stats)                                                         \
    {"stats",  't',    OPTION_LIST,                                                                \
     &(stats), "STAT", "avg or percentiles such as p50; several may follow (default: avg)",        \
     NULL},                                                                                        \
        {"show-algorithm",                                                                         \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         &(given).table.shows_algorithm,                                                           \
         NULL,                                                                                     \
         "a column with the algorithm: mesh or ring",                                              \
         NULL},                                                                                    \
        {"show-input-output-size",                                                                 \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         &(given).table.shows_sizes,                                                               \
         NULL,                                                                                     \
         "columns with the sizes of a rank's input and output",                                    \
         NULL},                                                                                    \
        {"report-to-json-file",   0,   OPTION_TEXT, &(given).report, "FILE",                       \
         "write results as JSON", NULL},                                                           \
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
         "show no progress on a terminal",                                                         \
         NULL},                                                                                    \
        {"debug",     0,                                                                           \
         OPTION_FLAG, &(given).nccom.debug,                                                        \
         NULL,        "print what the workers and their runtime log",                              \
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

/*
 * Takes the options of nccom-test apart.
 */
#include "cli/nccom_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- Messages ------------------------------------------------------------------------------ */

static int usage(const char *format, const char *word)
{
    fprintf(stderr, "%s: ", title_of_command("nccom-test"));
    fprintf(stderr, format, word);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int usage_error(const struct error *err)
{
    char line[ERROR_LINE_SIZE];
    return usage("%s", error_line(err, line));
}

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
     "workers return their results through shared memory, not the network"},
    {"data-collector-host", 0,
     "workers return their results through shared memory, not the network"},
    {"shared-output-buff", 0, "workers do not share device memory"},
    {"sb2sb", 0, "collectives of software cores use HBM, not SBUF"},
    {"input-shape", 0, "it sets the layout of data in SBUF; collectives of software cores use HBM"},
    {"output-shape", 0,
     "it sets the layout of data in SBUF; collectives of software cores use HBM"},
    {"cc-dim", 0, "it sets the layout of data in SBUF; collectives of software cores use HBM"},
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

int nccom_refuse(int count, char **arguments)
{
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++)
        for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
            if (is_refused(arguments[i], k)) {
                fprintf(stderr, "%s: --%s is not supported: %s\n", title_of_command("nccom-test"),
                        refused[k].name, refused[k].reason);
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

static int take_sizes(struct nccom_arguments *given)
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
        return usage("--minbytes is larger than %s", "--maxbytes");
    if (given->step && given->factor)
        return usage("--stepbytes and --stepfactor exclude each other%s", "");
    if (sizes->factor == 1)
        return usage("--stepfactor must be at least %s", "2");
    if (sizes->step == 0)
        sizes->step = (sizes->max - sizes->min) / 10 > 0 ? (sizes->max - sizes->min) / 10 : 1;
    return EXIT_DONE;
}

static int take_numbers(struct nccom_arguments *given)
{
    struct nccom_case *nccom = &given->nccom;
    enum { MOST = 65536 };
    if (given->workers == 0)
        return usage("--nworkers is missing: the number of workers, e.g. %s", "-r 2");
    if (given->workers > MOST)
        return usage("--nworkers must be at most %s", "65536");
    if (given->nodes == 0 || given->nodes > given->workers || given->workers % given->nodes != 0)
        return usage("--nnodes must divide the number of workers%s", "");
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

static int take_check(struct nccom_arguments *given)
{
    struct nccom_case *nccom = &given->nccom;
    const char *compute = getenv("KYMO_NEURON_COMPUTE");
    nccom->check = !given->check                           ? NCCOM_UNCHECKED
                   : strcmp(given->check, "all_ones") == 0 ? NCCOM_ALL_ONES
                                                           : NCCOM_RANDOM;
    if (nccom->check != NCCOM_UNCHECKED && compute && strcmp(compute, "0") == 0)
        return usage("--check needs results: %s is set", "KYMO_NEURON_COMPUTE=0");
    if (given->seed != NCCOM_NO_SEED && nccom->check != NCCOM_RANDOM)
        return usage("--seed requires %s", "--check random");
    nccom->seed = given->seed;
    if (nccom->check == NCCOM_RANDOM && given->seed == NCCOM_NO_SEED) {
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

/* Reads an operation's groups, pairs and metadata from the files. */
static bool take_files(const struct nccom_arguments *given, uint32_t index,
                       struct nccom_stream *stream, struct error *err)
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

static int take_operations(struct nccom_arguments *given, const char **operands, size_t count,
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

static int take_streams(struct nccom_arguments *given, size_t operand_count,
                        const struct nccom_stream *defaults)
{
    struct nccom_stream first = *defaults;
    struct error err;
    if (operand_count > 0 || given->groups || given->pairs || given->metadata || given->spread ||
        given->ratio)
        return usage(
            "operations, groups, pairs, metadata and ratios must be given in the file of %s",
            "--streams-json");
    first.bytes = given->sizes.min;
    if (given->max || given->step || given->factor)
        return usage("streams have one size each, \"minbytes\" or %s", "--minbytes");
    return nccom_read_streams(given->streams_file, given->nccom.workers, &first, given->streams,
                              &given->stream_count, &err)
               ? EXIT_DONE
               : usage_error(&err);
}

static int take_stats(struct nccom_arguments *given, const struct text_list *stats,
                      const char **operands, size_t count)
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

/* --stats takes several values, which look like operations: they must be taken before operations,
 * and the default after. */
static int take_all(struct nccom_arguments *given, const struct text_list *stats,
                    const char **operands, size_t count)
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

/* Whether the workers can run it, as far as can be checked in advance. */
static int check_case(struct nccom_arguments *given)
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

int nccom_take(struct nccom_arguments *given, const struct text_list *stats, const char **operands,
               size_t count)
{
    int result = take_all(given, stats, operands, count);
    return result == EXIT_DONE ? check_case(given) : result;
}

void nccom_arguments_free(struct nccom_arguments *given)
{
    for (size_t i = 0; i < given->stream_count; i++)
        nccom_stream_free(&given->streams[i]);
}

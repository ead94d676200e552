/*
 * Generates the dataset of a training run of any size, with planted faults:
 *
 * gen_run --ranks 1024 --steps 1000 --straggler compute:17:1.2:300 --faults-out faults.json D
 */
#include "gen_run.h"

#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: gen_run [options] DATASET\n"
    "  --run NAME  --ranks N  --steps N  --machine-ranks N  --seed N  --jobs N\n"
    "  --tensor N  --pipeline N     ranks of a tensor group (default: a machine), stages; the\n"
    "                               rest of the ranks are replicas\n"
    "  --layers N  --microbatches N  --no-barrier  --no-kernels\n"
    "  --overlap                    gradients are reduced beside the work that follows\n"
    "  --noise X                    of a rank's work (default: 0.01)\n"
    "  --imbalance X                how much more the last stage computes (default: 0)\n"
    "planted faults:\n"
    "  --straggler KIND:RANK:FACTOR[:FROM_STEP[:EVERY]]  KIND: compute, kernel, host, copy\n"
    "  --slow-link COMMUNICATOR:FACTOR      such as dp_0, tp_3\n"
    "  --slow-operation OPERATION:FACTOR    such as allgather\n"
    "  --clocks OFFSET_NS:DRIFT_PPM         at most this, at random for each machine\n"
    "  --lost-rank RANK  --lost-start RANK:STEP  --outlier STEP:FACTOR  --drift FACTOR\n"
    "  --faults-out FILE                    what was planted, as JSON\n";

static bool refuse(const char *option, const char *value)
{
    fprintf(stderr, "gen_run: %s %s is not understood\n%s", option, value, usage);
    return false;
}

/* Splits "a:b:c" in place; returns the number of fields. */
static size_t split(char *value, char **fields, size_t max)
{
    size_t count = 0;
    for (char *at = value; at && count < max; count++) {
        fields[count] = at;
        at = strchr(at, ':');
        if (at)
            *at++ = '\0';
    }
    return count;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

static bool find_word(const char *word, const char *const *words, size_t count, size_t *found)
{
    for (*found = 0; *found < count; ++*found)
        if (strcmp(words[*found], word) == 0)
            return true;
    return false;
}

static bool read_straggler(struct run *run, char *value)
{
    char *fields[5];
    size_t count = split(value, fields, 5), kind;
    if (count < 3 || !find_word(fields[0], work_kinds, WORK_KINDS, &kind))
        return refuse("--straggler", value);
    uint64_t every = count > 4 ? number(fields[4]) : 1;
    *array_push(&run->faults.stragglers) =
        (struct straggler){.kind = (enum work_kind)kind,
                           .rank = number(fields[1]),
                           .factor = strtod(fields[2], NULL),
                           .first_step = count > 3 ? number(fields[3]) : 0,
                           .every = every ? every : 1};
    return true;
}

static bool read_link(struct run *run, char *value)
{
    char *fields[2];
    if (split(value, fields, 2) < 2)
        return refuse("--slow-link", value);
    struct slow_link *link = array_push(&run->faults.slow_links);
    snprintf(link->communicator, sizeof link->communicator, "%s", fields[0]);
    link->factor = strtod(fields[1], NULL);
    return true;
}

static bool read_operation(struct run *run, char *value)
{
    char *fields[2];
    size_t operation;
    if (split(value, fields, 2) < 2 ||
        !find_word(fields[0], operation_names, OPERATIONS, &operation))
        return refuse("--slow-operation", value);
    run->faults.slow_operation[operation] = strtod(fields[1], NULL);
    return true;
}

static bool read_fault(struct run *run, const char *option, char *value)
{
    char *fields[2];
    if (strcmp(option, "--straggler") == 0)
        return read_straggler(run, value);
    if (strcmp(option, "--slow-link") == 0)
        return read_link(run, value);
    if (strcmp(option, "--slow-operation") == 0)
        return read_operation(run, value);
    if (strcmp(option, "--drift") == 0) {
        run->faults.drift = strtod(value, NULL);
    } else if (strcmp(option, "--lost-rank") == 0) {
        *array_push(&run->faults.lost_ranks) = number(value);
    } else if (split(value, fields, 2) < 2) {
        return refuse(option, value);
    } else if (strcmp(option, "--clocks") == 0) {
        run->clock_offset_ns = strtod(fields[0], NULL);
        run->clock_drift_ppm = strtod(fields[1], NULL);
    } else if (strcmp(option, "--lost-start") == 0) {
        *array_push(&run->faults.lost_starts) =
            (struct lost_start){number(fields[0]), number(fields[1])};
    } else if (strcmp(option, "--outlier") == 0) {
        *array_push(&run->faults.outliers) =
            (struct step_fault){number(fields[0]), strtod(fields[1], NULL)};
    } else {
        return refuse(option, value);
    }
    return true;
}

static bool read_option(struct run *run, const char *option, char *value)
{
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {{"--ranks", &run->ranks},
                   {"--steps", &run->steps},
                   {"--machine-ranks", &run->machine_ranks},
                   {"--seed", &run->seed},
                   {"--tensor", &run->tensor},
                   {"--pipeline", &run->pipeline},
                   {"--layers", &run->layers},
                   {"--microbatches", &run->microbatches},
                   {"--jobs", &run->jobs}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(option, numbers[i].name) == 0) {
            *numbers[i].value = number(value);
            return true;
        }
    if (strcmp(option, "--run") == 0)
        run->name = value;
    else if (strcmp(option, "--noise") == 0)
        run->noise = strtod(value, NULL);
    else if (strcmp(option, "--imbalance") == 0)
        run->imbalance = strtod(value, NULL);
    else
        return read_fault(run, option, value);
    return true;
}

static bool check(struct run *run)
{
    if (run->tensor == 0)
        run->tensor = run->machine_ranks;
    if (run->ranks == 0 || run->steps == 0 || run->machine_ranks == 0 || run->pipeline == 0 ||
        run->tensor > run->machine_ranks || run->ranks % (run->tensor * run->pipeline) != 0) {
        fprintf(stderr, "gen_run: ranks must be a multiple of tensor x pipeline, and tensor groups "
                        "be within a machine\n");
        return false;
    }
    if (2 * run->microbatches * (run->layers + 2) + 3 > MAX_MEETINGS) {
        fprintf(stderr, "gen_run: too many layers and microbatches\n");
        return false;
    }
    run->data = run->ranks / (run->tensor * run->pipeline);
    run->clocks = mem_zeroed(machines_of(run), sizeof *run->clocks);
    for (uint64_t i = 0; i < machines_of(run); i++)
        run->clocks[i] = (struct clock_fault){
            .offset_ns = run->clock_offset_ns * (2 * random_unit(run, 7, i, 0) - 1),
            .drift_ppm = run->clock_drift_ppm * (2 * random_unit(run, 8, i, 0) - 1)};
    return true;
}

static bool read_options(struct run *run, int count, char **arguments, const char **faults_out)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--no-barrier") == 0)
            run->has_barrier = false;
        else if (strcmp(arguments[i], "--no-kernels") == 0)
            run->has_kernels = false;
        else if (strcmp(arguments[i], "--overlap") == 0)
            run->has_overlap = true;
        else if (strncmp(arguments[i], "--", 2) != 0)
            run->dataset = arguments[i];
        else if (i + 1 == count)
            return refuse(arguments[i], "");
        else if (strcmp(arguments[i], "--faults-out") == 0)
            *faults_out = arguments[++i];
        else if (!read_option(run, arguments[i], arguments[i + 1]))
            return false;
        else
            i++;
    }
    if (!run->dataset)
        fputs(usage, stderr);
    return run->dataset && check(run);
}

static void free_run(struct run *run)
{
    array_free(&run->faults.stragglers);
    array_free(&run->faults.slow_links);
    array_free(&run->faults.lost_ranks);
    array_free(&run->faults.lost_starts);
    array_free(&run->faults.outliers);
    mem_free(run->clocks);
}

int main(int count, char **arguments)
{
    struct run run = {.name = "run",
                      .ranks = 16,
                      .steps = 60,
                      .machine_ranks = 8,
                      .seed = 1,
                      .layers = 2,
                      .microbatches = 1,
                      .pipeline = 1,
                      .has_barrier = true,
                      .has_kernels = true,
                      .noise = 0.01,
                      .faults.drift = 1};
    for (size_t i = 0; i < OPERATIONS; i++)
        run.faults.slow_operation[i] = 1;
    const char *faults_out = NULL;
    struct error err;
    if (!read_options(&run, count, arguments, &faults_out))
        return 2;
    int64_t *ends = mem_zeroed(run.steps * matches_of(&run) + 1, sizeof *ends);
    bool ok = run_simulate(&run, ends, &err) && run_write(&run, ends, &err) &&
              (!faults_out || faults_write(&run, faults_out, &err));
    mem_free(ends);
    free_run(&run);
    if (!ok) {
        char line[ERROR_LINE_SIZE];
        fprintf(stderr, "gen_run: %s\n", error_line(&err, line));
    }
    return ok ? 0 : 1;
}

/*
 * run_neff [--core N] [--logical N] DIR...: for each directory, compiles graph.json or model.hlo.pb
 * (or takes model.neff), runs it on software cores, one thread a rank, with the inputs
 * NAME.RANK.bin, and writes the outputs NAME.RANK.out. The programs of a logical core's physical
 * ones run one after the other, with the same outputs. Prints a line for each: its ticks and
 * instructions, or what went wrong.
 */
#include "neuron/compiler/compile.h"
#include "neuron/simulator/neuroncore.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_RANKS = 16 };

/* What the ranks of a program share. */
struct meeting {
    uint32_t rank_count;
    pthread_barrier_t barrier;
    const uint8_t *in[MAX_RANKS];
    uint64_t ready[MAX_RANKS];
};

struct rank {
    struct meeting *meeting;
    const struct neff_info *info;
    const struct core_program *program; /* that is being run */
    uint8_t **outputs;                  /* of all programs, in their order */
    const char *directory;
    uint32_t number;
    struct core_result result;
    struct error err;
    bool ok;
    pthread_t thread;
};

static double element(enum dtype dtype, const uint8_t *at)
{
    float number;
    int32_t integer;
    if (dtype == DTYPE_FP32) {
        memcpy(&number, at, 4);
        return number;
    }
    memcpy(&integer, at, 4);
    return integer;
}

static void set_element(enum dtype dtype, uint8_t *at, double value)
{
    float number = (float)value;
    int32_t integer = (int32_t)value;
    memcpy(at, dtype == DTYPE_FP32 ? (const void *)&number : (const void *)&integer, 4);
}

static double combine(enum alu alu, double a, double b)
{
    switch (alu) {
    case ALU_ADD:
        return a + b;
    case ALU_MULTIPLY:
        return a * b;
    case ALU_MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

static void reduce(const struct meeting *meeting, const struct collective *item,
                   const uint32_t *ranks, uint32_t count, uint64_t offset, uint8_t *out)
{
    for (uint64_t i = 0; i < item->output_bytes; i += 4) {
        double value = element(item->dtype, meeting->in[ranks[0]] + offset + i);
        for (uint32_t k = 1; k < count; k++)
            value =
                combine(item->alu, value, element(item->dtype, meeting->in[ranks[k]] + offset + i));
        set_element(item->dtype, out + i, value);
    }
}

/* The group of a rank, and its place in it; all ranks without groups. */
static uint32_t find_group(const struct collective *item, uint32_t rank, uint32_t rank_count,
                           uint32_t *ranks, uint32_t *place)
{
    *place = rank;
    if (item->group_count == 0) {
        for (uint32_t i = 0; i < rank_count; i++)
            ranks[i] = i;
        return rank_count;
    }
    for (uint32_t i = 0; i < item->group_count * item->group_size; i++)
        if (item->members[i] == rank) {
            *place = i % item->group_size;
            memcpy(ranks, item->members + i - *place, item->group_size * sizeof *ranks);
            return item->group_size;
        }
    return 0;
}

static void exchange(const struct rank *rank, const struct collective *item, uint8_t *out)
{
    const struct meeting *meeting = rank->meeting;
    uint32_t ranks[MAX_RANKS], place;
    if (item->kind == COLLECTIVE_PERMUTE) {
        for (uint32_t i = 0; i < item->group_count; i++)
            if (item->members[2 * i + 1] == rank->number)
                memcpy(out, meeting->in[item->members[2 * i]], item->output_bytes);
        return;
    }
    uint32_t count = find_group(item, rank->number, meeting->rank_count, ranks, &place);
    uint64_t part = count ? item->input_bytes / count : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (item->kind == COLLECTIVE_ALL_GATHER)
            memcpy(out + i * item->input_bytes, meeting->in[ranks[i]], item->input_bytes);
        if (item->kind == COLLECTIVE_ALL_TO_ALL)
            memcpy(out + i * part, meeting->in[ranks[i]] + place * part, part);
    }
    if (count && item->kind == COLLECTIVE_ALL_REDUCE)
        reduce(meeting, item, ranks, count, 0, out);
    if (count && item->kind == COLLECTIVE_REDUCE_SCATTER)
        reduce(meeting, item, ranks, count, place * item->output_bytes, out);
}

static bool meet(void *context, const struct collective *item, uint32_t index, const uint8_t *in,
                 uint8_t *out, uint64_t ready, uint64_t *all_ready)
{
    struct rank *rank = context;
    struct meeting *meeting = rank->meeting;
    (void)index;
    meeting->in[rank->number] = in;
    meeting->ready[rank->number] = ready;
    pthread_barrier_wait(&meeting->barrier);
    *all_ready = 0;
    for (uint32_t i = 0; i < meeting->rank_count; i++)
        *all_ready = meeting->ready[i] > *all_ready ? meeting->ready[i] : *all_ready;
    exchange(rank, item, out);
    pthread_barrier_wait(&meeting->barrier);
    return true;
}

static bool load_input(const struct rank *rank, const struct variable *variable, uint8_t *bytes,
                       struct error *err)
{
    char *path = path_format("%s/%s.%u.bin", rank->directory, variable->name, rank->number);
    struct file file;
    bool ok = file_open(&file, path, err);
    if (ok && file.size != variable->size)
        ok = error_in_file(err, path, "%zu bytes, not %" PRIu64, file.size, variable->size);
    else if (ok)
        memcpy(bytes, file.data, file.size);
    if (ok)
        file_close(&file);
    mem_free(path);
    return ok;
}

static bool save_output(const struct rank *rank, const struct variable *variable,
                        const uint8_t *bytes, struct error *err)
{
    char *path = path_format("%s/%s.%u.out", rank->directory, variable->name, rank->number);
    struct output out;
    bool ok = output_open(&out, path, err);
    if (ok)
        output_write(&out, (const char *)bytes, variable->size);
    ok = ok && output_commit(&out, err);
    mem_free(path);
    return ok;
}

/* Scratch variables share memory as the program says; it begins as garbage. */
static uint8_t **make_variables(const struct rank *rank, uint8_t *scratch, struct error *err)
{
    const struct core_program *program = rank->program;
    uint8_t **variables = mem_zeroed(program->variable_count + 1, sizeof *variables);
    bool ok = true;
    for (uint32_t i = 0, output = 0; i < program->variable_count; i++) {
        const struct variable *variable = &program->variables[i];
        if (variable->kind == VARIABLE_VIRTUAL) {
            variables[i] = scratch + variable->backing_offset;
            continue;
        }
        bool is_output = variable->kind == VARIABLE_OUTPUT;
        if (is_output && rank->outputs[output])
            variables[i] = rank->outputs[output];
        else
            memset(variables[i] = mem_alloc(variable->size + 1), 0xA5, variable->size);
        if (is_output)
            rank->outputs[output++] = variables[i];
        if (variable->kind == VARIABLE_WEIGHT)
            memcpy(variables[i], variable->data, variable->size);
        if (variable->kind == VARIABLE_INPUT && ok)
            ok = load_input(rank, variable, variables[i], err);
    }
    err->text[ok ? 0 : ERROR_TEXT_SIZE - 1] = '\0';
    return variables;
}

static void run_program(struct rank *rank, const struct core_program *program)
{
    rank->program = program;
    struct core_options options = {.hardware = hardware_core(program->core_version),
                                   .compute = true};
    struct core_exchange exchange_with = {rank, rank->number, rank->meeting->rank_count, meet};
    uint8_t *scratch = mem_alloc(program->scratchpad_bytes + 1);
    memset(scratch, 0xA5, program->scratchpad_bytes);
    rank->err.text[0] = '\0';
    uint8_t **variables = make_variables(rank, scratch, &rank->err);
    rank->ok = rank->err.text[0] == '\0';
    if (rank->ok) {
        struct core *core = core_new(&options);
        struct core_run run = {
            .program = program, .variables = variables, .exchange = &exchange_with};
        core_execute(core, &run, &rank->result);
        core_free(core);
        if (rank->result.status != 0)
            rank->ok =
                error_set(&rank->err, "status %u: %s", rank->result.status, rank->result.message);
    }
    for (uint32_t i = 0; i < program->variable_count; i++)
        if (program->variables[i].kind == VARIABLE_INPUT ||
            program->variables[i].kind == VARIABLE_WEIGHT)
            mem_free(variables[i]);
    mem_free(variables);
    mem_free(scratch);
}

static void *run_rank(void *context)
{
    struct rank *rank = context;
    const struct core_program *first = &rank->info->programs[0];
    rank->outputs = mem_zeroed(first->variable_count + 1, sizeof *rank->outputs);
    rank->ok = true;
    for (uint32_t i = 0; i < rank->info->program_count && rank->ok; i++)
        run_program(rank, &rank->info->programs[i]);
    for (uint32_t i = 0, output = 0; i < first->variable_count; i++)
        if (first->variables[i].kind == VARIABLE_OUTPUT) {
            uint8_t *bytes = rank->outputs[output++];
            if (rank->ok)
                rank->ok = save_output(rank, &first->variables[i], bytes, &rank->err);
            mem_free(bytes);
        }
    mem_free(rank->outputs);
    return NULL;
}

static bool run_neff(const struct neff *neff, const char *directory, struct error *err)
{
    const struct neff_info *info = neff_info(neff);
    struct meeting meeting = {.rank_count = info->worker_count};
    struct rank ranks[MAX_RANKS];
    bool ok = true;
    if (info->worker_count > MAX_RANKS)
        return error_set(err, "%u ranks; %d are the most here", info->worker_count, MAX_RANKS);
    pthread_barrier_init(&meeting.barrier, NULL, meeting.rank_count);
    for (uint32_t i = 0; i < meeting.rank_count; i++) {
        ranks[i] =
            (struct rank){.meeting = &meeting, .info = info, .directory = directory, .number = i};
        pthread_create(&ranks[i].thread, NULL, run_rank, &ranks[i]);
    }
    for (uint32_t i = 0; i < meeting.rank_count; i++) {
        pthread_join(ranks[i].thread, NULL);
        if (ok && !ranks[i].ok) {
            *err = ranks[i].err;
            ok = false;
        }
    }
    pthread_barrier_destroy(&meeting.barrier);
    if (ok)
        printf("%s: ok %" PRIu64 " ticks, %" PRIu64 " instructions, %" PRIu64 " DMA bytes\n",
               directory, ranks[0].result.ticks, ranks[0].result.instructions,
               ranks[0].result.dma_bytes);
    return ok;
}

struct target {
    uint32_t version, logical_cores;
};

static bool build(const char *path, const struct file *file, struct target target, uint8_t **bytes,
                  size_t *size, struct error *err)
{
    struct compiled compiled;
    struct compile_request request = {
        .path = path,
        .bytes = file->data,
        .size = file->size,
        .hardware = hardware_core(target.version),
        .logical_cores = target.logical_cores,
    };
    if (!compile_graph(&compiled, &request, err))
        return false;
    struct neff_source source = {
        .name = compiled.name,
        .programs = compiled.programs,
        .program_count = compiled.program_count,
        .worker_count = compiled.rank_count,
    };
    bool ok = neff_encode(&source, bytes, size, err);
    compiled_free(&compiled);
    return ok;
}

static bool run_directory(const char *directory, struct target target, struct error *err)
{
    char *path = path_format("%s/model.neff", directory);
    struct file file;
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct neff *neff;
    if (file_open(&file, path, err)) {
        file_close(&file);
        neff = neff_open(path, err);
    } else {
        mem_free(path);
        path = path_format("%s/graph.json", directory);
        bool ok = file_open(&file, path, err);
        if (!ok) {
            mem_free(path);
            path = path_format("%s/model.hlo.pb", directory);
            ok = file_open(&file, path, err);
        }
        if (ok) {
            ok = build(path, &file, target, &bytes, &size, err);
            file_close(&file);
        }
        neff = ok ? neff_parse(bytes, size, path, err) : NULL;
    }
    bool ok = neff && neff_is_runnable(neff, err) && run_neff(neff, directory, err);
    if (neff)
        neff_close(neff);
    mem_free(bytes);
    mem_free(path);
    return ok;
}

int main(int count, char **arguments)
{
    struct target target = {.version = 3, .logical_cores = 1};
    bool ok = true;
    int first = 1;
    for (; first + 2 < count && arguments[first][0] == '-'; first += 2) {
        uint32_t number = (uint32_t)strtoul(arguments[first + 1], NULL, 10);
        *(strcmp(arguments[first], "--core") == 0 ? &target.version : &target.logical_cores) =
            number;
    }
    for (int i = first; i < count; i++) {
        struct error err;
        char line[ERROR_LINE_SIZE];
        if (run_directory(arguments[i], target, &err))
            continue;
        printf("%s: failed %s\n", arguments[i], error_line(&err, line));
        ok = false;
    }
    return ok ? 0 : 1;
}

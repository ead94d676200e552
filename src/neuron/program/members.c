/*
 * The JSON members of a NEFF, for people and other tools: nothing that runs a program reads them.
 * Keys are the published ones, where they exist.
 */
#include "neuron/program/binary.h"
#include "neuron/program/container.h"
#include "neuron/program/tar.h"

#include <stdio.h>

/* Names of the engines' files. */
static const char *const engine_files[ENGINE_COUNT] = {"PE", "DVE", "Activation", "Pool", "SP"};
static const char *const queue_kinds[] = {"in", "out", "data", "embedding_update", "dynamic"};
static const char *const variable_kinds[] = {"input", "output", "file", "virtual"};

struct member {
    struct json json;
    struct output out;
};

static struct json *begin(struct member *member)
{
    output_memory(&member->out);
    json_begin(&member->json, &member->out, true);
    json_open(&member->json, '{');
    return &member->json;
}

static void finish(struct member *member, struct output *archive, const char *name)
{
    json_close(&member->json, '}');
    output_char(&member->out, '\n');
    tar_add(archive, name, member->out.data, member->out.size);
    output_discard(&member->out);
}

static void put_string(struct json *json, const char *key, const char *text)
{
    json_put_text(json, key, text_of(text));
}

static uint64_t model_flops(const struct neff_source *source)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < source->program_count; i++)
        for (uint32_t k = 0; k < source->programs[i].origin_count; k++)
            sum += source->programs[i].origins[k].model_flops;
    return sum;
}

static void add_info(struct output *archive, const struct neff_source *source)
{
    struct member member;
    struct json *json = begin(&member);
    put_string(json, "name", source->name);
    put_string(json, "producer", "kymo");
    put_string(json, "tool_version", KYMO_VERSION);
    put_string(json, "target", hardware_core(source->programs[0].core_version)->name);
    json_put_uint(json, "cores", source->program_count);
    json_put_uint(json, "workers", source->worker_count);
    json_key(json, "program_encoding");
    json_open_row(json, '{');
    put_string(json, "magic", PROGRAM_MAGIC);
    json_put_uint(json, "version", PROGRAM_VERSION);
    json_close_row(json, '}');
    finish(&member, archive, "info.json");
}

static void put_shape(struct json *json, const struct variable *variable)
{
    put_string(json, "dtype", dtype_name((enum dtype)variable->dtype));
    json_key(json, "shape");
    json_open(json, '[');
    for (unsigned i = 0; i < variable->rank; i++)
        json_uint(json, variable->shape[i]);
    json_close(json, ']');
}

static void put_tensors(struct json *json, const char *key, const struct core_program *program,
                        enum variable_kind kind)
{
    json_key(json, key);
    json_open(json, '[');
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct variable *variable = &program->variables[i];
        if (variable->kind != kind)
            continue;
        json_open_row(json, '{');
        put_string(json, "name", variable->name);
        put_shape(json, variable);
        json_put_uint(json, "size", variable->size);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

/* neff.json names the inputs and outputs of the first program: those of further physical cores are
 * the same. */
static void add_graphs(struct output *archive, const struct neff_source *source)
{
    struct member member;
    struct json *json = begin(&member);
    put_string(json, "name", source->name);
    put_tensors(json, "inputs", &source->programs[0], VARIABLE_INPUT);
    put_tensors(json, "outputs", &source->programs[0], VARIABLE_OUTPUT);
    json_key(json, "nodes");
    json_open(json, '[');
    json_open_row(json, '{');
    put_string(json, "name", source->name);
    put_string(json, "kelf", "kelf-0.json");
    json_close_row(json, '}');
    json_close(json, ']');
    finish(&member, archive, "neff.json");

    json = begin(&member);
    json_key(json, "graphs");
    json_open(json, '[');
    for (uint32_t i = 0; i < source->program_count; i++) {
        char name[16], file[32];
        snprintf(name, sizeof name, "sg%02u", i);
        snprintf(file, sizeof file, "sg%02u/def.json", i);
        json_open_row(json, '{');
        put_string(json, "name", name);
        put_string(json, "definition", file);
        json_close_row(json, '}');
    }
    json_close(json, ']');
    finish(&member, archive, "kelf-0.json");
}

static void put_variable(struct json *json, uint32_t number, const struct variable *variable)
{
    enum { ALIGNMENT = 64 };
    char file[32];
    json_key(json, variable->name);
    json_open_row(json, '{');
    put_string(json, "type", variable_kinds[variable->kind]);
    json_put_uint(json, "var_id", number);
    json_put_uint(json, "size", variable->size);
    json_put_uint(json, "alignment", ALIGNMENT);
    put_shape(json, variable);
    if (variable->kind == VARIABLE_WEIGHT) {
        snprintf(file, sizeof file, "weights/%u.bin", number);
        put_string(json, "file_name", file);
        put_string(json, "layer", variable->layer);
    } else if (variable->kind == VARIABLE_VIRTUAL) {
        json_put_uint(json, "backing_variable_off", variable->backing_offset);
    }
    json_close_row(json, '}');
}

/* Describes one program for people and tools; the program itself is in program.kymo.bin beside it,
 * and only that is run. */
static void add_definition(struct output *archive, const struct core_program *program,
                           uint32_t graph)
{
    struct member member;
    char name[32];
    struct json *json = begin(&member);
    snprintf(name, sizeof name, "sg%02u", graph);
    put_string(json, "name", name);
    put_string(json, "kymo_program", "program.kymo.bin");
    json_put_uint(json, "scratchpad_size", program->scratchpad_bytes);
    json_key(json, "engines");
    json_open(json, '{');
    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        snprintf(name, sizeof name, "%s.json", engine_files[i]);
        put_string(json, engine_files[i], name);
    }
    json_close(json, '}');
    json_key(json, "var");
    json_open(json, '{');
    for (uint32_t i = 0; i < program->variable_count; i++)
        put_variable(json, i, &program->variables[i]);
    json_close(json, '}');
    json_key(json, "dma_queue");
    json_open(json, '{');
    for (uint32_t i = 0; i < program->queue_count; i++) {
        const struct dma_queue *queue = &program->queues[i];
        json_key(json, queue->name);
        json_open_row(json, '{');
        put_string(json, "type", queue_kinds[queue->kind]);
        json_put_uint(json, "num_queues", queue->rings);
        json_put_uint(json, "first_queue", queue->first_ring);
        put_string(json, "owner", engine_files[queue->engine]);
        put_string(json, "fabric_path", "main");
        json_close_row(json, '}');
    }
    json_close(json, '}');
    snprintf(name, sizeof name, "sg%02u/def.json", graph);
    finish(&member, archive, name);
}

/* Keys of one end of a transfer: "from", "from_off", ... */
static void put_end(struct json *json, const char *side, const struct core_program *program,
                    const struct dma_end *end)
{
    char key[32];
#define KEY(suffix) (snprintf(key, sizeof key, "%s" suffix, side), key)
    bool in_memory = end->memory == MEMORY_HBM;
    unsigned first = 0;
    while (first + 1 < DMA_DIMENSIONS && end->size[first] == 1)
        first++;
    put_string(json, KEY(""),
               in_memory                    ? program->variables[end->variable].name
               : end->memory == MEMORY_PSUM ? "psum"
                                            : "state-buffer");
    json_put_uint(json, KEY("_off"), end->offset);
    if (!in_memory) {
        first = 0;
        json_put_uint(json, KEY("_partition"), end->partition);
    }
    json_key(json, KEY("_steps"));
    json_open(json, '[');
    for (unsigned i = first; i < DMA_DIMENSIONS; i++)
        json_int(json, end->step[i]);
    json_close(json, ']');
    json_key(json, KEY("_sizes"));
    json_open(json, '[');
    for (unsigned i = first; i < DMA_DIMENSIONS; i++)
        json_uint(json, end->size[i]);
    json_close(json, ']');
    put_string(json, KEY("_dtype"), dtype_name((enum dtype)end->dtype));
    if (end->offset_register != NO_REGISTER)
        json_put_uint(json, KEY("_register"), end->offset_register);
#undef KEY
}

static void put_descriptor(struct json *json, const struct core_program *program,
                           const struct dma_descriptor *item)
{
    static const char *const operations[] = {"copy", "add", "min", "max"};
    static const char *const indirect[] = {NULL, "gather", "scatter"};
    bool is_cast = item->operation == DMA_COPY && item->from.dtype != item->to.dtype;
    json_open_row(json, '{');
    put_string(json, "op", is_cast ? "cast" : operations[item->operation]);
    put_end(json, "from", program, &item->from);
    put_end(json, "to", program, &item->to);
    if (item->indirect != DMA_DIRECT)
        put_string(json, "indirect", indirect[item->indirect]);
    json_close_row(json, '}');
}

static void put_block(struct json *json, const struct core_program *program, uint32_t number)
{
    const struct dma_block *block = &program->blocks[number];
    json_open(json, '{');
    json_put_uint(json, "id", number);
    put_string(json, "queue", program->queues[block->queue].name);
    if (block->semaphore != NO_SEMAPHORE) {
        json_put_uint(json, "semaphore", block->semaphore);
        json_put_uint(json, "semaphore_increment", block->increment);
    }
    json_key(json, "desc");
    json_open(json, '[');
    for (uint32_t i = 0; i < block->count; i++)
        put_descriptor(json, program, &program->descriptors[block->first + i]);
    json_close(json, ']');
    json_close(json, '}');
}

/* The engine's blocks are those on its queues. */
static void add_engine(struct output *archive, const struct core_program *program, uint32_t graph,
                       unsigned engine)
{
    struct member member;
    char name[32];
    struct json *json = begin(&member);
    put_string(json, "engine", hardware_engine_name((enum engine)engine));
    json_put_uint(json, "instructions", program->code_count[engine]);
    json_key(json, "dma");
    json_open(json, '[');
    for (uint32_t i = 0; i < program->block_count; i++)
        if (program->queues[program->blocks[i].queue].engine == engine)
            put_block(json, program, i);
    json_close(json, ']');
    snprintf(name, sizeof name, "sg%02u/%s.json", graph, engine_files[engine]);
    finish(&member, archive, name);
}

/* Indexes are those of the program, so that an instruction's origin can be looked up here by
 * number. */
static void add_debug_info(struct output *archive, const struct core_program *program,
                           uint32_t graph)
{
    struct member member;
    char name[48];
    struct json *json = begin(&member);
    json_key(json, "origins");
    json_open(json, '[');
    for (uint32_t i = 0; i < program->origin_count; i++) {
        const struct origin *origin = &program->origins[i];
        json_open_row(json, '{');
        put_string(json, "layer", origin->layer);
        put_string(json, "operation", origin->operation);
        put_string(json, "opcode", origin->opcode);
        put_string(json, "framework", origin->framework);
        put_string(json, "file", origin->file);
        json_put_uint(json, "line", origin->line);
        json_put_uint(json, "stack_frame", origin->stack_frame);
        json_put_uint(json, "model_flops", origin->model_flops);
        json_close_row(json, '}');
    }
    json_close(json, ']');
    json_key(json, "stack_frames");
    json_open(json, '[');
    for (uint32_t i = 0; i < program->frame_count; i++) {
        const struct source_frame *frame = &program->frames[i];
        json_open_row(json, '{');
        put_string(json, "function", frame->function);
        put_string(json, "file", frame->file);
        json_put_uint(json, "line", frame->line);
        json_put_uint(json, "column", frame->column);
        json_put_uint(json, "parent", frame->parent);
        json_close_row(json, '}');
    }
    json_close(json, ']');
    snprintf(name, sizeof name, "debug_info/sg%02u.json", graph);
    finish(&member, archive, name);
}

static void put_opcodes(struct json *json, const struct core_program *program, unsigned engine)
{
    uint32_t counts[OP_COUNT] = {0};
    for (uint32_t i = 0; i < program->code_count[engine]; i++)
        counts[program->code[engine][i].opcode]++;
    json_key(json, hardware_engine_name((enum engine)engine));
    json_open_row(json, '{');
    for (unsigned i = 0; i < OP_COUNT; i++)
        if (counts[i] > 0)
            json_put_uint(json, opcode_name((enum opcode)i), counts[i]);
    json_close_row(json, '}');
}

/* HloMacCount is half of the model's FLOPs: a multiplication and an addition are one MAC. */
static void add_metrics(struct output *archive, const struct neff_source *source)
{
    struct member member;
    struct json *json = begin(&member);
    json_put_uint(json, "HloMacCount", model_flops(source) / 2);
    json_put_uint(json, "ModelFlops", model_flops(source));
    finish(&member, archive, "hlo_stats.json");

    json = begin(&member);
    json_key(json, "cores");
    json_open(json, '[');
    for (uint32_t i = 0; i < source->program_count; i++) {
        const struct core_program *program = &source->programs[i];
        json_open(json, '{');
        json_put_uint(json, "scratchpad_bytes", program->scratchpad_bytes);
        json_put_uint(json, "dma_blocks", program->block_count);
        json_put_uint(json, "dma_descriptors", program->descriptor_count);
        json_put_uint(json, "collectives", program->collective_count);
        json_key(json, "instructions");
        json_open(json, '{');
        for (unsigned k = 0; k < ENGINE_COUNT; k++)
            put_opcodes(json, program, k);
        json_close(json, '}');
        json_close(json, '}');
    }
    json_close(json, ']');
    finish(&member, archive, "metrics.json");
}

void members_add(struct output *archive, const struct neff_source *source)
{
    add_info(archive, source);
    add_graphs(archive, source);
    add_metrics(archive, source);
    for (uint32_t i = 0; i < source->program_count; i++) {
        add_definition(archive, &source->programs[i], i);
        for (unsigned k = 0; k < ENGINE_COUNT; k++)
            add_engine(archive, &source->programs[i], i, k);
        add_debug_info(archive, &source->programs[i], i);
    }
}

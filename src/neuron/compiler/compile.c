/*
 * The steps from a graph to a program.
 */
#include "neuron/compiler/compile.h"

#include "hlo/hlo.h"
#include "neuron/compiler/graph.h"
#include "neuron/compiler/hlo/read.h"
#include "neuron/compiler/lower.h"
#include "neuron/compiler/split.h"

struct compiled_memory {
    struct ir ir;                         /* of the model */
    struct ir shares[COMPILE_MOST_CORES]; /* of each core, where there are several */
    struct emit emits[COMPILE_MOST_CORES];
};

static void prepare(struct lower *lower, struct ir *ir)
{
    size_t count = ir->nodes.count;
    lower->ir = ir;
    lower->accesses = access_resolve(ir);
    lower->group_of = mem_zeroed(count + 1, sizeof *lower->group_of);
    lower->last_group = mem_zeroed(count + 1, sizeof *lower->last_group);
    lower->is_row = mem_zeroed(count + 1, sizeof *lower->is_row);
    lower->storages = mem_zeroed(count + 1, sizeof *lower->storages);
    for (uint32_t i = 0; i < count; i++)
        if (ir->nodes.items[i].kind == IR_PARAMETER)
            storage_of(lower, i);
}

/* Outputs that are computed values are written in place; returns those that must be copied. */
static struct storage **place_outputs(struct lower *lower)
{
    const struct ir *ir = lower->ir;
    struct storage **copied = mem_zeroed(ir->outputs.count + 1, sizeof *copied);
    for (size_t i = 0; i < ir->outputs.count; i++) {
        const struct ir_output *output = &ir->outputs.items[i];
        if (output->value == IR_NONE) {
            storage_release(lower, storage_new(lower, output->name, &output->whole));
            continue;
        }
        const struct ir_node *node = &ir->nodes.items[output->value];
        struct storage *storage =
            storage_new(lower, output->name, output->count ? &output->whole : &node->type);
        if (output->count) {
            storage->base = output->first * dtype_bytes(node->type.dtype);
            storage->bytes = output->count * dtype_bytes(node->type.dtype);
        }
        bool is_own = lower->accesses[output->value].base == output->value &&
                      node->kind > IR_CONSTANT && !lower->storages[output->value];
        *(is_own ? &lower->storages[output->value] : &copied[i]) = storage;
    }
    return copied;
}

/* Nodes whose storage can be released after each group, as lists. */
struct releases {
    uint32_t *first; /* of each group */
    uint32_t *next;  /* of each node */
};

static struct releases find_releases(const struct lower *lower)
{
    size_t groups = lower->groups.count, nodes = lower->ir->nodes.count;
    struct releases releases = {
        .first = mem_alloc((groups + 1) * sizeof *releases.first),
        .next = mem_alloc((nodes + 1) * sizeof *releases.next),
    };
    memset(releases.first, 0xff, (groups + 1) * sizeof *releases.first);
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t last = lower->last_group[i];
        if (last == IR_NONE || last >= groups || lower->group_of[i] == IR_NONE)
            continue;
        releases.next[i] = releases.first[last];
        releases.first[last] = i;
    }
    return releases;
}

static void release_value(struct lower *lower, uint32_t node)
{
    struct storage *storage = lower->storages[node];
    resident_forget(lower, node);
    if (!storage)
        return;
    lower->is_unread[node] = !storage->is_read && storage->writes.count > 0;
    storage_release(lower, storage);
    lower->storages[node] = NULL;
}

static void lower_groups(struct lower *lower)
{
    struct releases releases = find_releases(lower);
    for (uint32_t i = 0; i < lower->groups.count && !lower->emit.failed; i++) {
        const struct fused_group *group = &lower->groups.items[i];
        lower->group = i;
        if (group->is_move)
            lower_move(lower, group);
        else
            lower_tiles(lower, group);
        for (uint32_t k = releases.first[i]; k != IR_NONE; k = releases.next[k])
            release_value(lower, k);
    }
    mem_free(releases.first);
    mem_free(releases.next);
}

static void copy_outputs(struct lower *lower, struct storage **copied)
{
    for (size_t i = 0; i < lower->ir->outputs.count; i++)
        if (copied[i]) {
            if (!lower->emit.failed)
                lower_output(lower, lower->ir->outputs.items[i].value, copied[i]);
            storage_release(lower, copied[i]);
        }
    mem_free(copied);
}

static void lower_free(struct lower *lower)
{
    storages_free(lower);
    for (size_t i = 0; i < lower->groups.count; i++)
        array_free(&lower->groups.items[i].nodes);
    array_free(&lower->groups);
    mem_free(lower->accesses);
    mem_free(lower->group_of);
    mem_free(lower->last_group);
    mem_free(lower->is_row);
    array_free(&lower->residents);
}

/* One way to lower the model. */
struct attempt {
    struct emit emit;
    uint64_t scratch_bytes;
    bool *is_unread;
    bool has_missed;
};

static void lower_ir(struct ir *ir, const struct core_hardware *hardware, uint64_t limit,
                     const bool *is_kept, struct attempt *attempt)
{
    struct lower lower = {.is_kept = is_kept};
    lower.is_unread = mem_zeroed(ir->nodes.count + 1, sizeof *lower.is_unread);
    emit_init(&lower.emit, hardware, limit);
    lower.emit.make_room = resident_make_room;
    lower.emit.room_context = &lower;
    prepare(&lower, ir);
    fuse(&lower);
    struct storage **copied = place_outputs(&lower);
    lower_groups(&lower);
    copy_outputs(&lower, copied);
    lower_free(&lower);
    emit_finish(&lower.emit);
    *attempt = (struct attempt){lower.emit, lower.scratch_bytes, lower.is_unread, lower.has_missed};
}

/* Values found in SBUF whenever they are needed are not stored in a second attempt. */
static uint64_t lower_twice(struct ir *ir, const struct core_hardware *hardware, uint64_t limit,
                            struct emit *emit)
{
    struct attempt first, second;
    lower_ir(ir, hardware, limit, NULL, &first);
    bool is_better = false;
    for (size_t i = 0; i < ir->nodes.count && !is_better; i++)
        is_better = first.is_unread[i];
    if (is_better && !first.emit.failed) {
        lower_ir(ir, hardware, limit, first.is_unread, &second);
        mem_free(second.is_unread);
        is_better = !second.emit.failed && !second.has_missed;
        emit_free(is_better ? &first.emit : &second.emit);
    } else {
        is_better = false;
    }
    mem_free(first.is_unread);
    *emit = is_better ? second.emit : first.emit;
    return is_better ? second.scratch_bytes : first.scratch_bytes;
}

/* The program points into emit and ir, which must outlive it. */
static struct core_program make_program(const struct emit *emit, const struct ir *ir,
                                        uint64_t scratch_bytes)
{
    struct core_program program = {
        .descriptors = emit->descriptors.items,
        .blocks = emit->blocks.items,
        .queues = emit->queues.items,
        .variables = emit->variables.items,
        .collectives = emit->collectives.items,
        .origins = ir->origins.items,
        .frames = ir->frames.items,
        .descriptor_count = (uint32_t)emit->descriptors.count,
        .block_count = (uint32_t)emit->blocks.count,
        .queue_count = (uint32_t)emit->queues.count,
        .variable_count = (uint32_t)emit->variables.count,
        .collective_count = (uint32_t)emit->collectives.count,
        .origin_count = (uint32_t)ir->origins.count,
        .frame_count = (uint32_t)ir->frames.count,
        .scratchpad_bytes = scratch_bytes,
        .core_version = emit->hardware->version,
    };
    for (int i = 0; i < ENGINE_COUNT; i++) {
        program.code[i] = emit->code[i].items;
        program.code_count[i] = (uint32_t)emit->code[i].count;
    }
    return program;
}

static bool fits_memory(uint64_t bytes, const struct core_hardware *hardware, struct error *err)
{
    if (bytes <= hardware->hbm_bytes)
        return true;
    return error_set(err, "the model needs %.1f GiB of device memory, the device has %.1f GiB",
                     (double)bytes / (1 << 30), (double)hardware->hbm_bytes / (1 << 30));
}

/* Before the program is made: a model that is too large would take long to fail. */
static bool model_fits(const struct ir *ir, const struct core_hardware *hardware, struct error *err)
{
    uint64_t bytes = 0; /* a tensor has at most 64 GiB, and there are fewer than 2^20 */
    const struct ir_node *node;
    array_each (node, &ir->nodes)
        if (node->kind == IR_PARAMETER || (node->kind == IR_CONSTANT && !node->is_splat))
            bytes += ir_bytes(&node->type);
    const struct ir_output *output;
    array_each (output, &ir->outputs)
        bytes += ir_bytes(&ir->nodes.items[output->value].type);
    return fits_memory(bytes, hardware, err);
}

static bool program_fits(const struct core_program *program, const struct core_hardware *hardware,
                         struct error *err)
{
    uint64_t bytes = program->scratchpad_bytes;
    for (uint32_t i = 0; i < program->variable_count; i++)
        if (program->variables[i].kind != VARIABLE_VIRTUAL)
            bytes += program->variables[i].size;
    return fits_memory(bytes, hardware, err);
}

static bool compile_core(struct compiled *compiled, uint32_t core, struct ir *ir,
                         const struct compile_request *request, struct error *err)
{
    struct emit *emit = &compiled->memory->emits[core];
    uint64_t limit = request->program_limit ? request->program_limit : 2000000;
    uint64_t scratch_bytes = lower_twice(ir, request->hardware, limit, emit);
    compiled->programs[core] = make_program(emit, ir, scratch_bytes);
    compiled->program_count = core + 1;
    if (emit->failed)
        return error_in_file(err, request->path ? request->path : "graph", "%s", emit->error.text);
    return program_fits(&compiled->programs[core], request->hardware, err);
}

/* Outputs are the first variables of their kind, in the model's order. */
static struct output_part *find_output_parts(const struct core_program *program,
                                             const struct ir *share)
{
    struct output_part *parts = mem_zeroed(program->variable_count + 1, sizeof *parts);
    for (uint32_t i = 0, output = 0; i < program->variable_count; i++) {
        if (program->variables[i].kind != VARIABLE_OUTPUT)
            continue;
        const struct ir_output *item = &share->outputs.items[output++];
        uint64_t bytes = dtype_bytes(item->whole.dtype);
        parts[i] = (struct output_part){item->first * bytes, (item->first + item->count) * bytes};
    }
    return parts;
}

static bool compile_cores(struct compiled *compiled, const struct compile_request *request,
                          struct error *err)
{
    struct compiled_memory *memory = compiled->memory;
    for (uint32_t i = 0; i < request->logical_cores; i++) {
        struct ir *share = &memory->shares[i];
        ir_init(share);
        if (!split_for_core(&memory->ir, i, request->logical_cores, share, err) ||
            !compile_core(compiled, i, share, request, err))
            return false;
        compiled->parts[i] = find_output_parts(&compiled->programs[i], share);
        if (!request->is_unchecked &&
            !compile_check_part(&compiled->programs[i], compiled->parts[i], err))
            return false;
    }
    return true;
}

bool compile_graph(struct compiled *compiled, const struct compile_request *request,
                   struct error *err)
{
    struct compiled_memory *memory = mem_zeroed(1, sizeof *memory);
    *compiled = (struct compiled){.memory = memory};
    ir_init(&memory->ir);
    compiled->is_hlo = hlo_recognize(request->bytes, request->size);
    bool ok = compiled->is_hlo
                  ? hlo_read(request->bytes, request->size, request->path, &memory->ir, err)
                  : graph_read(&memory->ir, request, err);
    compiled->name = memory->ir.name;
    compiled->rank_count = memory->ir.ranks;
    ok = ok && model_fits(&memory->ir, request->hardware, err);
    if (ok && request->logical_cores > COMPILE_MOST_CORES)
        ok = error_set(err, "a logical core has at most %d physical ones", COMPILE_MOST_CORES);
    if (ok && request->logical_cores > 1)
        ok = compile_cores(compiled, request, err);
    else if (ok)
        ok = compile_core(compiled, 0, &memory->ir, request, err) &&
             (request->is_unchecked || compile_check(&compiled->program, err));
    if (!ok)
        compiled_free(compiled);
    return ok;
}

void compiled_free(struct compiled *compiled)
{
    if (!compiled->memory)
        return;
    for (uint32_t i = 0; i < COMPILE_MOST_CORES; i++) {
        if (i < compiled->program_count)
            emit_free(&compiled->memory->emits[i]);
        ir_free(&compiled->memory->shares[i]);
        mem_free(compiled->parts[i]);
    }
    ir_free(&compiled->memory->ir);
    mem_free(compiled->memory);
    *compiled = (struct compiled){0};
}

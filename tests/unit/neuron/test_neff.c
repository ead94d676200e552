/*
 * NEFF: programs come back from their encoding as they were, containers from their bytes; every
 * rule of the check refuses something; no damaged file does harm.
 */
#include "neuron/program/binary.h"
#include "neuron/program/neff.h"
#include "program_model.h"

static void assert_same_operand(const struct operand *a, const struct operand *b)
{
    assert_int_equal(a->memory, b->memory);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->partition, b->partition);
    assert_int_equal(a->partitions, b->partitions);
    assert_int_equal(a->offset, b->offset);
    assert_memory_equal(a->step, b->step, sizeof a->step);
    assert_memory_equal(a->size, b->size, sizeof a->size);
}

static void assert_same_instruction(const struct instruction *a, const struct instruction *b)
{
    assert_int_equal(a->opcode, b->opcode);
    assert_int_equal(a->alu, b->alu);
    assert_int_equal(a->alu2, b->alu2);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->wait_semaphore, b->wait_semaphore);
    assert_int_equal(a->update_semaphore, b->update_semaphore);
    assert_int_equal(a->wait_value, b->wait_value);
    assert_int_equal(a->update_value, b->update_value);
    assert_int_equal(a->update_kind, b->update_kind);
    assert_int_equal(a->update_time, b->update_time);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->target, b->target);
    assert_int_equal(a->origin, b->origin);
    assert_memory_equal(a->immediate_int, b->immediate_int, sizeof a->immediate_int);
    assert_same_operand(&a->dst, &b->dst);
    for (unsigned i = 0; i < 3; i++)
        assert_same_operand(&a->src[i], &b->src[i]);
}

static void assert_same_end(const struct dma_end *a, const struct dma_end *b)
{
    assert_int_equal(a->memory, b->memory);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->partition, b->partition);
    assert_int_equal(a->offset_register, b->offset_register);
    assert_int_equal(a->variable, b->variable);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->register_step, b->register_step);
    assert_memory_equal(a->step, b->step, sizeof a->step);
    assert_memory_equal(a->size, b->size, sizeof a->size);
}

static void assert_same_transfers(const struct core_program *a, const struct core_program *b)
{
    assert_int_equal(a->descriptor_count, b->descriptor_count);
    for (uint32_t i = 0; i < a->descriptor_count; i++) {
        const struct dma_descriptor *x = &a->descriptors[i], *y = &b->descriptors[i];
        assert_int_equal(x->operation, y->operation);
        assert_int_equal(x->indirect, y->indirect);
        assert_int_equal(x->index_limit, y->index_limit);
        assert_same_end(&x->from, &y->from);
        assert_same_end(&x->to, &y->to);
        assert_same_operand(&x->indices, &y->indices);
    }
    assert_int_equal(a->block_count, b->block_count);
    for (uint32_t i = 0; i < a->block_count; i++)
        assert_memory_equal(&a->blocks[i], &b->blocks[i], sizeof *a->blocks);
    assert_int_equal(a->queue_count, b->queue_count);
    for (uint32_t i = 0; i < a->queue_count; i++) {
        assert_string_equal(a->queues[i].name, b->queues[i].name);
        assert_int_equal(a->queues[i].kind, b->queues[i].kind);
        assert_int_equal(a->queues[i].engine, b->queues[i].engine);
        assert_int_equal(a->queues[i].rings, b->queues[i].rings);
        assert_int_equal(a->queues[i].first_ring, b->queues[i].first_ring);
    }
}

static void assert_same_variables(const struct core_program *a, const struct core_program *b)
{
    assert_int_equal(a->variable_count, b->variable_count);
    for (uint32_t i = 0; i < a->variable_count; i++) {
        const struct variable *x = &a->variables[i], *y = &b->variables[i];
        assert_string_equal(x->name, y->name);
        assert_string_equal(x->layer, y->layer);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->rank, y->rank);
        assert_memory_equal(x->shape, y->shape, sizeof x->shape);
        assert_int_equal(x->size, y->size);
        assert_int_equal(x->backing_offset, y->backing_offset);
    }
}

static void assert_same_collectives(const struct core_program *a, const struct core_program *b)
{
    assert_int_equal(a->collective_count, b->collective_count);
    for (uint32_t i = 0; i < a->collective_count; i++) {
        const struct collective *x = &a->collectives[i], *y = &b->collectives[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->alu, y->alu);
        assert_int_equal(x->semaphore, y->semaphore);
        assert_int_equal(x->increment, y->increment);
        assert_int_equal(x->input, y->input);
        assert_int_equal(x->output, y->output);
        assert_int_equal(x->input_offset, y->input_offset);
        assert_int_equal(x->output_offset, y->output_offset);
        assert_int_equal(x->input_bytes, y->input_bytes);
        assert_int_equal(x->output_bytes, y->output_bytes);
        assert_int_equal(x->move_count, y->move_count);
        for (uint32_t k = 0; k < x->move_count; k++) {
            assert_int_equal(x->moves[k].source, y->moves[k].source);
            assert_int_equal(x->moves[k].target, y->moves[k].target);
            assert_int_equal(x->moves[k].from, y->moves[k].from);
            assert_int_equal(x->moves[k].to, y->moves[k].to);
            assert_int_equal(x->moves[k].bytes, y->moves[k].bytes);
        }
        assert_int_equal(x->group_size, y->group_size);
        assert_int_equal(x->group_count, y->group_count);
        assert_int_equal(x->channel, y->channel);
        for (uint32_t k = 0; k < x->group_count * x->group_size; k++)
            assert_int_equal(x->members[k], y->members[k]);
    }
}

static void assert_same_origins(const struct core_program *a, const struct core_program *b)
{
    assert_int_equal(a->origin_count, b->origin_count);
    for (uint32_t i = 0; i < a->origin_count; i++) {
        const struct origin *x = &a->origins[i], *y = &b->origins[i];
        assert_string_equal(x->layer, y->layer);
        assert_string_equal(x->operation, y->operation);
        assert_string_equal(x->opcode, y->opcode);
        assert_string_equal(x->framework, y->framework);
        assert_string_equal(x->file, y->file);
        assert_int_equal(x->line, y->line);
        assert_int_equal(x->stack_frame, y->stack_frame);
        assert_int_equal(x->model_flops, y->model_flops);
    }
    assert_int_equal(a->frame_count, b->frame_count);
    for (uint32_t i = 0; i < a->frame_count; i++) {
        const struct source_frame *x = &a->frames[i], *y = &b->frames[i];
        assert_string_equal(x->function, y->function);
        assert_string_equal(x->file, y->file);
        assert_int_equal(x->line, y->line);
        assert_int_equal(x->column, y->column);
        assert_int_equal(x->parent, y->parent);
    }
}

static void assert_same_program(const struct core_program *a, const struct core_program *b)
{
    assert_int_equal(a->core_version, b->core_version);
    assert_int_equal(a->scratchpad_bytes, b->scratchpad_bytes);
    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        assert_int_equal(a->code_count[i], b->code_count[i]);
        for (uint32_t k = 0; k < a->code_count[i]; k++)
            assert_same_instruction(&a->code[i][k], &b->code[i][k]);
    }
    assert_same_transfers(a, b);
    assert_same_variables(a, b);
    assert_same_collectives(a, b);
    assert_same_origins(a, b);
}

/* Any bytes, but for what the lists' lengths depend on. */
static void scramble(struct model *model, struct rng *rng)
{
    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        model->program.code_count[i] = (uint32_t)rng_below(rng, MODEL_CODE + 1);
        for (uint32_t k = 0; k < model->program.code_count[i]; k++) {
            struct instruction *item = &model->code[i][k];
            if (k > 0 && rng_below(rng, 3) == 0)
                *item = model->code[i][k - 1]; /* differs in one field */
            else
                rng_fill(rng, item, sizeof *item);
            item->opcode = (uint8_t)rng_below(rng, OP_COUNT);
            item->index = (uint32_t)rng_any_width(rng);
        }
    }
    rng_fill(rng, model->descriptors, sizeof model->descriptors);
    rng_fill(rng, model->blocks, sizeof model->blocks);
    for (size_t i = 0; i < COUNT_OF(model->variables); i++) {
        struct variable *variable = &model->variables[i];
        variable->dtype = (uint8_t)rng_u64(rng);
        variable->backing_offset = rng_any_width(rng);
        for (unsigned k = 0; k < variable->rank; k++)
            variable->shape[k] = (uint32_t)rng_any_width(rng);
    }
    for (size_t i = 0; i < COUNT_OF(model->collectives); i++) {
        struct collective *item = &model->collectives[i];
        item->input_offset = rng_any_width(rng);
        item->output_bytes = rng_any_width(rng);
        item->channel = (uint32_t)rng_any_width(rng);
    }
    model->moves[1].target = (uint32_t)rng_any_width(rng);
    model->moves[2].from = rng_any_width(rng);
    model->origins[1].model_flops = rng_any_width(rng);
    model->frames[0].column = (uint32_t)rng_any_width(rng);
    model->program.scratchpad_bytes = rng_any_width(rng);
}

TEST(programs_come_back_from_their_encoding_whatever_is_in_them)
{
    struct rng rng = {1};
    static struct model model;
    for (int round = 0; round < 200; round++) {
        struct output out;
        struct arena arena = {0};
        struct core_program decoded;
        struct error err;
        uint32_t workers, *crcs, expected_workers = (uint32_t)rng_any_width(&rng);
        model_make(&model);
        if (round > 0)
            scramble(&model, &rng);
        output_memory(&out);
        program_encode(&model.program, expected_workers, &out);
        uint8_t *bytes = exact_copy(out.data, out.size);
        assert_true(program_decode(&decoded, &workers, &crcs, bytes, out.size, &arena, &err));
        assert_int_equal(workers, expected_workers);
        assert_int_equal(crcs[2], crc32_of(0, model.weight, sizeof model.weight));
        assert_same_program(&model.program, &decoded);
        arena_free(&arena);
        output_discard(&out);
        free(bytes);
    }
}

TEST(the_encoding_of_an_unrolled_loop_is_compact)
{
    enum { COUNT = 10000 };
    static struct model model;
    model_make(&model);
    struct instruction *code = calloc(COUNT, sizeof *code);
    for (uint32_t i = 0; i < COUNT; i++) {
        code[i] = model.code[ENGINE_TENSOR][i % 2];
        code[i].wait_value = i;
        code[i].update_value = i + 1;
        code[i].origin = i / 64;
        code[i].src[0].offset = i % 64 * 256;
    }
    struct output out;
    output_memory(&out);
    model.program.code[ENGINE_TENSOR] = code;
    model.program.code_count[ENGINE_TENSOR] = COUNT;
    program_encode(&model.program, 1, &out);
    assert_true(out.size < COUNT * 12);
    output_discard(&out);
    free(code);
}

static void assert_refused(const struct core_program *program, const char *reason)
{
    struct error err = {0};
    if (program_check(program, &err))
        fail_msg("accepted, though: %s", reason);
    if (!strstr(err.text, reason))
        fail_msg("'%s' does not say: %s", err.text, reason);
}

/* Changes the valid program by a statement, and expects the check to refuse it for a reason. */
#define REFUSED(reason, ...)                                                                       \
    do {                                                                                           \
        model_make(&model);                                                                        \
        struct core_program *program = &model.program;                                             \
        struct instruction *tensor = model.code[ENGINE_TENSOR],                                    \
                           *vector = model.code[ENGINE_VECTOR], *sync = model.code[ENGINE_SYNC];   \
        struct dma_descriptor *dma = model.descriptors;                                            \
        struct collective *all = model.collectives;                                                \
        (void)program, (void)tensor, (void)vector, (void)sync, (void)dma, (void)all;               \
        __VA_ARGS__;                                                                               \
        assert_refused(program, reason);                                                           \
    } while (0)

static struct model model;

TEST(the_model_passes_the_check)
{
    struct error err;
    model_make(&model);
    if (!program_check(&model.program, &err))
        fail_msg("%s", err.text);
}

TEST(variables_and_tables_are_checked)
{
    REFUSED("generation 9", program->core_version = 9);
    REFUSED("scratchpad is larger", program->scratchpad_bytes = UINT64_C(1) << 50);
    REFUSED("kind is unknown", model.variables[0].kind = 4);
    REFUSED("data type is unknown", model.variables[0].dtype = 16);
    REFUSED("has memory for", model.variables[0].size = 0);
    REFUSED("has memory for", model.variables[0].size = UINT64_MAX);
    REFUSED("dimensions", model.variables[0].rank = 9);
    REFUSED("its shape takes", model.variables[0].shape[0] = 9);
    REFUSED("shape is too large",
            memset(model.variables[0].shape, 0xFF, sizeof model.variables[0].shape),
            model.variables[0].rank = 8);
    REFUSED("inside the scratchpad", model.variables[3].backing_offset = 1026);
    REFUSED("inside the scratchpad", model.variables[3].backing_offset = UINT64_MAX - 1);
    REFUSED("not aligned", model.variables[3].backing_offset = 1);
    REFUSED("already used", model.variables[3].name = "input0");
    REFUSED("name is empty", model.variables[3].name = "");
    REFUSED("kind is unknown", model.queues[0].kind = 5);
    REFUSED("engine is unknown", model.queues[0].engine = ENGINE_COUNT);
    REFUSED("rings", model.queues[0].rings = 17);
    REFUSED("rings", model.queues[0].rings = 0);
    REFUSED("rings", model.queues[0].first_ring = 16);
    REFUSED("stack frame 3", model.origins[0].stack_frame = 3);
    REFUSED("parent is not before", model.frames[0].parent = 1);
    REFUSED("parent is not before", model.frames[1].parent = 2);
}

TEST(transfers_are_checked)
{
    REFUSED("operation is unknown", dma[0].operation = 4);
    REFUSED("kind of index", dma[0].indirect = 3);
    REFUSED("not in any memory", dma[0].from.memory = MEMORY_NONE);
    REFUSED("not in any memory", dma[0].to.memory = 4);
    REFUSED("data type of its source", dma[0].from.dtype = 0);
    REFUSED("no elements", dma[0].from.size[1] = 0);
    REFUSED("too many", dma[0].from.size[1] = dma[0].from.size[2] = UINT32_MAX);
    REFUSED("not aligned", dma[0].from.offset = 2);
    REFUSED("variable 4", dma[0].from.variable = 4);
    REFUSED("beyond the 256 bytes of input0", dma[0].from.offset = 4);
    REFUSED("beyond the 256 bytes of input0", dma[0].from.offset = UINT64_MAX - 3);
    REFUSED("beyond the 256 bytes of input0", dma[0].from.step[0] = -8);
    REFUSED("beyond the 256 bytes of input0", dma[0].from.step[0] = INT64_MIN);
    REFUSED("beyond the 256 bytes", dma[1].from.offset = 6 * 4);
    REFUSED("register 32", dma[0].from.offset_register = 32);
    REFUSED("not a multiple", dma[3].to.register_step = 3);
    REFUSED("dynamic offset, but", dma[0].to.offset_register = 0);
    REFUSED("128 partitions", dma[0].to.partition = 121);
    REFUSED("128 partitions", dma[0].to.step[0] = -18);
    REFUSED("128 partitions", dma[0].to.step[0] = INT64_MAX);
    REFUSED("bytes of a partition", dma[0].to.offset = 224 * 1024 - 8);
    REFUSED("bytes of a partition", dma[0].to.step[4] = -5);
    REFUSED("16384 bytes", dma[0].to.memory = MEMORY_PSUM, dma[0].to.offset = 16384);
    REFUSED("64 elements are copied to 32", dma[0].to.size[4] = 4);
    REFUSED("writes to a weight", dma[3].to.variable = 2);
    REFUSED("indexed end", dma[2].indirect = DMA_SCATTER);
    REFUSED("no index is valid", dma[2].index_limit = 0);
    REFUSED("beyond the 256 bytes", dma[2].index_limit = 9);
    REFUSED("beyond the 256 bytes", dma[2].index_limit = UINT64_MAX);
    REFUSED("neither in SBUF", dma[2].indices.memory = MEMORY_NONE);
    REFUSED("indices are INT32", dma[2].indices.dtype = DTYPE_UINT32);
    REFUSED("indices are INT32", dma[2].indices.size[3] = 2);
    REFUSED("7 indices for 8 rows", dma[2].indices.partitions = 7);
    REFUSED("descriptors from", model.blocks[0].count = 0);
    REFUSED("descriptors from", model.blocks[1].count = 3);
    REFUSED("descriptors from", model.blocks[1].first = UINT32_MAX);
    REFUSED("queue 2", model.blocks[1].queue = 2);
    REFUSED("semaphore 256", model.blocks[1].semaphore = 256);
}

TEST(collectives_are_checked)
{
    struct error err;
    REFUSED("kind is unknown", all[0].kind = 8);
    REFUSED("semaphore 256", all[0].semaphore = 256);
    REFUSED("pairs of ranks", all[COLLECTIVE_PERMUTE].group_count = 0);
    REFUSED("pairs of ranks, not groups", all[COLLECTIVE_PERMUTE].group_size = 1);
    REFUSED("groups are empty", all[0].group_size = 0);
    REFUSED("in two groups", model.ranks[0] = model.ranks[3]);
    REFUSED("a barrier has data", all[COLLECTIVE_BARRIER].input_bytes = 4);
    REFUSED("data type is unknown", all[0].dtype = 0);
    REFUSED("cannot reduce by", all[COLLECTIVE_ALL_REDUCE].alu = ALU_SUBTRACT);
    REFUSED("variable 4", all[0].input = 4);
    REFUSED("beyond the 256 bytes of input0", all[0].input_offset = 196);
    REFUSED("beyond the 512 bytes of spill", all[0].output_offset = UINT64_MAX);
    REFUSED("not aligned", all[0].input_offset = 2);
    REFUSED("writes to a weight", all[0].output = 2);
    REFUSED("do not fit together", all[COLLECTIVE_ALL_GATHER].output_bytes = 64);
    REFUSED("do not fit together", all[COLLECTIVE_REDUCE_SCATTER].input_bytes = 64);
    REFUSED("do not fit together", all[COLLECTIVE_BROADCAST].output_bytes = 128);
    REFUSED("do not fit together", all[COLLECTIVE_ALL_TO_ALL].input_bytes = 60,
            all[COLLECTIVE_ALL_TO_ALL].output_bytes = 60);
    REFUSED("move 2 is not inside", model.moves[2].bytes = 68);
    REFUSED("move 0 is not inside", model.moves[0].from = 2);
    REFUSED("move 1 is not inside", model.moves[1].to = UINT64_MAX);
    REFUSED("move 0 is not between ranks of a group", model.moves[0].target = 2);
    REFUSED("move 0 is not between ranks of a group", model.moves[0].source = 9,
            model.moves[0].target = 9);
    REFUSED("order of sources", model.moves[0].source = 3);
    model_make(&model);
    assert_true(program_check_ranks(&model.program, 4, &err));
    struct collective *variable = &model.collectives[COLLECTIVE_ALL_TO_ALL_V];
    variable->group_count = variable->group_size = 0;
    model.moves[2].target = 4;
    assert_false(program_check_ranks(&model.program, 4, &err));
    assert_non_null(strstr(err.text, "beyond the 4 there are"));
    model_make(&model);
    assert_false(program_check_ranks(&model.program, 3, &err));
    assert_non_null(strstr(err.text, "rank 3 of 3"));
    assert_false(program_check_ranks(&model.program, 0, &err));
    model.collectives[COLLECTIVE_ALL_REDUCE].input_bytes = 128;
    assert_false(program_check_ranks(&model.program, 4, &err));
    assert_non_null(strstr(err.text, "do not fit together for 4 ranks"));
}

TEST(every_instruction_is_checked)
{
    REFUSED("unknown opcode 21", tensor[0].opcode = OP_COUNT);
    REFUSED("does not have this instruction", vector[0].opcode = OP_LDWEIGHTS);
    REFUSED("does not have this instruction", sync[7].opcode = OP_TENSOR_COPY);
    REFUSED("flags", tensor[1].flags = FLAG_TAKEN);
    REFUSED("flags", vector[0].flags = FLAG_SCALAR_OPERAND);
    REFUSED("semaphore 256", tensor[0].wait_semaphore = 256);
    REFUSED("semaphore 300", tensor[0].update_semaphore = 300);
    REFUSED("kind of semaphore update", tensor[0].update_kind = 3);
    REFUSED("kind of semaphore update", tensor[0].update_time = 2);
    REFUSED("origin 2", tensor[0].origin = 2);
    REFUSED("dst is neither in SBUF", vector[0].dst.memory = MEMORY_NONE);
    REFUSED("src[0] is neither in SBUF", vector[0].src[0].memory = MEMORY_HBM);
    REFUSED("does not take operand src[1]", vector[0].src[1] = vector[0].src[0]);
    REFUSED("does not take operand dst", sync[0].dst = vector[0].dst);
    REFUSED("unknown data type", vector[0].dst.dtype = DTYPE_COUNT);
    REFUSED("partitions 1 to 129", vector[0].dst.partition = 1);
    REFUSED("partitions 0 to 0", vector[0].dst.partitions = 0);
    REFUSED("no elements", vector[0].dst.size[0] = 0);
    REFUSED("too many", vector[0].dst.size[0] = vector[0].dst.size[1] = UINT32_MAX);
    REFUSED("not aligned", vector[0].dst.offset = 2);
    REFUSED("229376 bytes of a partition", vector[0].dst.offset = 229376 - 396);
    REFUSED("bytes of a partition", vector[0].dst.step[3] = -1);
    REFUSED("bytes of a partition", vector[0].dst.step[3] = INT32_MIN);
    REFUSED("16384 bytes", vector[0].dst.memory = MEMORY_PSUM, vector[0].dst.offset = 16000);
    REFUSED("128 x 99 elements, src[0] has 128 x 100", vector[0].dst.size[3] = 99);
    REFUSED("127 x 100 elements", vector[0].dst.partitions = 127);
    REFUSED("src[2] has 128 x 50", vector[3].src[2].size[3] = 50);
}

TEST(operations_of_the_tensor_engine_are_checked)
{
    REFUSED("weights are floating-point", tensor[0].src[0].dtype = DTYPE_INT16);
    REFUSED("weights are floating-point", tensor[0].src[0].memory = MEMORY_PSUM);
    REFUSED("129 columns of weights", tensor[0].src[0].size[3] = 129);
    REFUSED("no weights are loaded", tensor[0] = tensor[2]);
    REFUSED("floating-point numbers", tensor[1].src[0].dtype = DTYPE_INT16);
    REFUSED("513 columns", tensor[1].src[0].size[3] = tensor[1].dst.size[3] = 513);
    REFUSED("512 columns become 511", tensor[1].dst.size[3] = 511);
    REFUSED("not FP32", tensor[1].dst.dtype = DTYPE_BF16);
    REFUSED("multiplies 128 x 63, but the weights are 128 x 64", tensor[1].dst.partitions = 63);
    REFUSED("multiplies 64 x 64", tensor[1].src[0].partitions = 64);
    REFUSED("not in PSUM", tensor[1].dst.memory = MEMORY_SBUF);
    REFUSED("several banks", tensor[1].dst.offset += 4);
    REFUSED("several banks", tensor[1].dst.step[3] = -1, tensor[1].dst.offset += 2040);
    REFUSED("not of dst's data type", tensor[2].dst.dtype = DTYPE_FP16);
    REFUSED("do not become", tensor[2].dst.partitions = 127);
    REFUSED("do not become", tensor[2].dst.size[3] = 99);
    REFUSED("several banks", tensor[2].dst.offset = 1900);
    /* A branch may lead from other weights to the MATMUL: its sizes are not known then. */
    struct error err;
    model_make(&model);
    model.code[ENGINE_TENSOR][1].dst.partitions = 63;
    struct instruction *branch = model_add(&model, ENGINE_TENSOR, OP_COMPARE_BRANCH);
    branch->alu = ALU_EQUAL;
    branch->target = 1;
    assert_true(program_check(&model.program, &err));
}

TEST(operations_on_elements_are_checked)
{
    REFUSED("unknown operation 0", vector[1].alu = ALU_NONE);
    REFUSED("unknown operation 25", vector[1].alu = ALU_COUNT);
    REFUSED("and needs integers", vector[1].alu = ALU_AND);
    REFUSED("atan2 needs floating", vector[1].alu = ALU_ATAN2,
            vector[1].src[0].dtype = vector[1].src[1].dtype = DTYPE_INT32);
    REFUSED("one element in each", vector[2].src[1].size[3] = 2);
    REFUSED("one element in each", vector[2].src[1].partitions = 64);
    REFUSED("xor needs integers", vector[2].alu2 = ALU_XOR);
    REFUSED("unknown operation 99", vector[2].alu2 = 99);
    REFUSED("cannot reduce by subtract", vector[4].alu = ALU_SUBTRACT);
    REFUSED("cannot reduce 0", vector[4].count = 0);
    REFUSED("cannot reduce 5", vector[4].count = 5);
    REFUSED("128 x 6 results do not fit dst's 128 x 2", vector[4].count = 1);
    REFUSED("results do not fit", vector[4].dst.partitions = 64);
    REFUSED("unknown function 31", vector[5].alu = FUNCTION_COUNT);
    REFUSED("not needs integers", vector[5].alu = FUNCTION_NOT);
}

TEST(control_is_checked)
{
    REFUSED("neither starts nor stops", sync[0].index = 2);
    REFUSED("DMA block 2", sync[1].index = 2);
    REFUSED("collective 8", sync[2].index = 8);
    REFUSED("not one integer", sync[4].src[0].dtype = DTYPE_FP32);
    REFUSED("not one integer", sync[4].src[0].partitions = 2);
    REFUSED("register 32", sync[4].index = 32);
    REFUSED("register 32", sync[5].index = 32);
    REFUSED("does not take integers", sync[5].alu = ALU_ATAN2);
    REFUSED("semaphore 256", sync[6].count = 57);
    REFUSED("semaphore", sync[6].index = UINT32_MAX);
    REFUSED("not a comparison", sync[9].alu = ALU_MAX);
    REFUSED("register 32", sync[9].index = 32);
    REFUSED("instruction 11", sync[9].target = 11);
}

static void encode(bool compress, uint8_t **bytes, size_t *size)
{
    static const struct neff_member extra = {"graph.json", (const uint8_t *)"{}", 2};
    struct core_program programs[2] = {model.program, model.program};
    struct error err;
    const struct neff_source source = {.name = "a model",
                                       .programs = programs,
                                       .program_count = 2,
                                       .worker_count = 4,
                                       .compress = compress,
                                       .extra = &extra,
                                       .extra_count = 1};
    assert_true(neff_encode(&source, bytes, size, &err));
}

TEST(containers_come_back_from_their_bytes)
{
    uint8_t uuid[16];
    for (int compress = 0; compress < 2; compress++) {
        uint8_t *bytes, *again;
        size_t size, again_size;
        struct error err;
        model_make(&model);
        encode(compress, &bytes, &size);
        encode(compress, &again, &again_size);
        assert_int_equal(size, again_size);
        assert_memory_equal(bytes, again, size);
        assert_true(neff_recognize(bytes, size));
        struct neff *neff = neff_parse(bytes, size, "x.neff", &err);
        if (!neff)
            fail_msg("%s", err.text);
        const struct neff_info *info = neff_info(neff);
        assert_true(neff_is_runnable(neff, &err));
        assert_string_equal(info->header.name, "a model");
        assert_int_equal(info->header.core_count, 2);
        struct sha256 sha;
        uint8_t digest[SHA256_SIZE];
        sha256_begin(&sha);
        sha256_add(&sha, bytes + 1024, size - 1024);
        sha256_end(&sha, digest);
        assert_memory_equal(info->header.hash, digest, sizeof digest);
        assert_int_equal(info->header.logical_core_size, 2);
        assert_int_equal(info->program_count, 2);
        assert_int_equal(info->worker_count, 4);
        assert_int_equal(info->mac_count, 2048);
        for (unsigned i = 0; i < 2; i++) {
            assert_same_program(&model.program, &info->programs[i]);
            assert_memory_equal(info->programs[i].variables[2].data, model.weight, 256);
        }
        assert_memory_equal(neff_find(neff, "graph.json")->data, "{}", 2);
        assert_null(neff_find(neff, "missing"));
        if (compress) /* does not change what it is */
            assert_memory_equal(uuid, info->header.uuid, sizeof uuid);
        memcpy(uuid, info->header.uuid, sizeof uuid);
        neff_close(neff);
        mem_free(bytes);
        mem_free(again);
    }
}

TEST(another_weight_is_another_uuid)
{
    uint8_t *bytes, *other;
    size_t size;
    model_make(&model);
    encode(false, &bytes, &size);
    model.weight[7]++;
    encode(false, &other, &size);
    enum { UUID_AT = 204 };
    assert_memory_not_equal(bytes + UUID_AT, other + UUID_AT, 16);
    mem_free(bytes);
    mem_free(other);
}

/* The encoding is that of the committed sample: files that exist stay readable. With
 * KYMO_WRITE_SAMPLES set, the sample is written. */
TEST(the_encoding_is_that_of_the_sample)
{
    static const char path[] = KYMO_TEST_DATA "/neff/model.neff";
    uint8_t *bytes;
    size_t size;
    struct error err;
    struct output out;
    model_make(&model);
    if (getenv("KYMO_WRITE_SAMPLES")) {
        encode(false, &bytes, &size);
        write_whole_file(path, bytes, size);
        mem_free(bytes);
    }
    struct neff *neff = neff_open(path, &err);
    assert_non_null(neff);
    for (unsigned i = 0; i < 2; i++)
        assert_same_program(&model.program, &neff_info(neff)->programs[i]);
    output_memory(&out);
    program_encode(&model.program, 4, &out);
    const struct neff_member *member = neff_find(neff, "sg01/program.kymo.bin");
    assert_int_equal(member->size, out.size);
    assert_memory_equal(member->data, out.data, out.size);
    output_discard(&out);
    neff_close(neff);
}

static void assert_listed(const struct neff_variable *item, const struct variable *expected)
{
    static const char *const types[] = {"input", "output", "file", "virtual"};
    assert_string_equal(item->name, expected->name);
    assert_string_equal(item->type, types[expected->kind]);
    assert_string_equal(item->dtype, dtype_name((enum dtype)expected->dtype));
    assert_int_equal(item->size, expected->size);
}

TEST(tensors_and_queues_are_listed_from_json)
{
    uint8_t *bytes;
    size_t size;
    struct error err;
    struct neff_listing listing;
    model_make(&model);
    encode(true, &bytes, &size);
    struct neff *neff = neff_parse(bytes, size, "x.neff", &err);
    assert_true(neff_list(neff, &listing, &err));
    assert_int_equal(listing.variable_count, 8);
    assert_int_equal(listing.queue_count, 4);
    for (unsigned i = 0; i < 8; i++) {
        assert_string_equal(listing.variables[i].graph, i < 4 ? "sg00" : "sg01");
        assert_listed(&listing.variables[i], &model.variables[i % 4]);
    }
    assert_string_equal(listing.variables[1].shape, "4,4,4");
    assert_string_equal(listing.variables[2].file, "weights/2.bin");
    assert_string_equal(listing.queues[3].name, "qGpSimdDynamic");
    assert_string_equal(listing.queues[3].type, "dynamic");
    assert_string_equal(listing.queues[3].owner, "Pool");
    assert_int_equal(listing.queues[3].rings, 3);
    neff_listing_free(&listing);
    neff_close(neff);
    mem_free(bytes);
}

/* Whatever comes of it must not be more than an error. */
static void parse_damaged(const uint8_t *bytes, size_t size)
{
    struct error err = {0};
    uint8_t *copy = exact_copy(bytes, size);
    struct neff *neff = neff_parse(copy, size, "x.neff", &err);
    if (!neff)
        assert_true(err.text[0] != '\0');
    neff_close(neff);
    free(copy);
}

TEST(truncation_at_every_byte_is_an_error)
{
    for (int compress = 0; compress < 2; compress++) {
        uint8_t *bytes;
        size_t size;
        struct error err;
        model_make(&model);
        encode(compress, &bytes, &size);
        for (size_t i = 0; i < size; i += compress ? 1 : 7) {
            uint8_t *copy = exact_copy(bytes, i);
            assert_null(neff_parse(copy, i, "x.neff", &err));
            if (i >= 1024) { /* as if it were not cut: the archive is */
                uint64_t left = i - 1024;
                memcpy(copy + 16, &left, sizeof left);
                parse_damaged(copy, i);
            }
            free(copy);
        }
        mem_free(bytes);
    }
}

TEST(flipped_bits_do_no_harm)
{
    struct rng rng = {2};
    uint8_t *bytes;
    size_t size;
    model_make(&model);
    encode(false, &bytes, &size);
    for (int round = 0; round < 2000; round++) {
        size_t at = rng_below(&rng, size);
        uint8_t before = bytes[at];
        bytes[at] ^= (uint8_t)(1u << rng_below(&rng, 8));
        parse_damaged(bytes, size);
        bytes[at] = before;
    }
    mem_free(bytes);
}

/* All bytes after the header count, and the hash itself. */
TEST(the_hash_tells_any_change_of_the_data)
{
    enum { BUILD_VERSION_AT = 40, HASH_AT = 172, HASH_END = 204, HEADER_SIZE = 1024 };
    struct rng rng = {4};
    struct error err;
    model_make(&model);
    for (int compressed = 0; compressed < 2; compressed++) {
        uint8_t *bytes;
        size_t size;
        encode(compressed, &bytes, &size);
        assert_true(neff_check_hash(bytes, size, "a.neff", &err));
        for (int round = 0; round < 300; round++) {
            size_t at = rng_below(&rng, size - HASH_AT) + HASH_AT;
            uint8_t bit = (uint8_t)(1u << rng_below(&rng, 8));
            bytes[at] ^= bit;
            bool is_same = at >= HASH_END && at < HEADER_SIZE;
            assert_int_equal(neff_check_hash(bytes, size, "a.neff", &err), is_same);
            assert_true(is_same || strstr(err.text, "SHA-256"));
            bytes[at] ^= bit;
        }
        bytes[size - 1] ^= 1;
        bytes[BUILD_VERSION_AT] = 'x'; /* another compiler's */
        assert_true(neff_check_hash(bytes, size, "a.neff", &err));
        assert_false(neff_check_hash(bytes, size - 1, "a.neff", &err));
        mem_free(bytes);
    }
}

/* With a correct checksum, so that the decoder and the check see the damage. */
TEST(programs_with_any_byte_changed_do_no_harm)
{
    struct rng rng = {3};
    struct output out;
    struct error err;
    model_make(&model);
    output_memory(&out);
    program_encode(&model.program, 4, &out);
    unsigned accepted = 0;
    for (int round = 0; round < 20000; round++) {
        struct arena arena = {0};
        struct core_program program;
        uint32_t workers, *crcs;
        size_t size = rng_below(&rng, 8) == 0 ? rng_below(&rng, out.size) : out.size;
        uint8_t *copy = exact_copy(out.data, size);
        for (size_t k = rng_below(&rng, 3); k < 3 && size > PROGRAM_HEADER_SIZE; k++)
            copy[PROGRAM_HEADER_SIZE + rng_below(&rng, size - PROGRAM_HEADER_SIZE)] =
                (uint8_t)rng_any_width(&rng);
        if (size >= PROGRAM_HEADER_SIZE) {
            uint32_t crc = crc32_of(0, copy + PROGRAM_HEADER_SIZE, size - PROGRAM_HEADER_SIZE);
            memcpy(copy + 12, &crc, sizeof crc);
        }
        if (program_decode(&program, &workers, &crcs, copy, size, &arena, &err) &&
            program_check(&program, &err))
            accepted += program_check_ranks(&program, workers, &err);
        arena_free(&arena);
        free(copy);
    }
    assert_in_range(accepted, 1, 19999);
    output_discard(&out);
}

TEST(programs_of_other_compilers_are_not_run)
{
    uint8_t *bytes;
    size_t size;
    struct error err;
    model_make(&model);
    encode(false, &bytes, &size);
    /* Another name of the program's member: two letters trade places, so that its header's sum
     * stays the same. */
    for (size_t at = 1024; at + 512 < size; at += 512)
        if (strcmp((char *)bytes + at + 4, "/program.kymo.bin") == 0)
            memcpy(bytes + at + 5, "rp", 2);
    struct neff *neff = neff_parse(bytes, size, "x.neff", &err);
    assert_non_null(neff);
    assert_int_equal(neff_info(neff)->program_count, 0);
    assert_null(neff_info(neff)->programs);
    assert_false(neff_is_runnable(neff, &err));
    assert_non_null(strstr(err.text, "another compiler"));
    neff_close(neff);
    mem_free(bytes);
}

TEST(what_is_not_a_neff_is_said_to_be_none)
{
    struct error err;
    assert_null(neff_parse("hello", 5, "x.neff", &err));
    assert_non_null(strstr(err.text, "not a NEFF"));
    assert_null(neff_open("/nonexistent.neff", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_come_back_from_their_encoding_whatever_is_in_them),
        cmocka_unit_test(the_encoding_of_an_unrolled_loop_is_compact),
        cmocka_unit_test(the_model_passes_the_check),
        cmocka_unit_test(variables_and_tables_are_checked),
        cmocka_unit_test(transfers_are_checked),
        cmocka_unit_test(collectives_are_checked),
        cmocka_unit_test(every_instruction_is_checked),
        cmocka_unit_test(operations_of_the_tensor_engine_are_checked),
        cmocka_unit_test(operations_on_elements_are_checked),
        cmocka_unit_test(control_is_checked),
        cmocka_unit_test(containers_come_back_from_their_bytes),
        cmocka_unit_test(the_encoding_is_that_of_the_sample),
        cmocka_unit_test(tensors_and_queues_are_listed_from_json),
        cmocka_unit_test(another_weight_is_another_uuid),
        cmocka_unit_test(truncation_at_every_byte_is_an_error),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(the_hash_tells_any_change_of_the_data),
        cmocka_unit_test(programs_with_any_byte_changed_do_no_harm),
        cmocka_unit_test(programs_of_other_compilers_are_not_run),
        cmocka_unit_test(what_is_not_a_neff_is_said_to_be_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

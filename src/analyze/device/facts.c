/*
 * What instructions and transfers do each time they run, from the program alone.
 */
#include "analyze/device/execution.h"

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Of one partition. */
static uint64_t elements_of(const struct operand *operand)
{
    uint64_t elements = 1;
    for (unsigned i = 0; i < 4; i++)
        elements = multiply(elements, operand->size[i]);
    return elements;
}

static void count_operand(const struct operand *operand, uint64_t *sbuf, uint64_t *psum)
{
    uint64_t bytes = multiply(multiply(elements_of(operand), operand->partitions),
                              dtype_bytes((enum dtype)operand->dtype));
    if (operand->memory == MEMORY_SBUF)
        *sbuf += bytes;
    else if (operand->memory == MEMORY_PSUM)
        *psum += bytes;
}

static bool is_fp8(enum dtype dtype)
{
    return dtype == DTYPE_FP8_E3 || dtype == DTYPE_FP8_E4 || dtype == DTYPE_FP8_E5;
}

/* FP32 takes four passes through the array, FP8 with FP8 weights half of one. */
static uint64_t adjusted(uint64_t flops, uint32_t version, enum dtype moving, enum dtype stationary)
{
    if (moving == DTYPE_FP32 || stationary == DTYPE_FP32)
        return multiply(flops, 4);
    if (version >= 3 && is_fp8(moving) && is_fp8(stationary))
        return flops / 2;
    return flops;
}

/* Whether the published total_exec_time leaves instructions of this opcode out. */
static bool device_is_overhead(enum opcode opcode)
{
    return opcode == OP_NOP || opcode >= OP_DMA_TRIGGER;
}

/* Facts depend on the instruction alone and are computed once per program, not per execution.
 * `weights` is the type last loaded, as a matmul does not name it. */
static struct instruction_facts facts_of(const struct instruction *instruction, uint32_t version,
                                         enum dtype weights)
{
    enum opcode opcode = (enum opcode)instruction->opcode;
    const struct operand *moving = &instruction->src[0];
    struct instruction_facts facts = {.is_overhead = device_is_overhead(opcode)};
    for (unsigned i = 0; i < 3; i++)
        count_operand(&instruction->src[i], &facts.sbuf_read, &facts.psum_read);
    count_operand(&instruction->dst, &facts.sbuf_write, &facts.psum_write);
    facts.is_transpose = opcode == OP_TRANSPOSE;
    facts.is_matmul = opcode == OP_MATMUL || facts.is_transpose;
    if (facts.is_matmul || opcode == OP_LDWEIGHTS)
        facts.elements = elements_of(moving);
    else if (instruction->dst.memory != MEMORY_NONE)
        facts.elements = elements_of(&instruction->dst);
    if (facts.is_matmul) {
        /* A transpose multiplies by the identity, as many columns as rows. */
        uint64_t rows = moving->partitions;
        uint64_t columns = facts.is_transpose ? rows : instruction->dst.partitions;
        enum dtype dtype = (enum dtype)moving->dtype;
        facts.flops = multiply(2 * rows * columns, facts.elements);
        facts.adjusted_flops =
            adjusted(facts.flops, version, dtype, facts.is_transpose ? dtype : weights);
    }
    return facts;
}

static uint64_t end_bytes(const struct dma_end *end)
{
    uint64_t bytes = dtype_bytes((enum dtype)end->dtype);
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++)
        bytes = multiply(bytes, end->size[i]);
    return bytes;
}

bool device_is_scratchpad(const struct core_program *program, const struct dma_end *end)
{
    return end->memory == MEMORY_HBM && program->variables[end->variable].kind == VARIABLE_VIRTUAL;
}

/* Ends outside HBM are SBUF. The larger end counts as the size, as a broadcast reads less than
 * it writes. */
static struct descriptor_facts transfer_facts(const struct core_program *program,
                                              const struct dma_descriptor *descriptor)
{
    const struct dma_end *from = &descriptor->from, *to = &descriptor->to;
    uint64_t read = end_bytes(from), written = end_bytes(to);
    bool from_hbm = from->memory == MEMORY_HBM, to_hbm = to->memory == MEMORY_HBM;
    struct descriptor_facts facts = {
        .bytes = read > written ? read : written,
        .read = read,
        .written = written,
        .hbm_read = from_hbm ? read : 0,
        .hbm_write = to_hbm ? written : 0,
        .sbuf_read = from_hbm ? 0 : read,
        .sbuf_write = to_hbm ? 0 : written,
        .variable = from_hbm ? from->variable
                    : to_hbm ? to->variable
                             : NO_INDEX,
        .queue_type = DMA_TYPE_UNKNOWN,
        .is_spill_save = device_is_scratchpad(program, to) && !from_hbm,
        .is_spill_reload = device_is_scratchpad(program, from) && !to_hbm};
    if (descriptor->operation != DMA_COPY) { /* read, combined, written */
        facts.hbm_read += facts.hbm_write;
        facts.sbuf_read += facts.sbuf_write;
    }
    return facts;
}

enum dma_queue_type device_queue_type(const struct core_program *program, uint32_t queue)
{
    switch ((enum queue_kind)program->queues[queue].kind) {
    case QUEUE_IN:
        return DMA_TYPE_INPUT;
    case QUEUE_OUT:
        return DMA_TYPE_OUTPUT;
    case QUEUE_DATA:
        return DMA_TYPE_DATA;
    case QUEUE_EMBEDDING: /* gathers and scatters have no hardware */
        return DMA_TYPE_SOFTWARE_DYNAMIC;
    case QUEUE_DYNAMIC:
        return program->core_version < 3 ? DMA_TYPE_SOFTWARE_DYNAMIC : DMA_TYPE_HARDWARE_DYNAMIC;
    }
    return DMA_TYPE_UNKNOWN;
}

/* Blocks do not share descriptors; in a file where they do, the first blocks have them. */
static void find_queue_types(struct device_profile *profile)
{
    const struct core_program *program = profile->program;
    uint64_t left = program->descriptor_count;
    for (uint32_t b = 0; b < program->block_count; b++) {
        const struct dma_block *block = &program->blocks[b];
        if (block->count > left)
            continue;
        left -= block->count;
        for (uint32_t i = 0; i < block->count; i++)
            profile->descriptors[block->first + i].queue_type =
                (uint8_t)device_queue_type(program, block->queue);
    }
}

/* What a descriptor adds to its block. */
static void add_descriptor(struct block_facts *sum, const struct core_program *program,
                           const struct dma_descriptor *descriptor,
                           const struct descriptor_facts *facts)
{
    const struct dma_end *from = &descriptor->from;
    sum->bytes += facts->bytes;
    sum->read += facts->read;
    sum->written += facts->written;
    sum->hbm_read += facts->hbm_read;
    sum->hbm_write += facts->hbm_write;
    sum->sbuf_read += facts->sbuf_read;
    sum->sbuf_write += facts->sbuf_write;
    sum->spill_save += facts->is_spill_save ? facts->bytes : 0;
    sum->spill_reload += facts->is_spill_reload ? facts->bytes : 0;
    if (from->memory == MEMORY_HBM && program->variables[from->variable].kind == VARIABLE_WEIGHT)
        sum->weight_read += facts->hbm_read;
}

static struct block_facts difference(const struct block_facts *a, const struct block_facts *b)
{
    return (struct block_facts){.bytes = a->bytes - b->bytes,
                                .read = a->read - b->read,
                                .written = a->written - b->written,
                                .hbm_read = a->hbm_read - b->hbm_read,
                                .hbm_write = a->hbm_write - b->hbm_write,
                                .sbuf_read = a->sbuf_read - b->sbuf_read,
                                .sbuf_write = a->sbuf_write - b->sbuf_write,
                                .spill_save = a->spill_save - b->spill_save,
                                .spill_reload = a->spill_reload - b->spill_reload,
                                .weight_read = a->weight_read - b->weight_read};
}

static void add_hbm_access(struct device_profile *profile, struct block_facts *facts,
                           const struct dma_end *end, bool is_write)
{
    if (end->memory != MEMORY_HBM)
        return;
    for (uint32_t i = 1; i <= 2 && i <= facts->access_count; i++) {
        const struct hbm_access *last =
            &profile->hbm_accesses.items[profile->hbm_accesses.count - i];
        if (last->variable == end->variable && last->is_write == is_write)
            return;
    }
    *array_push(&profile->hbm_accesses) = (struct hbm_access){end->variable, is_write};
    facts->access_count++;
}

/* Sums up to each descriptor: of a block they are the difference of two, however many blocks share
 * descriptors. */
void device_find_block_facts(struct device_profile *profile)
{
    const struct core_program *program = profile->program;
    uint64_t left = program->descriptor_count; /* as above */
    struct block_facts *before = mem_zeroed((size_t)program->descriptor_count + 1, sizeof *before);
    for (uint32_t i = 0; i < program->descriptor_count; i++) {
        before[i + 1] = before[i];
        add_descriptor(&before[i + 1], program, &program->descriptors[i], &profile->descriptors[i]);
    }
    profile->hbm_accesses.count = 0;
    profile->block_facts =
        mem_resize(profile->block_facts, program->block_count, sizeof *profile->block_facts);
    for (uint32_t b = 0; b < program->block_count; b++) {
        const struct dma_block *block = &program->blocks[b];
        struct block_facts *facts = &profile->block_facts[b];
        *facts = difference(&before[block->first + block->count], &before[block->first]);
        facts->first_access = (uint32_t)profile->hbm_accesses.count;
        if (block->count > left)
            continue;
        left -= block->count;
        for (uint32_t i = 0; i < block->count; i++) {
            const struct dma_descriptor *descriptor = &program->descriptors[block->first + i];
            add_hbm_access(profile, facts, &descriptor->from, false);
            add_hbm_access(profile, facts, &descriptor->to, true);
        }
    }
    mem_free(before);
}

void device_find_facts(struct device_profile *profile)
{
    const struct core_program *program = profile->program;
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        enum dtype weights = DTYPE_NONE;
        profile->facts[e] = mem_alloc((size_t)program->code_count[e] * sizeof *profile->facts[e]);
        for (uint32_t i = 0; i < program->code_count[e]; i++) {
            const struct instruction *instruction = &program->code[e][i];
            if (instruction->opcode == OP_LDWEIGHTS)
                weights = (enum dtype)instruction->src[0].dtype;
            profile->facts[e][i] = facts_of(instruction, profile->hardware->version, weights);
        }
    }
    profile->descriptors =
        mem_alloc((size_t)program->descriptor_count * sizeof *profile->descriptors);
    for (uint32_t i = 0; i < program->descriptor_count; i++)
        profile->descriptors[i] = transfer_facts(program, &program->descriptors[i]);
    find_queue_types(profile);
    device_find_block_facts(profile);
}

/*
 * What instructions and transfers access in SBUF and PSUM: follows from the program alone.
 */
#include "analyze/device/execution.h"

static struct device_access access_to(uint8_t memory, int64_t begin, int64_t end,
                                      uint32_t partition, uint32_t partitions)
{
    struct device_access access = {
        .begin = (uint32_t)begin, .end = (uint32_t)end, .is_psum = memory == MEMORY_PSUM};
    for (uint32_t i = 0; i < SAMPLED_PARTITIONS; i++)
        if (i * SAMPLED_STEP >= partition && i * SAMPLED_STEP - partition < partitions)
            access.partitions |= (uint8_t)(1 << i);
    return access;
}

static struct device_access operand_access(const struct operand *operand)
{
    int64_t low = 0, high = 0;
    for (unsigned i = 0; i < 4; i++) {
        int64_t reach = (int64_t)operand->step[i] * ((int64_t)operand->size[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t bytes = dtype_bytes((enum dtype)operand->dtype);
    return access_to(operand->memory, operand->offset + low * bytes,
                     operand->offset + (high + 1) * bytes, operand->partition, operand->partitions);
}

static struct device_access end_access(const struct dma_end *end)
{
    int64_t low = 0, high = 0;
    for (unsigned i = 1; i < DMA_DIMENSIONS; i++) {
        int64_t reach = end->step[i] * ((int64_t)end->size[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t bytes = dtype_bytes((enum dtype)end->dtype), offset = (int64_t)end->offset;
    int64_t rows = end->step[0] * ((int64_t)end->size[0] - 1);
    return access_to(end->memory, offset + low * bytes, offset + (high + 1) * bytes,
                     (uint32_t)(end->partition + (rows < 0 ? rows : 0)),
                     (uint32_t)(rows < 0 ? -rows : rows) + 1);
}

static bool is_on_chip(uint8_t memory)
{
    return memory == MEMORY_SBUF || memory == MEMORY_PSUM;
}

static void add_access(struct device_accesses *accesses, struct device_access access)
{
    if (access.partitions)
        accesses->items[accesses->count++] = access;
}

static struct device_accesses instruction_accesses(const struct instruction *code)
{
    struct device_accesses accesses = {0};
    if (code->opcode > OP_IOTA)
        return accesses;
    for (unsigned i = 0; i < 3; i++)
        if (is_on_chip(code->src[i].memory))
            add_access(&accesses, operand_access(&code->src[i]));
    if (is_on_chip(code->dst.memory)) {
        struct device_access target = operand_access(&code->dst);
        /* A matmul that accumulates goes on with what is there. */
        target.is_write = !(code->opcode == OP_MATMUL && code->flags & FLAG_ACCUMULATE);
        add_access(&accesses, target);
    }
    return accesses;
}

static struct device_accesses transfer_accesses(const struct dma_descriptor *descriptor)
{
    struct device_accesses accesses = {0};
    if (is_on_chip(descriptor->from.memory))
        add_access(&accesses, end_access(&descriptor->from));
    if (is_on_chip(descriptor->to.memory)) {
        struct device_access target = end_access(&descriptor->to);
        target.is_write = true;
        add_access(&accesses, target);
    }
    return accesses;
}

void device_find_accesses(struct device_profile *profile)
{
    const struct core_program *program = profile->program;
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        profile->accesses[e] = mem_alloc(program->code_count[e] * sizeof *profile->accesses[e]);
        for (uint32_t i = 0; i < program->code_count[e]; i++)
            profile->accesses[e][i] = instruction_accesses(&program->code[e][i]);
    }
    struct device_accesses *transfers = mem_alloc(program->descriptor_count * sizeof *transfers);
    for (uint32_t i = 0; i < program->descriptor_count; i++)
        transfers[i] = transfer_accesses(&program->descriptors[i]);
    profile->accesses[ENGINE_COUNT] = transfers;
}

/*
 * Checks variables and DMA transfers: both ends inside their memories, the same number of elements
 * in both.
 */
#include "neuron/program/check.h"

#include <inttypes.h>

/* Names are keys of JSON objects, and users refer to inputs by them. */
static bool check_names(struct check *check)
{
    struct intern names;
    bool ok = true;
    intern_init(&names); /* has "" */
    for (uint32_t i = 0; ok && i < check->program->variable_count; i++) {
        const char *name = check->program->variables[i].name;
        check->number = i;
        if (intern_find(&names, text_of(name)) != INTERN_NONE)
            ok = check_failed(check, "its name is empty or already used: '%s'", name);
        else
            intern_add(&names, text_of(name));
    }
    intern_free(&names);
    return ok;
}

static bool check_shape(struct check *check, const struct variable *variable)
{
    uint64_t bytes = dtype_bytes((enum dtype)variable->dtype);
    if (variable->rank > SHAPE_MAX)
        return check_failed(check, "it has %u dimensions", variable->rank);
    for (unsigned i = 0; i < variable->rank; i++)
        if (__builtin_mul_overflow(bytes, variable->shape[i], &bytes))
            return check_failed(check, "its shape is too large");
    if (variable->kind != VARIABLE_VIRTUAL && bytes != variable->size)
        return check_failed(check, "its shape takes %" PRIu64 " bytes, its size is %" PRIu64, bytes,
                            variable->size);
    return true;
}

/* Only positions and sizes are checked: variables in the scratchpad may overlap, as they may be
 * used at different times. */
bool check_variables(struct check *check)
{
    const struct core_program *program = check->program;
    check->what = "variable";
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct variable *variable = &program->variables[i];
        check->number = i;
        if (variable->kind > VARIABLE_VIRTUAL)
            return check_failed(check, "its kind is unknown: %u", variable->kind);
        if (variable->dtype == DTYPE_NONE || variable->dtype >= DTYPE_COUNT)
            return check_failed(check, "its data type is unknown: %u", variable->dtype);
        if (variable->size == 0 || variable->size > check->hardware->hbm_bytes)
            return check_failed(check, "it has %" PRIu64 " bytes; %s has memory for %" PRIu64,
                                variable->size, check->hardware->name, check->hardware->hbm_bytes);
        if (!check_shape(check, variable))
            return false;
        if (variable->kind != VARIABLE_VIRTUAL)
            continue;
        if (variable->backing_offset % dtype_bytes((enum dtype)variable->dtype) != 0)
            return check_failed(check, "it is not aligned to its data type");
        if (variable->size > program->scratchpad_bytes ||
            variable->backing_offset > program->scratchpad_bytes - variable->size)
            return check_failed(
                check, "bytes %" PRIu64 " to %" PRIu64 " are not inside the scratchpad of %" PRIu64,
                variable->backing_offset, variable->backing_offset + variable->size,
                program->scratchpad_bytes);
    }
    return check_names(check);
}

/* The product of the sizes; 0 when it needs more than 63 bits. */
static uint64_t end_elements(const struct dma_end *end)
{
    uint64_t product = 1;
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++)
        if (__builtin_mul_overflow(product, end->size[i], &product) || product > INT64_MAX)
            return 0;
    return product;
}

/* Bytes that dimensions from `first` on reach, from the end's offset. Steps have 64 bits, sizes 32:
 * five products and the data type's size fit in 128. */
static struct program_extent reach_of(const struct dma_end *end, unsigned first)
{
    int64_t bytes = dtype_bytes((enum dtype)end->dtype);
    struct program_extent extent = {end->offset, (__int128)end->offset + bytes};
    for (unsigned i = first; i < DMA_DIMENSIONS; i++) {
        __int128 reach = (__int128)end->step[i] * (end->size[i] - 1) * bytes;
        if (reach < 0)
            extent.first += reach;
        else
            extent.end += reach;
    }
    return extent;
}

static bool check_chip_end(struct check *check, const struct dma_end *end, const char *name)
{
    uint32_t limit = end->memory == MEMORY_PSUM ? PSUM_BYTES : check->hardware->sbuf_bytes;
    __int128 last = end->partition + (__int128)end->step[0] * (end->size[0] - 1);
    if (end->partition >= PARTITIONS || last < 0 || last >= PARTITIONS)
        return check_failed(check, "its %s is beyond the %d partitions", name, PARTITIONS);
    if (end->offset_register != NO_REGISTER)
        return check_failed(check, "its %s has a dynamic offset, but is not in HBM", name);
    struct program_extent extent = reach_of(end, 1);
    if (extent.first < 0 || extent.end > limit)
        return check_failed(check, "its %s is beyond the %u bytes of a partition", name, limit);
    return true;
}

/* `indices`: the number of different indices of an indirect end; 1 for others. */
static bool check_memory_end(struct check *check, const struct dma_end *end, uint64_t indices,
                             const char *name)
{
    if (end->variable >= check->program->variable_count)
        return check_failed(check, "its %s is variable %u, which does not exist", name,
                            end->variable);
    const struct variable *variable = &check->program->variables[end->variable];
    if (end->offset_register != NO_REGISTER && end->offset_register >= REGISTERS)
        return check_failed(check, "register %u does not exist", end->offset_register);
    if (end->register_step % dtype_bytes((enum dtype)end->dtype) != 0)
        return check_failed(check, "the step of its %s is not a multiple of its data type", name);
    struct program_extent extent = reach_of(end, 0);
    extent.end += (__int128)(indices - 1) * end->register_step;
    if (extent.first < 0 || extent.end > variable->size)
        return check_failed(check, "its %s is beyond the %" PRIu64 " bytes of %s", name,
                            variable->size, variable->name);
    return true;
}

static bool check_end(struct check *check, const struct dma_end *end, uint64_t indices,
                      const char *name)
{
    if (end->memory < MEMORY_SBUF || end->memory > MEMORY_HBM)
        return check_failed(check, "its %s is not in any memory", name);
    if (end->dtype == DTYPE_NONE || end->dtype >= DTYPE_COUNT)
        return check_failed(check, "the data type of its %s is unknown: %u", name, end->dtype);
    if (end_elements(end) == 0)
        return check_failed(check, "its %s has no elements, or too many", name);
    if (end->offset % dtype_bytes((enum dtype)end->dtype) != 0)
        return check_failed(check, "its %s is not aligned to its data type", name);
    return end->memory == MEMORY_HBM ? check_memory_end(check, end, indices, name)
                                     : check_chip_end(check, end, name);
}

/* The end of a gather or scatter that is addressed by indices. */
static bool check_indices(struct check *check, const struct dma_descriptor *item,
                          const struct dma_end *end)
{
    const struct operand *indices = &item->indices;
    if (end->memory != MEMORY_HBM)
        return check_failed(check, "the indexed end is not in HBM");
    if (item->index_limit == 0)
        return check_failed(check, "no index is valid");
    if (!check_operand(check, indices, "the list of indices"))
        return false;
    if (indices->memory != MEMORY_SBUF || indices->dtype != DTYPE_INT32 ||
        operand_elements(indices) != 1)
        return check_failed(check, "indices are INT32 in SBUF, one in each partition");
    if (indices->partitions != end->size[0])
        return check_failed(check, "it has %u indices for %u rows", indices->partitions,
                            end->size[0]);
    return true;
}

static bool check_descriptor(struct check *check, const struct dma_descriptor *item)
{
    if (item->operation > DMA_MAX)
        return check_failed(check, "its operation is unknown: %u", item->operation);
    if (item->indirect > DMA_SCATTER)
        return check_failed(check, "its kind of index is unknown: %u", item->indirect);
    if (item->indirect != DMA_DIRECT &&
        !check_indices(check, item, item->indirect == DMA_GATHER ? &item->from : &item->to))
        return false;
    if (!check_end(check, &item->from, item->indirect == DMA_GATHER ? item->index_limit : 1,
                   "source") ||
        !check_end(check, &item->to, item->indirect == DMA_SCATTER ? item->index_limit : 1,
                   "destination"))
        return false;
    if (end_elements(&item->from) != end_elements(&item->to))
        return check_failed(check, "%" PRIu64 " elements are copied to %" PRIu64,
                            end_elements(&item->from), end_elements(&item->to));
    if (item->to.memory == MEMORY_HBM &&
        check->program->variables[item->to.variable].kind == VARIABLE_WEIGHT)
        return check_failed(check, "it writes to a weight");
    return true;
}

bool check_transfers(struct check *check)
{
    const struct core_program *program = check->program;
    check->what = "DMA descriptor";
    for (uint32_t i = 0; i < program->descriptor_count; i++) {
        check->number = i;
        if (!check_descriptor(check, &program->descriptors[i]))
            return false;
    }
    check->what = "DMA block";
    for (uint32_t i = 0; i < program->block_count; i++) {
        const struct dma_block *block = &program->blocks[i];
        check->number = i;
        if (block->count == 0 || block->count > program->descriptor_count ||
            block->first > program->descriptor_count - block->count)
            return check_failed(check, "it has %u descriptors from %u on; %u exist", block->count,
                                block->first, program->descriptor_count);
        if (block->queue >= program->queue_count)
            return check_failed(check, "queue %u does not exist", block->queue);
        if (!check_semaphore(check, block->semaphore))
            return false;
    }
    return true;
}

/*
 * Moving the data of DMA transfers: copies, casts, accumulation, gathers and scatters.
 */
#include "neuron/simulator/transfer.h"

#include "neuron/simulator/alu.h"
#include "neuron/simulator/arithmetic.h"
#include "neuron/simulator/convert.h"
#include "neuron/simulator/notify.h"

#include "base/base.h"

/* A transfer on its way. */
struct movement {
    struct core *core;
    const struct dma_descriptor *descriptor;
    uint32_t number; /* of the descriptor */
    struct walk from, to;
    bool is_copy; /* bytes as they are */
    bool checks_numbers;
    unsigned found; /* FOUND_NAN, FOUND_INFINITY */
    bool is_out_of_bounds;
    uint32_t *crc;
};

static enum alu combining_alu(enum dma_operation operation)
{
    switch (operation) {
    case DMA_ADD:
        return ALU_ADD;
    case DMA_MIN:
        return ALU_MIN;
    default:
        return ALU_MAX;
    }
}

/* Arithmetic is in FP32 if either side is a float, otherwise in 64-bit integers: an accumulation
 * reads the target, combines and writes it back. */
static void convert_piece(const struct movement *movement, const uint8_t *from, uint8_t *to,
                          size_t count)
{
    struct arithmetic *arithmetic = movement->core->arithmetic;
    enum dtype source = movement->from.dtype, target = movement->to.dtype;
    int64_t from_step = walk_step(&movement->from), to_step = walk_step(&movement->to);
    enum dma_operation operation = movement->descriptor->operation;
    if (dtype_is_float(source) || dtype_is_float(target)) {
        float *values = arithmetic->floats[0], *before = arithmetic->floats[1];
        load_floats(source, from, from_step, count, values);
        if (operation != DMA_COPY) {
            load_floats(target, to, to_step, count, before);
            alu_floats(combining_alu(operation), before, values, values, count);
        }
        store_floats(target, values, count, to, to_step);
        return;
    }
    int64_t *values = arithmetic->integers[0], *before = arithmetic->integers[1];
    struct integer_kind kind = {.bits = 64, .is_unsigned = source == DTYPE_UINT64};
    load_integers(source, from, from_step, count, values);
    if (operation != DMA_COPY) {
        load_integers(target, to, to_step, count, before);
        alu_integers(combining_alu(operation), kind, before, values, values, count);
    }
    store_integers(target, values, count, to, to_step, kind.is_unsigned);
}

static void add_to_crc(const struct movement *movement, const uint8_t *written, size_t count)
{
    uint32_t bytes = movement->to.bytes;
    int64_t step = walk_step(&movement->to);
    if (step == (int64_t)bytes) {
        *movement->crc = crc32_of(*movement->crc, written, count * bytes);
        return;
    }
    uint8_t *packed = (uint8_t *)movement->core->arithmetic->integers[2];
    for (size_t done = 0; done < count; done += CHUNK_ELEMENTS) {
        size_t some = count - done < CHUNK_ELEMENTS ? count - done : CHUNK_ELEMENTS;
        copy_elements(bytes, written + (int64_t)done * step, step, packed, bytes, some);
        *movement->crc = crc32_of(*movement->crc, packed, some * bytes);
    }
}

static void move(struct movement *movement, uint64_t elements)
{
    while (elements > 0) {
        uint64_t count = movement->is_copy ? elements : CHUNK_ELEMENTS;
        count = count < elements ? count : elements;
        count = count < walk_left(&movement->from) ? count : walk_left(&movement->from);
        count = count < walk_left(&movement->to) ? count : walk_left(&movement->to);
        const uint8_t *from = walk_next(&movement->from, count);
        uint8_t *to = walk_next(&movement->to, count);
        if (movement->is_copy)
            copy_elements(movement->to.bytes, from, walk_step(&movement->from), to,
                          walk_step(&movement->to), count);
        else
            convert_piece(movement, from, to, count);
        if (movement->checks_numbers)
            movement->found |=
                find_bad_numbers(movement->to.dtype, to, walk_step(&movement->to), count);
        if (movement->crc)
            add_to_crc(movement, to, count);
        elements -= count;
    }
}

static void skip(struct walk *walk, uint64_t elements)
{
    while (elements > 0) {
        uint64_t count = walk_left(walk) < elements ? walk_left(walk) : elements;
        (void)walk_next(walk, count);
        elements -= count;
    }
}

/* The address of an end's first element, or NULL when the end, moved by `offset` times its
 * register_step, is not within its variable. Dimensions before `first` do not count. */
static uint8_t *end_address(const struct core *core, const struct dma_end *end, int64_t offset,
                            unsigned first, uint64_t skipped)
{
    if (end->memory != MEMORY_HBM)
        return memory_base(core, end->memory) +
               (size_t)end->partition * memory_stride(core, end->memory) + end->offset;
    int64_t bytes = dtype_bytes(end->dtype), low = 0, high = bytes, moved, begin;
    for (unsigned i = first; i < DMA_DIMENSIONS; i++) {
        int64_t reach = end->step[i] * ((int64_t)end->size[i] - 1) * bytes;
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    if (__builtin_mul_overflow(offset, end->register_step, &moved) ||
        __builtin_add_overflow(moved, (int64_t)end->offset, &begin) ||
        __builtin_add_overflow(begin, (int64_t)skipped * end->step[0] * bytes, &begin))
        return NULL;
    int64_t size = (int64_t)core->program->variables[end->variable].size;
    if (begin < -low || begin > size || high > size - begin)
        return NULL;
    return core->run->variables[end->variable] + begin;
}

static void report_out_of_bounds(struct movement *movement, enum error_kind kind, uint32_t variable,
                                 int64_t value)
{
    if (movement->is_out_of_bounds)
        return;
    movement->is_out_of_bounds = true;
    struct core *core = movement->core;
    core_error(core, RUN_OUT_OF_BOUNDS, kind, 0, movement->number, variable,
               kind == ERROR_EMBD_OOB
                   ? "DMA descriptor %u: index %lld is out of the bounds of variable %s"
                   : "DMA descriptor %u: offset register %lld is out of the bounds of variable %s",
               movement->number, (long long)value, core->program->variables[variable].name);
}

/* A gather or scatter: row after row of the HBM end, each where its index says. */
static void move_rows(struct movement *movement, const struct dma_end *end, int64_t offset,
                      struct walk *walk, struct walk *other)
{
    struct core *core = movement->core;
    const struct operand *indices = &movement->descriptor->indices;
    struct walk index;
    walk_operand(&index, core, indices);
    walk_end(walk, core, end, 1, NULL);
    uint64_t elements = walk_elements(walk);
    for (uint32_t row = 0; row < end->size[0]; row++) {
        int64_t number;
        walk_row(&index, row);
        read_integers(&index, 1, &number);
        bool is_inside = number >= 0 && (uint64_t)number < movement->descriptor->index_limit;
        uint8_t *address = is_inside ? end_address(core, end, number + offset, 1, row) : NULL;
        if (!address) {
            report_out_of_bounds(movement, ERROR_EMBD_OOB, end->variable, number);
            skip(other, elements);
            continue;
        }
        walk_from(walk, address);
        move(movement, elements);
    }
}

static bool place(struct movement *movement, struct walk *walk, const struct dma_end *end,
                  int64_t offset)
{
    uint8_t *address = end_address(movement->core, end, offset, 0, 0);
    if (!address) {
        report_out_of_bounds(movement, ERROR_DMAI_OOB, end->variable, offset);
        return false;
    }
    walk_end(walk, movement->core, end, 0, address);
    return true;
}

static void run_movement(struct movement *movement, const struct queued_transfer *transfer)
{
    const struct dma_descriptor *descriptor = movement->descriptor;
    switch (descriptor->indirect) {
    case DMA_GATHER:
        if (place(movement, &movement->to, &descriptor->to, transfer->to_register))
            move_rows(movement, &descriptor->from, transfer->from_register, &movement->from,
                      &movement->to);
        break;
    case DMA_SCATTER:
        if (place(movement, &movement->from, &descriptor->from, transfer->from_register))
            move_rows(movement, &descriptor->to, transfer->to_register, &movement->to,
                      &movement->from);
        break;
    default:
        if (place(movement, &movement->from, &descriptor->from, transfer->from_register) &&
            place(movement, &movement->to, &descriptor->to, transfer->to_register))
            move(movement, walk_elements(&movement->to));
        break;
    }
}

void transfer_run(struct core *core, const struct queued_transfer *transfer, uint32_t *crc)
{
    const struct dma_descriptor *descriptor = &core->program->descriptors[transfer->descriptor];
    const struct dma_end *to = &descriptor->to;
    const struct variable *variables = core->program->variables;
    bool is_output = to->memory == MEMORY_HBM && variables[to->variable].kind == VARIABLE_OUTPUT;
    struct movement movement = {.core = core,
                                .descriptor = descriptor,
                                .number = transfer->descriptor,
                                .is_copy = descriptor->operation == DMA_COPY &&
                                           descriptor->from.dtype == descriptor->to.dtype,
                                .checks_numbers = core->options.check_numbers && is_output,
                                .crc = crc};
    run_movement(&movement, transfer);
    if (movement.found & FOUND_NAN)
        core_error(core, RUN_NUMERIC_ERROR, ERROR_NAN, 0, movement.number, to->variable,
                   "DMA descriptor %u writes NaN to output %s", movement.number,
                   variables[to->variable].name);
    if (movement.found & FOUND_INFINITY)
        core_error(core, RUN_NUMERIC_ERROR, ERROR_INFINITY, 0, movement.number, to->variable,
                   "DMA descriptor %u writes infinity to output %s", movement.number,
                   variables[to->variable].name);
}

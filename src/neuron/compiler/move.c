/*
 * Operations that move elements in HBM: copies, concatenation, padding, dynamic slices, rows that
 * are added by index, collectives.
 */
#include "neuron/compiler/lower.h"

enum { FILL_ELEMENTS = 512, ROW_ELEMENTS = 2048, OFFSET_REGISTER = 0 };

/* A copy of all elements of an access to a position in a tensor with the given steps. */
static struct copy copy_from(struct lower *lower, const struct access *access, struct storage *to,
                             int64_t to_offset, const int64_t *to_step)
{
    struct copy copy = {
        .from = storage_of(lower, access->base),
        .to = to,
        .dtype = ir_type_of(lower->ir, access->base)->dtype,
        .from_offset = access->offset,
        .to_offset = to_offset,
        .rank = access->rank,
        .from_register = NO_REGISTER,
        .to_register = NO_REGISTER,
    };
    memcpy(copy.size, access->size, sizeof copy.size);
    memcpy(copy.from_step, access->step, sizeof copy.from_step);
    memcpy(copy.to_step, to_step, sizeof copy.to_step);
    return copy;
}

static void copy_whole(struct lower *lower, uint32_t value, struct storage *to)
{
    struct access dense = access_dense(0, ir_type_of(lower->ir, value));
    struct copy copy = copy_from(lower, &lower->accesses[value], to, 0, dense.step);
    transfer_copy(lower, &copy);
}

/* The same number in all elements. */
static void fill(struct lower *lower, struct storage *to, enum dtype dtype, double number)
{
    struct emit *emit = &lower->emit;
    uint64_t left = to->bytes / dtype_bytes(dtype), at = 0;
    uint32_t row = left < FILL_ELEMENTS ? (uint32_t)left : FILL_ELEMENTS;
    uint32_t partitions = left / row < PARTITIONS ? (uint32_t)(left / row) : PARTITIONS;
    struct buffer *buffer = buffer_new(emit, MEMORY_SBUF, row * dtype_bytes(dtype));
    struct instruction set = {.opcode = OP_MEMSET};
    set.immediate[0] = number;
    set.dst = plain_operand(buffer, dtype, partitions, row);
    struct uses uses = {.write = {buffer}};
    emit_compute(emit, ENGINE_GPSIMD, &set, &uses);
    while (left > 0 && !emit->failed) {
        uint32_t rows = left / row < partitions ? (uint32_t)(left / row) : partitions;
        uint32_t columns = rows ? row : (uint32_t)left;
        rows = rows ? rows : 1;
        struct transfer transfer = {
            .storage = to,
            .dtype = dtype,
            .buffer_dtype = dtype,
            .offset = (int64_t)at,
            .buffer = buffer,
        };
        walk_add(&transfer.walk, rows, columns);
        transfer.walk.parts = transfer.walk.rank;
        walk_add(&transfer.walk, columns, 1);
        transfer_store(lower, &transfer);
        at += (uint64_t)rows * columns;
        left -= (uint64_t)rows * columns;
    }
    buffer_release(emit, buffer);
}

static void concatenate(struct lower *lower, const struct ir_node *node, struct storage *to)
{
    struct access dense = access_dense(0, &node->type);
    int64_t at = 0;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const struct access *part = &lower->accesses[node->args[i]];
        struct copy copy = copy_from(lower, part, to, at * dense.step[node->axis], dense.step);
        transfer_copy(lower, &copy);
        at += part->size[node->axis];
    }
}

static void pad(struct lower *lower, const struct ir_node *node, struct storage *to)
{
    fill(lower, to, node->type.dtype, node->number);
    struct access dense = access_dense(0, &node->type);
    int64_t offset = 0, step[IR_RANK] = {0};
    for (uint32_t i = 0; i < node->type.rank; i++) {
        offset += node->start[i] * dense.step[i];
        step[i] = node->step[i] * dense.step[i];
    }
    struct copy copy = copy_from(lower, &lower->accesses[node->args[0]], to, offset, step);
    copy.is_ordered = true;
    transfer_copy(lower, &copy);
}

/* Loads the one element of a value into a register of GpSimd, which starts copies. */
static void load_register(struct lower *lower, uint32_t value)
{
    const struct access *access = &lower->accesses[value];
    enum dtype dtype = ir_type_of(lower->ir, access->base)->dtype;
    struct buffer *buffer = buffer_new(&lower->emit, MEMORY_SBUF, dtype_bytes(dtype));
    struct transfer transfer = {
        .storage = storage_of(lower, access->base),
        .dtype = dtype,
        .buffer_dtype = dtype,
        .offset = access->offset,
        .buffer = buffer,
    };
    transfer_load(lower, &transfer);
    struct instruction load = {.opcode = OP_TENSOR_LOAD, .index = OFFSET_REGISTER};
    load.src[0] = plain_operand(buffer, dtype, 1, 1);
    struct uses uses = {.read = {buffer}};
    emit_compute(&lower->emit, ENGINE_GPSIMD, &load, &uses);
    buffer_release(&lower->emit, buffer);
}

static void dynamic_slice(struct lower *lower, const struct ir_node *node, struct storage *to)
{
    bool is_copy;
    const struct ir_type *whole = ir_type_of(lower->ir, node->args[0]);
    struct storage *from = materialize(lower, &lower->accesses[node->args[0]], &is_copy);
    load_register(lower, node->args[1]);
    struct access source = access_dense(0, whole), dense = access_dense(0, &node->type);
    struct copy copy = {
        .from = from,
        .to = to,
        .dtype = node->type.dtype,
        .rank = node->type.rank,
        .from_register = OFFSET_REGISTER,
        .to_register = NO_REGISTER,
    };
    memcpy(copy.size, node->type.size, sizeof copy.size);
    memcpy(copy.from_step, source.step, sizeof copy.from_step);
    memcpy(copy.to_step, dense.step, sizeof copy.to_step);
    transfer_copy(lower, &copy);
    if (is_copy)
        storage_release(lower, from);
}

static void dynamic_update(struct lower *lower, const struct ir_node *node, struct storage *to)
{
    copy_whole(lower, node->args[0], to);
    load_register(lower, node->args[2]);
    struct access dense = access_dense(0, &node->type);
    struct copy copy = copy_from(lower, &lower->accesses[node->args[1]], to, 0, dense.step);
    copy.to_register = OFFSET_REGISTER;
    copy.is_ordered = true;
    transfer_copy(lower, &copy);
}

/* Up to 128 rows, of which `count` elements from `column` on are added. */
static void add_rows(struct lower *lower, const struct ir_node *node, struct storage *updates,
                     struct storage *to, struct buffer *indices, uint32_t first, uint32_t rows,
                     uint64_t column, uint32_t count)
{
    uint64_t length = ir_elements(&node->type) / node->type.size[0];
    enum dtype dtype = node->type.dtype;
    struct transfer load = {
        .storage = updates,
        .dtype = dtype,
        .buffer_dtype = dtype,
        .offset = (int64_t)(first * length + column),
        .buffer = buffer_new(&lower->emit, MEMORY_SBUF, count * dtype_bytes(dtype)),
    };
    walk_add(&load.walk, rows, (int64_t)length);
    load.walk.parts = load.walk.rank;
    walk_add(&load.walk, count, 1);
    transfer_load(lower, &load);
    struct transfer add = load;
    add.storage = to;
    add.offset = (int64_t)column;
    add.operation = DMA_ADD;
    add.indirect = DMA_SCATTER;
    add.indices = indices;
    add.index_limit = node->type.size[0];
    add.index_step = length * dtype_bytes(dtype);
    add.is_ordered = true;
    transfer_store(lower, &add);
    buffer_release(&lower->emit, load.buffer);
}

/* Starts from a copy of the table, then adds up to 128 rows at a time: their indices are on
 * partitions. Long rows are cut into pieces, as both the row and the update must fit in SBUF. */
static void scatter_add(struct lower *lower, const struct ir_node *node, struct storage *to)
{
    copy_whole(lower, node->args[0], to);
    const struct access *which = &lower->accesses[node->args[1]];
    bool is_copy;
    struct storage *updates = materialize(lower, &lower->accesses[node->args[2]], &is_copy);
    uint64_t length = ir_elements(&node->type) / node->type.size[0];
    for (uint32_t at = 0; at < which->size[0] && !lower->emit.failed; at += PARTITIONS) {
        uint32_t left = which->size[0] - at, rows = left < PARTITIONS ? left : PARTITIONS;
        struct transfer list = {
            .storage = storage_of(lower, which->base),
            .dtype = ir_type_of(lower->ir, which->base)->dtype,
            .buffer_dtype = DTYPE_INT32,
            .offset = which->offset + at * which->step[0],
            .buffer = buffer_new(&lower->emit, MEMORY_SBUF, sizeof(int32_t)),
        };
        walk_add(&list.walk, rows, which->step[0]);
        list.walk.parts = list.walk.rank;
        transfer_load(lower, &list);
        for (uint64_t column = 0; column < length && !lower->emit.failed; column += ROW_ELEMENTS) {
            uint64_t rest = length - column;
            add_rows(lower, node, updates, to, list.buffer, at, rows, column,
                     rest < ROW_ELEMENTS ? (uint32_t)rest : ROW_ELEMENTS);
        }
        buffer_release(&lower->emit, list.buffer);
    }
    if (is_copy)
        storage_release(lower, updates);
}

static bool is_everyones_target(const struct lower *lower, const struct ir_node *node)
{
    return node->group_count >= lower->ir->ranks;
}

/* A permutation does not write to ranks that are not a target, so their output is filled with zeros
 * first. The input must be dense, and is copied if it is a view. */
static void collective(struct lower *lower, const struct ir_node *node, struct storage *to)
{
    bool is_copy;
    struct storage *from = materialize(lower, &lower->accesses[node->args[0]], &is_copy);
    if (node->operation == COLLECTIVE_PERMUTE && !is_everyones_target(lower, node))
        fill(lower, to, node->type.dtype, 0);
    struct collective item = {
        .kind = node->operation,
        .dtype = node->type.dtype,
        .alu = node->reduction,
        .input = from->variable,
        .output = to->variable,
        .input_offset = from->base,
        .output_offset = to->base,
        .input_bytes = ir_bytes(ir_type_of(lower->ir, node->args[0])),
        .output_bytes = to->bytes,
        .group_size = node->group_size,
        .group_count = node->group_count,
        .members = node->members,
        .channel = (uint32_t)lower->emit.collectives.count + 1,
    };
    emit_collective(&lower->emit, &item, from, to);
    if (is_copy)
        storage_release(lower, from);
}

/* Such a group has one node, and is written to its storage directly. */
void lower_move(struct lower *lower, const struct fused_group *group)
{
    uint32_t index = group->nodes.items[0];
    const struct ir_node *node = &lower->ir->nodes.items[index];
    struct storage *to = storage_of(lower, index);
    lower->emit.origin = node->origin;
    switch (node->kind) {
    case IR_CONCATENATE:
        concatenate(lower, node, to);
        break;
    case IR_PAD:
        pad(lower, node, to);
        break;
    case IR_DYNAMIC_SLICE:
        dynamic_slice(lower, node, to);
        break;
    case IR_DYNAMIC_UPDATE_SLICE:
        dynamic_update(lower, node, to);
        break;
    case IR_SCATTER_ADD:
        scatter_add(lower, node, to);
        break;
    case IR_COLLECTIVE:
        collective(lower, node, to);
        break;
    default: { /* COPY: the operand's elements in row-major order, whatever its shape */
        const struct access *access = &lower->accesses[node->args[0]];
        struct access dense = access_dense(0, ir_type_of(lower->ir, node->args[0]));
        struct copy copy = copy_from(lower, access, to, 0, dense.step);
        transfer_copy(lower, &copy);
        break;
    }
    }
}

void lower_output(struct lower *lower, uint32_t node, struct storage *output)
{
    lower->emit.origin = lower->ir->nodes.items[node].origin;
    copy_whole(lower, node, output);
}

/*
 * One operation on one box: the instruction and the engine for it. Functions go to Scalar, floats
 * to Vector, integers to GpSimd, copies to the one of Scalar and Vector that has less to do.
 */
#include "neuron/compiler/tiles.h"

/* b alu' a = a alu b; ALU_NONE if there is no such operation. */
static enum alu reversed(enum alu alu)
{
    switch (alu) {
    case ALU_ADD:
    case ALU_MULTIPLY:
    case ALU_MAX:
    case ALU_MIN:
    case ALU_EQUAL:
    case ALU_NOT_EQUAL:
    case ALU_AND:
    case ALU_OR:
    case ALU_XOR:
        return alu;
    case ALU_SUBTRACT:
        return ALU_REVERSE_SUBTRACT;
    case ALU_DIVIDE:
        return ALU_REVERSE_DIVIDE;
    case ALU_POWER:
        return ALU_REVERSE_POWER;
    case ALU_LESS:
        return ALU_GREATER;
    case ALU_LESS_EQUAL:
        return ALU_GREATER_EQUAL;
    case ALU_GREATER:
        return ALU_LESS;
    case ALU_GREATER_EQUAL:
        return ALU_LESS_EQUAL;
    default:
        return ALU_NONE;
    }
}

static void set_immediate(struct instruction *instruction, unsigned which, enum dtype dtype,
                          double number, int64_t integer)
{
    if (dtype_is_float(dtype))
        instruction->immediate[which] = number;
    else
        instruction->immediate_int[which] = integer;
}

/* An instruction being assembled. */
struct job {
    struct tiles *tiles;
    const struct tile_member *member;
    const struct ir_node *node;
    const struct box *box;
    struct instruction instruction;
    struct uses uses;
    struct tile numbers[MAX_REFS]; /* made for this instruction */
};

static void emit_job(struct job *job, enum engine engine)
{
    bool uses_psum = false;
    for (unsigned i = 0; i < MAX_REFS; i++)
        uses_psum |= job->instruction.src[i].memory == MEMORY_PSUM;
    if (engine == ENGINE_GPSIMD && uses_psum)
        engine = ENGINE_VECTOR;
    job->instruction.dst = tile_operand(&job->member->tile, job->box, job->member->is_row);
    job->uses.write[0] = job->member->tile.buffer;
    emit_compute(&job->tiles->lower->emit, engine, &job->instruction, &job->uses);
}

static enum engine engine_for(const struct job *job, uint32_t arg)
{
    const struct ir_type *type = ir_type_of(job->tiles->lower->ir, job->node->args[arg]);
    return ir_is_float(type) ? ENGINE_VECTOR : ENGINE_GPSIMD;
}

/* A number for an instruction without immediates: one element in each partition, used for all. */
static const struct tile *number_tile(struct job *job, uint32_t arg)
{
    struct emit *emit = &job->tiles->lower->emit;
    const struct ir_node *number =
        &job->tiles->lower->ir->nodes.items[job->member->refs[arg].index];
    struct tile *tile = &job->numbers[arg];
    *tile = (struct tile){
        .buffer = buffer_new(emit, MEMORY_SBUF, dtype_bytes(number->type.dtype)),
        .dtype = number->type.dtype,
    };
    struct instruction set = {.opcode = OP_MEMSET};
    set.immediate[0] = number->number;
    set.dst = plain_operand(tile->buffer, tile->dtype, job->box->partitions, 1);
    struct uses uses = {.write = {tile->buffer}};
    emit_compute(emit, ENGINE_GPSIMD, &set, &uses);
    return tile;
}

static void set_source(struct job *job, uint32_t source, uint32_t arg, bool of_rows)
{
    const struct tile *tile = job->member->refs[arg].kind == REF_NUMBER
                                  ? number_tile(job, arg)
                                  : ref_tile(job->tiles, job->member->refs[arg], job->box);
    job->instruction.src[source] = tile_operand(tile, job->box, of_rows);
    job->uses.read[source] = tile->buffer;
}

/* Whether an operand has one element in each partition for all of the box. */
static bool is_scalar_operand(struct job *job, uint32_t arg)
{
    if (job->member->refs[arg].kind == REF_NUMBER || job->member->is_row)
        return false;
    const struct tile *tile = ref_tile(job->tiles, job->member->refs[arg], job->box);
    return (tile->inner_step == 0 || job->box->inner == 1) &&
           (tile->free_step == 0 || job->box->free == 1) && job->box->inner * job->box->free > 1;
}

static void set_scalar(struct job *job, uint32_t arg)
{
    const struct ref ref = job->member->refs[arg];
    if (ref.kind == REF_NUMBER) {
        const struct ir_node *number = &job->tiles->lower->ir->nodes.items[ref.index];
        set_immediate(&job->instruction, 0, number->type.dtype, number->number, number->integer);
        return;
    }
    const struct tile *tile = ref_tile(job->tiles, ref, job->box);
    job->instruction.flags = FLAG_SCALAR_OPERAND;
    job->instruction.src[1] = plain_operand(tile->buffer, tile->dtype, job->box->partitions, 1);
    job->instruction.src[1].offset += tile->first * dtype_bytes(tile->dtype);
    job->uses.read[1] = tile->buffer;
}

/* One operand with a single element per partition fits in an instruction that takes a scalar; for
 * the left one that needs the reversed operation. Otherwise both are tensors. */
static void compute_binary(struct job *job)
{
    enum alu alu = job->node->operation;
    const struct ref *refs = job->member->refs;
    bool of_rows = job->member->is_row;
    bool has_scalar = refs[1].kind == REF_NUMBER || is_scalar_operand(job, 1);
    bool has_reversed =
        reversed(alu) != ALU_NONE && (refs[0].kind == REF_NUMBER || is_scalar_operand(job, 0));
    if (has_scalar && refs[0].kind != REF_NUMBER) {
        job->instruction.opcode = OP_TENSOR_SCALAR;
        job->instruction.alu = (uint8_t)alu;
        set_source(job, 0, 0, of_rows);
        set_scalar(job, 1);
    } else if (has_reversed && refs[1].kind != REF_NUMBER) {
        job->instruction.opcode = OP_TENSOR_SCALAR;
        job->instruction.alu = (uint8_t)reversed(alu);
        set_source(job, 0, 1, of_rows);
        set_scalar(job, 0);
    } else {
        job->instruction.opcode = OP_TENSOR_TENSOR;
        job->instruction.alu = (uint8_t)alu;
        set_source(job, 0, 0, of_rows);
        set_source(job, 1, 1, of_rows);
    }
    emit_job(job, engine_for(job, 0));
}

static void compute_unary(struct job *job)
{
    set_source(job, 0, 0, job->member->is_row);
    if (job->node->operation == FUNCTION_IDENTITY) {
        job->instruction.opcode = OP_TENSOR_COPY;
        emit_job(job, less_busy(job->tiles->lower));
        return;
    }
    job->instruction.opcode = OP_ACTIVATE;
    job->instruction.alu = job->node->operation;
    bool is_float = ir_is_float(ir_type_of(job->tiles->lower->ir, job->node->args[0]));
    set_immediate(&job->instruction, 0, is_float ? DTYPE_FP32 : DTYPE_INT32, 1, 1);
    emit_job(job, is_float ? ENGINE_SCALAR : ENGINE_GPSIMD);
}

static void compute_select(struct job *job)
{
    job->instruction.opcode = OP_SELECT;
    for (uint32_t i = 0; i < 3; i++)
        set_source(job, i, i, job->member->is_row);
    emit_job(job, engine_for(job, 1));
}

static void compute_convert(struct job *job)
{
    job->instruction.opcode = OP_TENSOR_COPY;
    set_source(job, 0, 0, job->member->is_row);
    emit_job(job, less_busy(job->tiles->lower));
}

/* The domain of an iota is a line, or a line cut into rows. */
static void compute_iota(struct job *job)
{
    const struct tiles *tiles = job->tiles;
    job->instruction.opcode = OP_IOTA;
    int64_t first = place_at(tiles, &job->member->place, job->box), step = 0;
    for (uint32_t i = tiles->first_part; i < tiles->first_free; i++)
        step = job->member->place.step[i];
    job->instruction.immediate[0] = (double)first;
    job->instruction.immediate[1] = (double)step;
    emit_job(job, ENGINE_GPSIMD);
}

/* Pieces of rows are reduced one after the other, and their results combined. */
static void compute_reduce(struct job *job)
{
    struct emit *emit = &job->tiles->lower->emit;
    enum engine engine = engine_for(job, 0);
    set_source(job, 0, 0, false);
    job->instruction.opcode = OP_REDUCE;
    job->instruction.alu = job->node->operation;
    job->instruction.count = 1;
    if (job->box->is_first) {
        emit_job(job, engine);
        return;
    }
    const struct tile *sum = &job->member->tile;
    struct tile piece = *sum;
    piece.buffer = buffer_new(emit, MEMORY_SBUF, job->box->free * dtype_bytes(sum->dtype));
    job->instruction.dst = tile_operand(&piece, job->box, true);
    job->uses.write[0] = piece.buffer;
    emit_compute(emit, engine, &job->instruction, &job->uses);
    struct instruction combine = {.opcode = OP_TENSOR_TENSOR, .alu = job->node->operation};
    combine.dst = combine.src[0] = tile_operand(sum, job->box, true);
    combine.src[1] = tile_operand(&piece, job->box, true);
    struct uses uses = {.read = {sum->buffer, piece.buffer}, .write = {sum->buffer}};
    emit_compute(emit, engine, &combine, &uses);
    buffer_release(emit, piece.buffer);
}

/* Tiles made for immediate numbers live only for this instruction: they are released here,
 * whichever operation used them. */
void compute_member(struct tiles *tiles, struct tile_member *member, const struct box *box)
{
    struct job job = {
        .tiles = tiles,
        .member = member,
        .node = &tiles->lower->ir->nodes.items[member->node],
        .box = box,
    };
    switch (job.node->kind) {
    case IR_UNARY:
        compute_unary(&job);
        break;
    case IR_BINARY:
        compute_binary(&job);
        break;
    case IR_SELECT:
        compute_select(&job);
        break;
    case IR_CONVERT:
        compute_convert(&job);
        break;
    case IR_IOTA:
        compute_iota(&job);
        break;
    default:
        compute_reduce(&job);
        break;
    }
    for (uint32_t i = 0; i < MAX_REFS; i++)
        if (job.numbers[i].buffer)
            buffer_release(&tiles->lower->emit, job.numbers[i].buffer);
}

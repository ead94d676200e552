/*
 * Operands of instructions as text: what it waits for, what it changes, what it works on.
 */
#include "analyze/device/device.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct line {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    size_t left = line->size - line->used;
    if (line->used > 0 && left > 1) {
        line->text[line->used++] = ' ';
        left--;
    }
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->used, left, format, arguments);
    va_end(arguments);
    if (length > 0)
        line->used += (size_t)length < left ? (size_t)length : left - 1;
}

static const char *memory_name(enum memory memory)
{
    return memory == MEMORY_PSUM ? "PSUM" : "SBUF";
}

/* "[1,0][512,2]": steps and sizes of the dimensions in use. */
static void add_operand(struct line *line, const char *name, const struct operand *operand)
{
    char steps[64], sizes[64];
    size_t step_size = 0, size_size = 0;
    if (operand->memory == MEMORY_NONE)
        return;
    for (unsigned i = 0; i < 4; i++) {
        if (operand->size[i] == 1 && (i < 3 || step_size > 0))
            continue;
        const char *comma = step_size > 0 ? "," : "";
        step_size += (size_t)snprintf(steps + step_size, sizeof steps - step_size, "%s%" PRId32,
                                      comma, operand->step[i]);
        size_size += (size_t)snprintf(sizes + size_size, sizeof sizes - size_size, "%s%" PRIu32,
                                      comma, operand->size[i]);
    }
    add(line, "%s=%s@%s[%u..%u]+0x%" PRIx32 "[%s][%s]", name,
        dtype_name((enum dtype)operand->dtype), memory_name((enum memory)operand->memory),
        operand->partition, operand->partition + operand->partitions - 1, operand->offset, steps,
        sizes);
}

static void add_update(struct line *line, const struct instruction *code)
{
    const char *when = code->update_time == UPDATE_AT_READ ? "read" : "complete";
    uint32_t value = code->update_value;
    unsigned semaphore = code->update_semaphore;
    if (semaphore == NO_SEMAPHORE)
        return;
    if (code->update_kind == UPDATE_ADD && value == 1)
        add(line, "S[%u]++@%s", semaphore, when);
    else if (code->update_kind == UPDATE_SUBTRACT && value == 1)
        add(line, "S[%u]--@%s", semaphore, when);
    else
        add(line, "S[%u]%s%" PRIu32 "@%s", semaphore,
            code->update_kind == UPDATE_ADD        ? "+="
            : code->update_kind == UPDATE_SUBTRACT ? "-="
                                                   : "=",
            value, when);
}

static bool is_integer(const struct instruction *code)
{
    for (unsigned i = 0; i < 3; i++)
        if (code->src[i].memory != MEMORY_NONE && dtype_is_float((enum dtype)code->src[i].dtype))
            return false;
    return code->src[0].memory != MEMORY_NONE;
}

static void add_immediate(struct line *line, const char *name, const struct instruction *code,
                          unsigned number)
{
    if (is_integer(code))
        add(line, "%s=%" PRId64, name, code->immediate_int[number]);
    else
        add(line, "%s=%.9g", name, code->immediate[number]);
}

static void add_scalars(struct line *line, const struct instruction *code)
{
    add(line, "op=%s", alu_name((enum alu)code->alu));
    if (!(code->flags & FLAG_SCALAR_OPERAND))
        add_immediate(line, "scalar", code, 0);
    if (code->alu2 != ALU_NONE) {
        add(line, "op2=%s", alu_name((enum alu)code->alu2));
        add_immediate(line, "scalar2", code, 1);
    }
}

static void add_activation(struct line *line, const struct instruction *code)
{
    add(line, "fn=%s", function_name((enum function)code->alu));
    if (is_integer(code))
        return;
    add(line, "scale=%.9g", code->immediate[0]);
    if (!(code->flags & FLAG_SCALAR_OPERAND))
        add(line, "bias=%.9g", code->immediate[1]);
}

static void add_block(struct line *line, const struct core_program *program, uint32_t number)
{
    const struct dma_block *block = &program->blocks[number];
    add(line, "id=%" PRIu32 " queue=%.64s descriptors=%" PRIu32, number,
        program->queues[block->queue].name, block->count);
    if (block->semaphore != NO_SEMAPHORE)
        add(line, "S[%u]+=%u@done", block->semaphore, block->increment);
}

static void add_collective(struct line *line, const struct core_program *program, uint32_t number)
{
    const struct collective *collective = &program->collectives[number];
    add(line, "id=%" PRIu32 " %s dtype=%s in=%" PRIu64 " out=%" PRIu64 " channel=%" PRIu32, number,
        device_collective_name((enum collective_kind)collective->kind),
        dtype_name((enum dtype)collective->dtype), collective->input_bytes,
        collective->output_bytes, collective->channel);
    if (collective->semaphore != NO_SEMAPHORE)
        add(line, "S[%u]+=%u@done", collective->semaphore, collective->increment);
}

/* What the opcode has besides operands. */
static void add_details(struct line *line, const struct core_program *program,
                        const struct instruction *code)
{
    switch ((enum opcode)code->opcode) {
    case OP_MATMUL:
        add(line, "acc=%d", code->flags & FLAG_ACCUMULATE ? 1 : 0);
        break;
    case OP_TENSOR_TENSOR:
        add(line, "op=%s", alu_name((enum alu)code->alu));
        break;
    case OP_REDUCE:
        add(line, "op=%s dims=%u", alu_name((enum alu)code->alu), code->count);
        break;
    case OP_TENSOR_SCALAR:
        add_scalars(line, code);
        break;
    case OP_ACTIVATE:
        add_activation(line, code);
        break;
    case OP_MEMSET:
        add(line, "value=%.9g", code->immediate[0]);
        break;
    case OP_IOTA:
        add(line, "base=%.9g multiplier=%.9g", code->immediate[0], code->immediate[1]);
        break;
    case OP_DMA_TRIGGER:
        add_block(line, program, code->index);
        break;
    case OP_TRIGGER_COLLECTIVE:
        add_collective(line, program, code->index);
        break;
    case OP_SEMAPHORE_RANGE_CLEAR:
        add(line, "S[%" PRIu32 "..%" PRIu32 "]=0", code->index, code->index + code->count - 1);
        break;
    case OP_TENSOR_LOAD:
        add(line, "R[%" PRIu32 "]", code->index);
        break;
    case OP_REGISTER_ALU:
        add(line, "R[%" PRIu32 "] op=%s value=%" PRId64, code->index, alu_name((enum alu)code->alu),
            code->immediate_int[0]);
        break;
    case OP_COMPARE_BRANCH:
        add(line, "R[%" PRIu32 "] op=%s value=%" PRId64 " target=%" PRIu32, code->index,
            alu_name((enum alu)code->alu), code->immediate_int[0], code->target);
        break;
    case OP_NOTIFY:
        add(line, "%s", code->index == 0 ? "start" : "stop");
        break;
    default:
        break;
    }
}

size_t device_operands(const struct core_program *program, enum engine engine, uint32_t pc,
                       char *text, size_t size)
{
    const struct instruction *code = &program->code[engine][pc];
    struct line line = {.text = text, .size = size};
    if (size > 0)
        text[0] = '\0';
    if (code->wait_semaphore != NO_SEMAPHORE)
        add(&line, "S[%u]>=%" PRIu32, code->wait_semaphore, code->wait_value);
    add_update(&line, code);
    add_details(&line, program, code);
    add_operand(&line, "src", &code->src[0]);
    add_operand(&line, "src1", &code->src[1]);
    add_operand(&line, "src2", &code->src[2]);
    add_operand(&line, "dst", &code->dst);
    if (code->opcode == OP_MATMUL)
        add(&line, "%u*%u", code->src[0].partitions, code->dst.partitions);
    return line.used;
}

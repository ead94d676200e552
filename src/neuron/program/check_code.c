/*
 * Checks instructions: a table says which engines run an opcode and which operands it has; rules
 * for how its operands must match follow for each opcode.
 */
#include "neuron/program/check.h"

#include <inttypes.h>

enum {
    ON_TENSOR = 1 << ENGINE_TENSOR,
    ON_COMPUTE = 1 << ENGINE_VECTOR | 1 << ENGINE_SCALAR | 1 << ENGINE_GPSIMD,
    ON_ANY = (1 << ENGINE_COUNT) - 1,
};

static const struct {
    uint8_t engines;
    uint8_t has_dst, sources; /* sources may be one more with FLAG_SCALAR_OPERAND */
    uint8_t flags;            /* those allowed */
} rules[OP_COUNT] = {
    [OP_NOP] = {ON_ANY, 0, 0, 0},
    [OP_LDWEIGHTS] = {ON_TENSOR, 0, 1, 0},
    [OP_MATMUL] = {ON_TENSOR, 1, 1, FLAG_ACCUMULATE},
    [OP_TRANSPOSE] = {ON_TENSOR, 1, 1, 0},
    [OP_TENSOR_COPY] = {ON_COMPUTE, 1, 1, 0},
    [OP_TENSOR_TENSOR] = {ON_COMPUTE, 1, 2, 0},
    [OP_TENSOR_SCALAR] = {ON_COMPUTE, 1, 1, FLAG_SCALAR_OPERAND},
    [OP_SELECT] = {ON_COMPUTE, 1, 3, 0},
    [OP_REDUCE] = {ON_COMPUTE, 1, 1, 0},
    [OP_ACTIVATE] = {ON_COMPUTE, 1, 1, FLAG_SCALAR_OPERAND},
    [OP_MEMSET] = {ON_COMPUTE, 1, 0, 0},
    [OP_IOTA] = {ON_COMPUTE, 1, 0, 0},
    [OP_DMA_TRIGGER] = {ON_ANY, 0, 0, 0},
    [OP_TRIGGER_COLLECTIVE] = {ON_ANY, 0, 0, 0},
    [OP_EVENT_SEMAPHORE] = {ON_ANY, 0, 0, 0},
    [OP_SEMAPHORE_RANGE_CLEAR] = {ON_ANY, 0, 0, 0},
    [OP_TENSOR_LOAD] = {ON_ANY, 0, 1, 0},
    [OP_REGISTER_ALU] = {ON_ANY, 0, 0, 0},
    [OP_COMPARE_BRANCH] = {ON_ANY, 0, 0, 0},
    [OP_NOTIFY] = {ON_ANY, 0, 0, 0},
    [OP_DRAIN] = {ON_ANY, 0, 0, 0},
};

static const char *const source_names[] = {"src[0]", "src[1]", "src[2]"};

static bool check_present(struct check *check, const struct operand *operand, bool wanted,
                          const char *name)
{
    if (wanted)
        return check_operand(check, operand, name);
    return operand->memory == MEMORY_NONE ||
           check_failed(check, "it does not take operand %s", name);
}

static bool check_operands(struct check *check, const struct instruction *item)
{
    unsigned sources = rules[item->opcode].sources + (item->flags & FLAG_SCALAR_OPERAND ? 1 : 0);
    if (!check_present(check, &item->dst, rules[item->opcode].has_dst, "dst"))
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (!check_present(check, &item->src[i], i < sources, source_names[i]))
            return false;
    return true;
}

/* Each element of src corresponds to one of dst. */
static bool check_meets(struct check *check, const struct operand *dst, const struct operand *src,
                        const char *name)
{
    if (dst->partitions == src->partitions && operand_elements(dst) == operand_elements(src))
        return true;
    return check_failed(check, "dst has %u x %" PRIu64 " elements, %s has %u x %" PRIu64,
                        dst->partitions, operand_elements(dst), name, src->partitions,
                        operand_elements(src));
}

static bool check_in_bank(struct check *check, const struct operand *dst)
{
    if (dst->memory != MEMORY_PSUM)
        return check_failed(check, "dst is not in PSUM");
    int64_t bytes = dtype_bytes((enum dtype)dst->dtype);
    int64_t first = dst->offset, last = dst->offset + bytes - 1;
    for (unsigned i = 0; i < 4; i++) { /* inside PSUM, so it fits */
        int64_t reach = (int64_t)dst->step[i] * (dst->size[i] - 1) * bytes;
        *(reach < 0 ? &first : &last) += reach;
    }
    if (first / PSUM_BANK_BYTES != last / PSUM_BANK_BYTES)
        return check_failed(check, "dst is in several banks of PSUM");
    return true;
}

/* The stationary operand, as far as the list shows: 0 partitions when a branch may lead here. */
struct stationary {
    bool is_loaded;
    uint32_t partitions;
    uint64_t elements;
};

static bool check_load_weights(struct check *check, const struct instruction *item,
                               struct stationary *stationary)
{
    const struct operand *src = &item->src[0];
    if (src->memory != MEMORY_SBUF || !dtype_is_float((enum dtype)src->dtype))
        return check_failed(check, "weights are floating-point numbers in SBUF");
    if (operand_elements(src) > STATIONARY_MAX)
        return check_failed(check, "%" PRIu64 " columns of weights; the limit is %d",
                            operand_elements(src), STATIONARY_MAX);
    *stationary = (struct stationary){true, src->partitions, operand_elements(src)};
    return true;
}

static bool check_matmul(struct check *check, const struct instruction *item,
                         const struct stationary *stationary)
{
    const struct operand *src = &item->src[0], *dst = &item->dst;
    if (src->memory != MEMORY_SBUF || !dtype_is_float((enum dtype)src->dtype))
        return check_failed(check, "src[0] does not have floating-point numbers in SBUF");
    if (operand_elements(src) > MOVING_MAX || operand_elements(src) != operand_elements(dst))
        return check_failed(check,
                            "%" PRIu64 " columns become %" PRIu64 "; the limit for both is %d",
                            operand_elements(src), operand_elements(dst), MOVING_MAX);
    if (dst->dtype != DTYPE_FP32)
        return check_failed(check, "dst is not FP32");
    if (!stationary->is_loaded)
        return check_failed(check, "no weights are loaded before it");
    if (stationary->partitions > 0 &&
        (stationary->partitions != src->partitions || stationary->elements != dst->partitions))
        return check_failed(check, "it multiplies %u x %u, but the weights are %u x %" PRIu64,
                            src->partitions, dst->partitions, stationary->partitions,
                            stationary->elements);
    return check_in_bank(check, dst);
}

static bool check_transpose(struct check *check, const struct instruction *item)
{
    const struct operand *src = &item->src[0], *dst = &item->dst;
    if (src->memory != MEMORY_SBUF || src->dtype != dst->dtype)
        return check_failed(check, "src[0] is not in SBUF, or not of dst's data type");
    if (operand_elements(src) != dst->partitions || operand_elements(dst) != src->partitions)
        return check_failed(check, "%u x %" PRIu64 " elements do not become %u x %" PRIu64,
                            src->partitions, operand_elements(src), dst->partitions,
                            operand_elements(dst));
    return check_in_bank(check, dst);
}

static bool is_integer(const struct operand *operand)
{
    return operand->memory == MEMORY_NONE || !dtype_is_float((enum dtype)operand->dtype);
}

static bool is_of_bits(unsigned alu)
{
    return alu >= ALU_AND && alu <= ALU_SHIFT_RIGHT_ARITHMETIC;
}

static bool check_alu(struct check *check, const struct instruction *item, unsigned alu)
{
    bool integers = is_integer(&item->src[0]) && is_integer(&item->src[1]);
    if (alu == ALU_NONE || alu >= ALU_COUNT)
        return check_failed(check, "unknown operation %u", alu);
    if (is_of_bits(alu) && !integers)
        return check_failed(check, "%s needs integers", alu_name((enum alu)alu));
    if (alu == ALU_ATAN2 && integers)
        return check_failed(check, "%s needs floating-point numbers", alu_name((enum alu)alu));
    return true;
}

static bool check_reduce(struct check *check, const struct instruction *item)
{
    const struct operand *src = &item->src[0], *dst = &item->dst;
    static const uint32_t allowed =
        1 << ALU_ADD | 1 << ALU_MULTIPLY | 1 << ALU_MAX | 1 << ALU_MIN | 1 << ALU_AND | 1 << ALU_OR;
    if (!check_alu(check, item, item->alu))
        return false;
    if (!(allowed >> item->alu & 1))
        return check_failed(check, "it cannot reduce by %s", alu_name((enum alu)item->alu));
    if (item->count == 0 || item->count > 4)
        return check_failed(check, "it cannot reduce %u dimensions", item->count);
    uint64_t left = 1;
    for (unsigned i = 0; i + item->count < 4; i++)
        left *= src->size[i];
    if (dst->partitions != src->partitions || operand_elements(dst) != left)
        return check_failed(check, "%u x %" PRIu64 " results do not fit dst's %u x %" PRIu64,
                            src->partitions, left, dst->partitions, operand_elements(dst));
    return true;
}

/* src[1] with one element a partition, where it takes the place of an immediate. */
static bool check_scalar(struct check *check, const struct instruction *item)
{
    const struct operand *scalar = &item->src[1];
    if (!(item->flags & FLAG_SCALAR_OPERAND) ||
        (scalar->partitions == item->dst.partitions && operand_elements(scalar) == 1))
        return true;
    return check_failed(check, "src[1] does not have one element in each of dst's partitions");
}

static bool check_function(struct check *check, const struct instruction *item)
{
    if (item->alu >= FUNCTION_COUNT)
        return check_failed(check, "unknown function %u", item->alu);
    bool of_bits = item->alu == FUNCTION_NOT || item->alu == FUNCTION_POPULATION_COUNT ||
                   item->alu == FUNCTION_LEADING_ZEROS;
    if (of_bits && !is_integer(&item->src[0]))
        return check_failed(check, "%s needs integers", function_name((enum function)item->alu));
    return true;
}

/* Instructions of the Vector, Scalar and GpSimd engines. */
static bool check_compute(struct check *check, const struct instruction *item)
{
    if (item->opcode == OP_REDUCE)
        return check_reduce(check, item);
    for (unsigned i = 0; i < rules[item->opcode].sources; i++)
        if (!check_meets(check, &item->dst, &item->src[i], source_names[i]))
            return false;
    if (!check_scalar(check, item))
        return false;
    switch (item->opcode) {
    case OP_TENSOR_TENSOR:
        return check_alu(check, item, item->alu);
    case OP_TENSOR_SCALAR:
        return check_alu(check, item, item->alu) &&
               (item->alu2 == ALU_NONE || check_alu(check, item, item->alu2));
    case OP_ACTIVATE:
        return check_function(check, item);
    default:
        return true;
    }
}

static bool check_index(struct check *check, uint64_t index, uint64_t limit, const char *what)
{
    return index < limit || check_failed(check, "%s %" PRIu64 " does not exist", what, index);
}

static bool check_branch(struct check *check, const struct instruction *item, uint32_t code_count)
{
    if (item->alu < ALU_EQUAL || item->alu > ALU_GREATER_EQUAL)
        return check_failed(check, "operation %u is not a comparison", item->alu);
    return check_index(check, item->index, REGISTERS, "register") &&
           check_index(check, item->target, code_count, "instruction");
}

static bool check_load(struct check *check, const struct instruction *item)
{
    const struct operand *src = &item->src[0];
    if (src->partitions != 1 || operand_elements(src) != 1 || !is_integer(src))
        return check_failed(check, "src[0] is not one integer");
    return check_index(check, item->index, REGISTERS, "register");
}

static bool check_register_alu(struct check *check, const struct instruction *item)
{
    if (item->alu == ALU_NONE || item->alu >= ALU_ATAN2)
        return check_failed(check, "operation %u does not take integers", item->alu);
    return check_index(check, item->index, REGISTERS, "register");
}

/* Instructions of any engine. */
static bool check_control(struct check *check, const struct instruction *item, uint32_t code_count)
{
    switch (item->opcode) {
    case OP_DMA_TRIGGER:
        return check_index(check, item->index, check->program->block_count, "DMA block");
    case OP_TRIGGER_COLLECTIVE:
        return check_index(check, item->index, check->program->collective_count, "collective");
    case OP_SEMAPHORE_RANGE_CLEAR:
        return check_index(check, (uint64_t)item->index + item->count - (item->count > 0),
                           SEMAPHORES, "semaphore");
    case OP_TENSOR_LOAD:
        return check_load(check, item);
    case OP_REGISTER_ALU:
        return check_register_alu(check, item);
    case OP_COMPARE_BRANCH:
        return check_branch(check, item, code_count);
    case OP_NOTIFY:
        return item->index <= 1 || check_failed(check, "it neither starts nor stops");
    default:
        return true;
    }
}

static bool check_synchronization(struct check *check, const struct instruction *item)
{
    if (!check_semaphore(check, item->wait_semaphore) ||
        !check_semaphore(check, item->update_semaphore))
        return false;
    if (item->update_kind > UPDATE_SET || item->update_time > UPDATE_AT_READ)
        return check_failed(check, "its kind of semaphore update is unknown: %u, %u",
                            item->update_kind, item->update_time);
    if (item->origin != NO_INDEX && item->origin >= check->program->origin_count)
        return check_failed(check, "origin %u does not exist", item->origin);
    return true;
}

static bool check_instruction(struct check *check, const struct instruction *item,
                              enum engine engine, struct stationary *stationary)
{
    if (!(rules[item->opcode].engines >> engine & 1))
        return check_failed(check, "this engine does not have this instruction");
    if (item->flags & ~rules[item->opcode].flags)
        return check_failed(check, "it has flags that it does not take: 0x%x", item->flags);
    if (!check_synchronization(check, item) || !check_operands(check, item))
        return false;
    if (item->opcode == OP_LDWEIGHTS)
        return check_load_weights(check, item, stationary);
    if (item->opcode == OP_MATMUL)
        return check_matmul(check, item, stationary);
    if (item->opcode == OP_TRANSPOSE)
        return check_transpose(check, item);
    if (rules[item->opcode].has_dst)
        return check_compute(check, item);
    return check_control(check, item, check->program->code_count[engine]);
}

/* Marks the instructions that branches lead to. */
static bool *find_targets(const struct instruction *code, uint32_t count)
{
    bool *targets = mem_zeroed(count, sizeof *targets);
    for (uint32_t i = 0; i < count; i++)
        if (code[i].opcode == OP_COMPARE_BRANCH && code[i].target < count)
            targets[code[i].target] = true;
    return targets;
}

bool check_code(struct check *check, enum engine engine)
{
    const struct instruction *code = check->program->code[engine];
    uint32_t count = check->program->code_count[engine];
    bool *targets = find_targets(code, count), ok = true;
    struct stationary stationary = {0};
    check->what = hardware_engine_name(engine);
    for (uint32_t i = 0; ok && i < count; i++) {
        check->number = i;
        check->opcode = "unknown";
        if (code[i].opcode >= OP_COUNT) {
            ok = check_failed(check, "unknown opcode %u", code[i].opcode);
            break;
        }
        check->opcode = opcode_name((enum opcode)code[i].opcode);
        if (targets[i])
            stationary.partitions = 0;
        ok = check_instruction(check, &code[i], engine, &stationary);
    }
    check->opcode = NULL;
    mem_free(targets);
    return ok;
}

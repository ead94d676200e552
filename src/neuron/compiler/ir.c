/*
 * Types, and the builders of values that exist from the start or are computed element by element.
 */
#include "neuron/compiler/ir.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void ir_init(struct ir *ir)
{
    memset(ir, 0, sizeof *ir);
    ir->name = "";
    ir->ranks = 1;
    /* The first origin is for nodes that belong to no operation. */
    *array_push(&ir->origins) = (struct origin){"", "", "", "", "", 0, 0, 0};
}

void ir_free(struct ir *ir)
{
    array_free(&ir->nodes);
    array_free(&ir->outputs);
    array_free(&ir->origins);
    array_free(&ir->frames);
    arena_free(&ir->memory);
}

uint32_t ir_fail(struct ir *ir, const char *format, ...)
{
    if (ir->failed)
        return IR_NONE;
    char text[ERROR_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error_set(&ir->error, "%s", text);
    ir->failed = true;
    return IR_NONE;
}

struct ir_type ir_make_type(enum dtype dtype, uint32_t rank, const uint32_t *size)
{
    struct ir_type type = {.dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
    if (rank > 0)
        memcpy(type.size, size, rank * sizeof *size);
    return type;
}

struct ir_type ir_with_dtype(struct ir_type type, enum dtype dtype, bool is_bool)
{
    type.dtype = (uint8_t)dtype;
    type.is_bool = is_bool;
    return type;
}

const struct ir_type *ir_type_of(const struct ir *ir, uint32_t value)
{
    return &ir->nodes.items[value].type;
}

bool ir_same_shape(const struct ir_type *a, const struct ir_type *b)
{
    return a->rank == b->rank && memcmp(a->size, b->size, a->rank * sizeof *a->size) == 0;
}

uint64_t ir_elements(const struct ir_type *type)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < type->rank; i++)
        count *= type->size[i];
    return count;
}

uint64_t ir_bytes(const struct ir_type *type)
{
    return ir_elements(type) * dtype_bytes(type->dtype);
}

const char *ir_type_text(const struct ir_type *type, char text[static IR_TYPE_TEXT])
{
    int at = snprintf(text, IR_TYPE_TEXT, "%s[", type->is_bool ? "bool" : dtype_name(type->dtype));
    for (uint32_t i = 0; i < type->rank; i++)
        at += snprintf(text + at, (size_t)(IR_TYPE_TEXT - at), i ? ",%u" : "%u", type->size[i]);
    snprintf(text + at, (size_t)(IR_TYPE_TEXT - at), "]");
    return text;
}

bool ir_is_float(const struct ir_type *type)
{
    return dtype_is_float(type->dtype);
}

bool ir_type_is_sound(struct ir *ir, const struct ir_type *type)
{
    uint64_t bytes = dtype_bytes(type->dtype);
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->size[i] == 0)
            ir_fail(ir, "a dimension of size 0; tensors need at least one element");
        else if (__builtin_mul_overflow(bytes, (uint64_t)type->size[i], &bytes) ||
                 bytes > IR_MAX_BYTES)
            ir_fail(ir, "a tensor of more than %" PRIu64 " GiB", IR_MAX_BYTES >> 30);
        if (ir->failed)
            return false;
    }
    return true;
}

struct ir_node *ir_add(struct ir *ir, enum ir_kind kind, struct ir_type type, uint32_t arg_count,
                       const uint32_t *args)
{
    if (!ir_type_is_sound(ir, &type))
        return &ir->nowhere;
    struct ir_node *node = array_push(&ir->nodes);
    memset(node, 0, sizeof *node);
    node->kind = (uint8_t)kind;
    node->type = type;
    node->origin = ir->origin;
    node->arg_count = arg_count;
    if (arg_count > 0) {
        node->args = arena_alloc(&ir->memory, arg_count * sizeof *args);
        memcpy(node->args, args, arg_count * sizeof *args);
    }
    return node;
}

bool ir_usable(struct ir *ir, uint32_t count, const uint32_t *values)
{
    for (uint32_t i = 0; i < count && !ir->failed; i++)
        if (values[i] == IR_NONE)
            ir_fail(ir, "an operand is missing");
    return !ir->failed;
}

uint32_t ir_parameter(struct ir *ir, const char *name, struct ir_type type)
{
    if (ir->failed)
        return IR_NONE;
    ir_add(ir, IR_PARAMETER, type, 0, NULL)->name = name;
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_constant(struct ir *ir, const char *name, const char *layer, struct ir_type type,
                     const uint8_t *data)
{
    if (ir->failed)
        return IR_NONE;
    struct ir_node *node = ir_add(ir, IR_CONSTANT, type, 0, NULL);
    node->name = name;
    node->layer = layer;
    node->data = data;
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

static uint32_t splat(struct ir *ir, struct ir_type type, double number, int64_t integer)
{
    if (ir->failed)
        return IR_NONE;
    struct ir_node *node = ir_add(ir, IR_CONSTANT, type, 0, NULL);
    node->is_splat = true;
    node->number = number;
    node->integer = integer;
    node->layer = "";
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_number(struct ir *ir, struct ir_type type, double number)
{
    bool in_range = number > -9.2e18 && number < 9.2e18;
    return splat(ir, type, number, in_range ? (int64_t)number : 0);
}

uint32_t ir_integer(struct ir *ir, struct ir_type type, int64_t number)
{
    return splat(ir, type, (double)number, number);
}

/* Functions of integers; ABS and SIGN are composed of other operations. */
static bool function_takes_integers(enum function function)
{
    return function == FUNCTION_IDENTITY || function == FUNCTION_NOT ||
           function == FUNCTION_POPULATION_COUNT || function == FUNCTION_LEADING_ZEROS;
}

static uint32_t integer_function(struct ir *ir, enum function function, uint32_t value)
{
    if (function == FUNCTION_ABS)
        return ir_binary(ir, ALU_MAX, value, ir_negate(ir, value));
    if (function == FUNCTION_SQUARE)
        return ir_binary(ir, ALU_MULTIPLY, value, value);
    if (function != FUNCTION_SIGN)
        return ir_fail(ir, "%s takes floats, not %s", function_name(function),
                       dtype_name(ir_type_of(ir, value)->dtype));
    enum dtype dtype = ir_type_of(ir, value)->dtype;
    uint32_t above = ir_with_number(ir, ALU_GREATER, value, 0);
    uint32_t below = ir_with_number(ir, ALU_LESS, value, 0);
    return ir_binary(ir, ALU_SUBTRACT, ir_convert(ir, above, dtype, false),
                     ir_convert(ir, below, dtype, false));
}

uint32_t ir_unary(struct ir *ir, enum function function, uint32_t value)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value);
    if (!ir_is_float(&type) && !function_takes_integers(function))
        return integer_function(ir, function, value);
    if (ir_is_float(&type) && function_takes_integers(function) && function != FUNCTION_IDENTITY)
        return ir_fail(ir, "%s takes integers, not %s", function_name(function),
                       dtype_name(type.dtype));
    if (type.is_bool && function == FUNCTION_NOT)
        return ir_with_number(ir, ALU_XOR, value, 1);
    if (function == FUNCTION_IS_FINITE)
        type = ir_with_dtype(type, DTYPE_UINT8, true);
    ir_add(ir, IR_UNARY, type, 1, &value)->operation = (uint8_t)function;
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_negate(struct ir *ir, uint32_t value)
{
    return ir_with_number(ir, ALU_MULTIPLY, value, -1);
}

static bool is_comparison(enum alu alu)
{
    return alu >= ALU_EQUAL && alu <= ALU_GREATER_EQUAL;
}

bool ir_is_of_bits(enum alu alu)
{
    return alu >= ALU_AND && alu <= ALU_SHIFT_RIGHT_ARITHMETIC;
}

/* Sums and products of booleans are OR and AND, as in HLO. */
enum alu ir_boolean_alu(enum alu alu)
{
    if (alu == ALU_ADD || alu == ALU_MAX)
        return ALU_OR;
    return alu == ALU_MULTIPLY || alu == ALU_MIN ? ALU_AND : alu;
}

uint32_t ir_binary(struct ir *ir, enum alu alu, uint32_t a, uint32_t b)
{
    const uint32_t args[] = {a, b};
    if (!ir_usable(ir, 2, args))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, a);
    const struct ir_type *other = ir_type_of(ir, b);
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    if (!ir_same_shape(&type, other) || type.dtype != other->dtype ||
        type.is_bool != other->is_bool)
        return ir_fail(ir, "%s of %s and %s", alu_name(alu), ir_type_text(&type, left),
                       ir_type_text(other, right));
    if (ir_is_of_bits(alu) && ir_is_float(&type))
        return ir_fail(ir, "%s takes integers, not %s", alu_name(alu), dtype_name(type.dtype));
    if (type.is_bool)
        alu = ir_boolean_alu(alu);
    if (is_comparison(alu))
        type = ir_with_dtype(type, DTYPE_UINT8, true);
    ir_add(ir, IR_BINARY, type, 2, args)->operation = (uint8_t)alu;
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_with_number(struct ir *ir, enum alu alu, uint32_t value, double number)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value);
    return ir_binary(ir, alu, value, ir_number(ir, type, number));
}

uint32_t ir_select(struct ir *ir, uint32_t condition, uint32_t yes, uint32_t no)
{
    const uint32_t args[] = {condition, yes, no};
    if (!ir_usable(ir, 3, args))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, yes);
    const struct ir_type *test = ir_type_of(ir, condition), *other = ir_type_of(ir, no);
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    if (!ir_same_shape(&type, other) || type.dtype != other->dtype ||
        type.is_bool != other->is_bool)
        return ir_fail(ir, "select of %s and %s", ir_type_text(&type, left),
                       ir_type_text(other, right));
    if (!test->is_bool || !ir_same_shape(test, &type))
        return ir_fail(ir, "select of %s by a condition %s", ir_type_text(&type, left),
                       ir_type_text(test, right));
    ir_add(ir, IR_SELECT, type, 3, args);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_convert(struct ir *ir, uint32_t value, enum dtype dtype, bool is_bool)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value);
    if (type.dtype == dtype && type.is_bool == is_bool)
        return value;
    if (is_bool)
        return ir_with_number(ir, ALU_NOT_EQUAL, value, 0);
    ir_add(ir, IR_CONVERT, ir_with_dtype(type, dtype, false), 1, &value);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

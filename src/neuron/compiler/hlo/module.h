/*
 * An HLO module in the compiler's types: computations and their instructions, checked. Attributes
 * that few instructions have are read where they are used, from the instruction's bytes.
 */
#ifndef KYMO_NEURON_COMPILER_HLO_MODULE_H
#define KYMO_NEURON_COMPILER_HLO_MODULE_H

#include "hlo/hlo.h"
#include "neuron/compiler/ir.h"

enum shape_kind { SHAPE_ARRAY, SHAPE_TUPLE, SHAPE_TOKEN, SHAPE_UNSUPPORTED };

struct typed_shape {
    uint8_t kind;
    struct ir_type type;          /* ARRAY */
    uint8_t major_first[IR_RANK]; /* ARRAY: dimensions, in the order in which they are stored */
    uint32_t primitive;  /* UNSUPPORTED: number of the element type, 0: too many dimensions */
    uint32_t leaf_count; /* arrays inside a tuple, at any depth; 1 for an array */
    const struct ir_type *leaves;
    uint32_t element_count; /* TUPLE */
    const uint32_t *element_leaves;
};

struct typed_instruction {
    struct text name, opcode;
    struct text op_name, file; /* of its metadata */
    uint32_t line, frame;
    struct typed_shape shape;
    uint32_t index; /* in the module */
    uint32_t operand_count;
    uint32_t *operands; /* indices in the computation */
    uint32_t callee_count;
    uint32_t *callees; /* indices of computations */
    uint32_t dimension_count;
    int64_t *dimensions;
    int64_t parameter, tuple_index;
    struct pb_reader bytes;
    bool is_needed;     /* its computation's result depends on it */
    uint32_t operation; /* how it is lowered: index in a table, IR_NONE until it is looked up */
};

struct typed_computation {
    struct text name;
    ARRAY(struct typed_instruction) instructions;
    uint32_t root;
    uint32_t parameter_count;
    uint32_t *parameters; /* instructions, in order of their numbers */
};

struct typed_module {
    struct hlo_module hlo;
    struct arena memory; /* of lists */
    struct text name;
    uint32_t entry;
    ARRAY(struct typed_computation) computations;
    uint32_t instruction_count;
};

/* Frames go into ir. All references between instructions and computations are checked: operands
 * come before their uses. */
bool typed_module_read(struct typed_module *module, const uint8_t *bytes, size_t size,
                       struct ir *ir, struct error *err);
void typed_module_free(struct typed_module *module);

/* False when the compiler does not support the shape's size. */
bool typed_shape_of(struct arena *memory, const struct hlo_shape *from, struct typed_shape *shape);
/* "f64" */
const char *typed_shape_primitive(const struct typed_shape *shape);

static inline bool typed_is(const struct typed_instruction *at, const char *opcode)
{
    return text_equal(at->opcode, text_of(opcode));
}

#endif

/*
 * An HLO module as it is in the file: computations, their instructions, and the tables of source
 * positions. Attributes that few instructions have are read where they are used, from the
 * instruction's bytes. Field numbers are those of hlo.proto and xla_data.proto.
 */
#ifndef KYMO_COMPILE_HLO_MODULE_H
#define KYMO_COMPILE_HLO_MODULE_H

#include "compile/ir.h"
#include "wire/wire.h"

enum shape_kind { SHAPE_ARRAY, SHAPE_TUPLE, SHAPE_TOKEN, SHAPE_UNSUPPORTED };

struct hlo_shape {
    uint8_t kind;
    struct ir_type type;          /* ARRAY */
    uint8_t major_first[IR_RANK]; /* ARRAY: dimensions, in the order in which they are stored */
    uint32_t primitive;  /* UNSUPPORTED: number of the element type, 0: too many dimensions */
    uint32_t leaf_count; /* arrays inside a tuple, at any depth; 1 for an array */
    const struct ir_type *leaves;
    uint32_t element_count; /* TUPLE */
    const uint32_t *element_leaves;
};

struct hlo_instruction {
    struct text name, opcode;
    struct text op_name, file; /* of its metadata */
    uint32_t line, frame;
    struct hlo_shape shape;
    uint64_t id;
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
    uint32_t operation; /* how it is lowered: index of a table, or IR_NONE when not looked up */
};

struct hlo_computation {
    struct text name;
    uint64_t id, root_id;
    ARRAY(struct hlo_instruction) instructions;
    uint32_t root;
    uint32_t parameter_count;
    uint32_t *parameters; /* instructions, in order of their numbers */
};

struct hlo_module {
    struct arena memory; /* of lists */
    struct text name;
    uint64_t entry_id;
    uint32_t entry;
    ARRAY(struct hlo_computation) computations;
    uint32_t instruction_count;
};

/* Frames go into ir. All references between instructions and computations are checked: operands
 * come before their uses. */
bool hlo_module_read(struct hlo_module *module, const uint8_t *bytes, size_t size, struct ir *ir,
                     struct error *err);
void hlo_module_free(struct hlo_module *module);

enum { SHAPE_DEPTH = 16 }; /* of tuples in tuples */
bool hlo_shape_read(struct arena *memory, struct pb_reader in, uint32_t depth,
                    struct hlo_shape *shape);
/* "f64" */
const char *hlo_primitive_name(uint32_t primitive);

/* Repeated integers, packed or not: adds those of one field. */
typedef ARRAY(int64_t) hlo_numbers;
bool hlo_numbers_add(hlo_numbers *numbers, const struct pb_field *field);

/* Attributes. A number that is not there is 0, a list is empty. */
int64_t hlo_number(struct pb_reader in, uint32_t number);
struct text hlo_text(struct pb_reader in, uint32_t number);
/* The message of that field number; empty when there is none. */
struct pb_reader hlo_message(struct pb_reader in, uint32_t number);
/* Numbers of a list, `limit` of them at most; false when there are more or it is malformed. */
bool hlo_list(struct pb_reader in, uint32_t number, uint32_t limit, int64_t *list, uint32_t *count);

static inline bool hlo_is(const struct hlo_instruction *at, const char *opcode)
{
    return text_equal(at->opcode, text_of(opcode));
}

/* The elements of a literal of that type, in row-major order, in ir's memory. */
uint8_t *hlo_literal_read(struct ir *ir, struct pb_reader in, const struct hlo_shape *shape,
                          struct error *err);

#endif

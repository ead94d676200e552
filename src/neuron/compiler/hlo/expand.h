/*
 * From HLO instructions to the compiler's internal form. Computations are evaluated as a program
 * would be, with nodes as values: this expands calls and loops, and known integers stay known, so
 * that loops end.
 */
#ifndef KYMO_NEURON_COMPILER_HLO_EXPAND_H
#define KYMO_NEURON_COMPILER_HLO_EXPAND_H

#include "neuron/compiler/hlo/module.h"

enum {
    EXPAND_DEPTH = 64,      /* of nested calls */
    EXPAND_STEPS = 1 << 20, /* instructions evaluated, counting each iteration of a loop */
    EXPAND_NODES = 1 << 19, /* operations in the result */
    EXPAND_WINDOW = 4096,   /* slices in one convolution or window */
};

/* An instruction's result: the nodes of the arrays in its shape, in order. */
struct value {
    uint32_t count;
    uint32_t *leaves;
};

/* A computation being evaluated. */
struct expand_frame {
    const struct typed_computation *computation;
    struct value *values;       /* of each instruction */
    const struct ir_type *lift; /* NULL, or what each scalar is a tensor of: for computations that
                                   are applied to elements */
    uint32_t scope;             /* index of expand.scopes */
    struct arena memory;
};

/* A call: the prefix for op_names of the computation it calls, and its position in the source. */
struct scope {
    const char *name, *file;
    uint32_t line, frame;
};

struct expand {
    struct ir *ir;
    struct typed_module *module;
    const struct expand_operation *operations; /* expand_operations */
    uint32_t operation_count;
    struct expand_frame *frame;
    uint32_t depth;
    uint64_t steps;
    bool is_explained; /* the error names its instruction */
    ARRAY(struct scope) scopes;
    struct idmap scope_ids;  /* by caller's scope and instruction */
    struct idmap origin_ids; /* by scope and instruction */
    struct idmap constants;  /* nodes of constants, by instruction */
    struct ir_type
        *parameter_type; /* of the entry's parameters, where it differs from the file's */
    bool *has_parameter_type;
};

typedef uint32_t expand_array(struct expand *expand, const struct typed_instruction *at,
                              const uint32_t *args);
typedef void expand_value(struct expand *expand, const struct typed_instruction *at,
                          struct value *result);
struct expand_operation {
    const char *opcode;
    uint16_t least, most; /* operands */
    bool is_of_elements;  /* can be applied to tensors where its operands are scalars */
    uint8_t detail;       /* enum alu or enum function */
    expand_array *array;  /* of arrays, with one array as the result; else */
    expand_value *value;
};
extern const struct expand_operation expand_operations[];
extern const uint32_t expand_operation_count;

/* Fails with the instruction's name and position; returns IR_NONE. */
uint32_t expand_fail(struct expand *expand, const struct typed_instruction *at, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));
const struct expand_operation *expand_operation(const struct expand *expand,
                                                const struct typed_instruction *at);
/* Evaluates the frame's computation; the results are in `memory`. */
bool expand_computation(struct expand *expand, struct expand_frame *frame, const struct value *args,
                        struct value *result, struct arena *memory);

struct value expand_operand(const struct expand *expand, const struct typed_instruction *at,
                            uint32_t index);
struct value expand_make_value(struct arena *memory, uint32_t count);
/* The results of a computation are in the caller's memory. */
bool expand_call(struct expand *expand, const struct typed_instruction *at, uint32_t callee,
                 const struct value *args, uint32_t count, struct value *result);
/* Applies a computation of scalars to the elements of tensors of equal shape. */
bool expand_apply(struct expand *expand, const struct typed_instruction *at, uint32_t callee,
                  const uint32_t *args, uint32_t count, struct value *result);

/* origin.c */
uint32_t expand_scope(struct expand *expand, const struct typed_instruction *at);
uint32_t expand_origin(struct expand *expand, const struct typed_instruction *at);

/* fold.c: the same as the builders, but known values stay known. */
bool fold_integer(const struct ir *ir, uint32_t node, int64_t *value);
bool fold_number(const struct ir *ir, uint32_t node, double *value);
/* All elements equal to those of a splat node, in another shape. */
bool fold_is_splat(const struct ir *ir, uint32_t node);
uint32_t fold_binary(struct ir *ir, enum alu alu, uint32_t a, uint32_t b);
uint32_t fold_select(struct ir *ir, uint32_t condition, uint32_t yes, uint32_t no);
uint32_t fold_convert(struct ir *ir, uint32_t node, struct ir_type type);
uint32_t fold_reshape(struct ir *ir, uint32_t node, uint32_t rank, const uint32_t *size);
uint32_t fold_transpose(struct ir *ir, uint32_t node, const uint8_t *axes);
uint32_t fold_broadcast(struct ir *ir, uint32_t node, struct ir_type type, const uint8_t *axes);
uint32_t fold_slice(struct ir *ir, uint32_t node, const int64_t *start, const int64_t *step,
                    const uint32_t *size);
/* A scalar in a shape. */
uint32_t fold_fill(struct ir *ir, uint32_t scalar, struct ir_type shape);

/* elements.c */
expand_array expand_unary, expand_binary, expand_negate, expand_compare, expand_clamp,
    expand_select, expand_convert, expand_reduce_precision, expand_copy, expand_constant;
/* bits.c */
expand_array expand_bitcast_convert;
/* Integers in the total order of floats. */
uint32_t expand_total_order(struct expand *expand, const struct typed_instruction *at,
                            uint32_t value);
/* shapes.c */
expand_array expand_broadcast, expand_reshape, expand_transpose, expand_slice, expand_dynamic_slice,
    expand_dynamic_update_slice, expand_concatenate, expand_pad, expand_iota, expand_reverse,
    expand_bitcast;
/* Padding by a scalar. */
uint32_t expand_padded(struct ir *ir, uint32_t value, uint32_t padding, const int64_t *low,
                       const int64_t *high, const int64_t *interior);
/* reduce.c */
expand_value expand_reduce;
/* Arrays of equal shape, up to IR_RANK, and as many initial values. */
bool expand_reduced_operands(struct expand *expand, const struct typed_instruction *at,
                             uint32_t *values, uint32_t *inits);
/* Combines tensors of equal shape by a computation: `count` in a, in b and in the result. */
bool expand_combine(struct expand *expand, const struct typed_instruction *at, uint32_t callee,
                    const uint32_t *a, const uint32_t *b, uint32_t count, uint32_t *result);
/* The operation of a computation of two scalars that has only one; otherwise ALU_NONE. */
enum alu expand_monoid(const struct expand *expand, uint32_t callee);
/* The identity: combined with any number of that type, it changes nothing. */
uint32_t expand_monoid_identity(struct ir *ir, enum alu alu, const struct ir_type *type);
/* window.c */
expand_value expand_reduce_window;
expand_array expand_select_and_scatter;
struct window {
    uint32_t rank;
    int64_t size[IR_RANK], stride[IR_RANK], low[IR_RANK], high[IR_RANK];
    int64_t dilation[IR_RANK], base_dilation[IR_RANK];
    bool is_reversed[IR_RANK];
};
bool expand_window(const struct typed_instruction *at, struct window *window);
/* dot.c */
expand_array expand_dot, expand_convolution;
/* rows.c, scatter.c */
expand_array expand_gather, expand_scatter;
/* collective.c */
expand_value expand_all_reduce, expand_all_gather, expand_reduce_scatter, expand_all_to_all,
    expand_collective_permute;
expand_array expand_partition_id;
bool expand_count_ranks(struct expand *expand);
/* control.c */
expand_value expand_called, expand_while, expand_conditional, expand_tuple, expand_tuple_element,
    expand_identity, expand_token, expand_custom_call;
/* The entry's parameters that are shards of arrays. */
void expand_find_shards(struct expand *expand);

#endif

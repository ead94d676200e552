/*
 * The compiler's internal form: a list of operations on tensors, each with one result, in an order
 * in which operands come before their uses. Close to HLO; front ends build it through these
 * functions, which check operands and derive result types. The first error sticks: after it,
 * builders do nothing and return IR_NONE.
 */
#ifndef KYMO_NEURON_COMPILER_IR_H
#define KYMO_NEURON_COMPILER_IR_H

#include "base/base.h"
#include "neuron/program/neff.h"

#define IR_NONE UINT32_MAX
enum { IR_RANK = SHAPE_MAX };
#define IR_MAX_BYTES (UINT64_C(1) << 36) /* of one tensor */

struct ir_type {
    uint8_t dtype;
    bool is_bool; /* UINT8 with the values 0 and 1 */
    uint8_t rank;
    uint32_t size[IR_RANK];
};

enum ir_kind {
    IR_PARAMETER,
    IR_CONSTANT,
    IR_UNARY,  /* operation: enum function */
    IR_BINARY, /* operation: enum alu */
    IR_SELECT, /* args: condition, value where true, value where false */
    IR_CONVERT,
    IR_IOTA, /* of rank 1 */
    IR_BROADCAST,
    IR_RESHAPE,
    IR_TRANSPOSE,
    IR_SLICE,
    IR_REDUCE, /* operation: enum alu */
    IR_DOT,    /* [batch.., m.., k..] x [batch.., k.., n..] = [batch.., m.., n..] */
    IR_COPY,   /* the same elements, stored in row-major order */
    IR_CONCATENATE,
    IR_PAD,
    IR_DYNAMIC_SLICE,        /* args: tensor, element offset of the slice's corner */
    IR_DYNAMIC_UPDATE_SLICE, /* args: tensor, update, element offset */
    IR_GATHER,               /* args: table [rows, ..], indices [n]: [n, ..] */
    IR_SCATTER_ADD,          /* args: table [rows, ..], indices [n], updates [n, ..] */
    IR_COLLECTIVE,           /* operation: enum collective_kind */
};

struct ir_node {
    uint8_t kind;
    uint8_t operation;
    struct ir_type type;
    uint32_t arg_count;
    uint32_t *args;
    uint32_t origin; /* index of ir.origins */
    /* BROADCAST: result dimension of each operand dimension. TRANSPOSE: operand dimension of each
     * result dimension. */
    uint8_t axes[IR_RANK];
    uint32_t mask;                           /* REDUCE: bit d for operand dimension d */
    uint8_t batch_rank, contract_rank, axis; /* DOT, DOT, CONCATENATE */
    int64_t start[IR_RANK], step[IR_RANK];   /* SLICE; PAD: low edge, 1 + interior */
    bool is_splat;                           /* CONSTANT: all elements are `number` or `integer` */
    double number;                           /* of floats; PAD: the padding value */
    int64_t integer;                         /* of integers; PAD as well */
    const uint8_t *data;                     /* CONSTANT that is not splat */
    const char *name;                        /* PARAMETER, CONSTANT */
    const char *layer;                       /* CONSTANT: whose weight it is */
    uint8_t reduction;                       /* COLLECTIVE: enum alu */
    uint32_t group_size, group_count;        /* COLLECTIVE */
    const uint32_t *members;
};

struct ir_output {
    const char *name;
    uint32_t value; /* IR_NONE: computed by another core */
    /* Of a core that computes a part: the output's type, and the part, in elements. count 0: value
     * is all of it. */
    struct ir_type whole;
    uint64_t first, count;
};

struct ir {
    struct arena memory; /* of all texts, lists and data */
    ARRAY(struct ir_node) nodes;
    ARRAY(struct ir_output) outputs;
    ARRAY(struct origin) origins;
    ARRAY(struct source_frame) frames;
    const char *name; /* of the model */
    uint32_t ranks;   /* connected by its collectives */
    uint32_t origin;  /* of the nodes to come */
    bool failed;
    struct error error;
    struct ir_node nowhere; /* filled by builders that failed */
};

void ir_init(struct ir *ir);
void ir_free(struct ir *ir);
/* Remembers the first error; returns IR_NONE. */
uint32_t ir_fail(struct ir *ir, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct ir_type ir_make_type(enum dtype dtype, uint32_t rank, const uint32_t *size);
struct ir_type ir_with_dtype(struct ir_type type, enum dtype dtype, bool is_bool);
const struct ir_type *ir_type_of(const struct ir *ir, uint32_t value);
bool ir_same_shape(const struct ir_type *a, const struct ir_type *b);
uint64_t ir_elements(const struct ir_type *type);
uint64_t ir_bytes(const struct ir_type *type);
enum { IR_TYPE_TEXT = 128 };
/* "fp32[128,256]" */
const char *ir_type_text(const struct ir_type *type, char text[static IR_TYPE_TEXT]);
bool ir_is_float(const struct ir_type *type);
/* Fails if it has no elements, or too many for the other functions here. */
bool ir_type_is_sound(struct ir *ir, const struct ir_type *type);

uint32_t ir_parameter(struct ir *ir, const char *name, struct ir_type type);
/* data stays valid as long as ir. */
uint32_t ir_constant(struct ir *ir, const char *name, const char *layer, struct ir_type type,
                     const uint8_t *data);
/* All elements equal. */
uint32_t ir_number(struct ir *ir, struct ir_type type, double number);
uint32_t ir_integer(struct ir *ir, struct ir_type type, int64_t number);

uint32_t ir_unary(struct ir *ir, enum function function, uint32_t value);
uint32_t ir_negate(struct ir *ir, uint32_t value);
/* Types are equal; comparisons give booleans. */
uint32_t ir_binary(struct ir *ir, enum alu alu, uint32_t a, uint32_t b);
/* value alu number, of value's type. */
uint32_t ir_with_number(struct ir *ir, enum alu alu, uint32_t value, double number);
uint32_t ir_select(struct ir *ir, uint32_t condition, uint32_t yes, uint32_t no);
uint32_t ir_convert(struct ir *ir, uint32_t value, enum dtype dtype, bool is_bool);
uint32_t ir_iota(struct ir *ir, struct ir_type type, uint32_t axis);
uint32_t ir_broadcast(struct ir *ir, uint32_t value, struct ir_type type, const uint8_t *axes);
/* As in NumPy: aligned at the last dimension, sizes of 1 are repeated. */
uint32_t ir_broadcast_to(struct ir *ir, uint32_t value, struct ir_type shape);
uint32_t ir_reshape(struct ir *ir, uint32_t value, uint32_t rank, const uint32_t *size);
uint32_t ir_transpose(struct ir *ir, uint32_t value, const uint8_t *axes);
/* size elements from start on, by step, which may be negative. */
uint32_t ir_slice(struct ir *ir, uint32_t value, const int64_t *start, const int64_t *step,
                  const uint32_t *size);
bool ir_is_of_bits(enum alu alu);
enum alu ir_boolean_alu(enum alu alu); /* what the operation is for booleans */
uint32_t ir_reduce(struct ir *ir, enum alu alu, uint32_t value, uint32_t mask);
/* The same, with reduced dimensions kept as 1. */
uint32_t ir_reduce_kept(struct ir *ir, enum alu alu, uint32_t value, uint32_t mask);

struct ir_dot_axes {
    uint32_t batch_count, contract_count;
    uint8_t lhs_batch[IR_RANK], rhs_batch[IR_RANK];
    uint8_t lhs_contract[IR_RANK], rhs_contract[IR_RANK];
};
uint32_t ir_dot(struct ir *ir, uint32_t lhs, uint32_t rhs, const struct ir_dot_axes *axes,
                enum dtype dtype);

uint32_t ir_concatenate(struct ir *ir, const uint32_t *values, uint32_t count, uint32_t axis);
/* Edges may be negative; number and integer are the padding value. */
uint32_t ir_pad(struct ir *ir, uint32_t value, const int64_t *low, const int64_t *high,
                const int64_t *interior, double number);
/* One scalar integer for each dimension; starts are clamped so that the slice lies inside. */
uint32_t ir_dynamic_slice(struct ir *ir, uint32_t value, const uint32_t *starts,
                          const uint32_t *size);
uint32_t ir_dynamic_update_slice(struct ir *ir, uint32_t value, uint32_t update,
                                 const uint32_t *starts);
/* Rows of table; an index out of range is an error when the program runs. */
uint32_t ir_gather(struct ir *ir, uint32_t table, uint32_t indices);
uint32_t ir_scatter_add(struct ir *ir, uint32_t table, uint32_t indices, uint32_t updates);

struct ir_groups {
    uint32_t group_size, group_count; /* 0: all ranks are one group */
    const uint32_t *members;          /* stay valid as long as ir */
};
uint32_t ir_all_reduce(struct ir *ir, uint32_t value, enum alu alu, const struct ir_groups *groups);
uint32_t ir_all_gather(struct ir *ir, uint32_t value, uint32_t axis,
                       const struct ir_groups *groups);
uint32_t ir_reduce_scatter(struct ir *ir, uint32_t value, enum alu alu, uint32_t axis,
                           const struct ir_groups *groups);
uint32_t ir_all_to_all(struct ir *ir, uint32_t value, uint32_t split_axis, uint32_t concat_axis,
                       const struct ir_groups *groups);
/* Pairs of source and target; ranks that are not a target receive zeros. */
uint32_t ir_permute(struct ir *ir, uint32_t value, const uint32_t *pairs, uint32_t pair_count);

/* For the builders in other files of the module. */
struct ir_node *ir_add(struct ir *ir, enum ir_kind kind, struct ir_type type, uint32_t arg_count,
                       const uint32_t *args);
bool ir_usable(struct ir *ir, uint32_t count, const uint32_t *values);
#define IR_LAST(ir) ((uint32_t)(ir)->nodes.count - 1)

#endif

/*
 * The graph format's front end: JSON (docs/graph.md) to the internal form.
 */
#ifndef KYMO_NEURON_COMPILER_GRAPH_H
#define KYMO_NEURON_COMPILER_GRAPH_H

#include "base/wire/wire.h"
#include "neuron/compiler/compile.h"
#include "neuron/compiler/ir.h"

enum {
    GRAPH_FIELDS = 32, /* of one object */
    GRAPH_ARGS = 64,   /* of one operation */
    GRAPH_LOOPS = 4,   /* nested repeats */
    GRAPH_TEXT = 1024, /* bytes of a name */
};

bool graph_read(struct ir *ir, const struct compile_request *request, struct error *err);

/* The members of an object. */
struct fields {
    struct {
        struct text key;
        struct json_value value;
        bool is_used;
    } items[GRAPH_FIELDS];
    uint32_t count;
};

struct graph {
    struct ir *ir;
    const struct compile_request *request;
    struct intern names;
    ARRAY(uint32_t) values; /* node of each name, or IR_NONE */
    struct {
        struct text name;
        int64_t value;
    } loops[GRAPH_LOOPS];
    uint32_t loop_count;
    uint64_t weight_bytes, op_count;
    /* The operation being read. */
    struct fields fields;
    uint32_t args[GRAPH_ARGS];
    uint32_t arg_count;
};

/* graph_fields.c: all fail through ir_fail, and then return something harmless. */
void fields_read(struct graph *graph, struct text object, struct fields *fields);
const struct json_value *fields_find(struct fields *fields, const char *key);
/* A string with its escapes resolved and the variables of repeats replaced; lives as long as ir. */
const char *graph_text(struct graph *graph, const struct json_value *value, const char *what);
double graph_number(struct graph *graph, const struct json_value *value, const char *what);
int64_t graph_integer(struct graph *graph, const struct json_value *value, int64_t low,
                      int64_t high, const char *what);
/* A list of integers; returns how many. */
uint32_t graph_integers(struct graph *graph, const struct json_value *value, int64_t low,
                        int64_t high, int64_t *items, uint32_t most, const char *what);
uint32_t graph_shape(struct graph *graph, const struct json_value *value,
                     uint32_t size[static IR_RANK]);
enum dtype graph_dtype(struct graph *graph, const struct json_value *value, bool *is_bool);
/* Of the current operation: a required field (its value, or ir fails), or one with a default. */
const struct json_value *attribute(struct graph *graph, const char *key);
const struct json_value *need_attribute(struct graph *graph, const char *key);
double attribute_number(struct graph *graph, const char *key, double otherwise);
bool attribute_bool(struct graph *graph, const char *key);
/* An axis of a tensor of `rank`; negative ones count from the end. */
uint32_t attribute_axis(struct graph *graph, const char *key, uint32_t rank, int64_t otherwise);
uint32_t attribute_axes(struct graph *graph, const char *key, uint32_t rank,
                        uint8_t axes[static IR_RANK]);

/* graph_weights.c: the bytes of a weight, as the object's fields say. */
const uint8_t *graph_weight(struct graph *graph, struct fields *fields, const struct ir_type *type);

/* graph_ops.c, graph_layers.c: the value of an operation; IR_NONE after a failure. */
uint32_t graph_op(struct graph *graph, const char *op);
bool graph_layer_op(struct graph *graph, const char *op, uint32_t *value);
/* graph_operands.c: whether the operation has that many operands. */
bool takes(struct graph *graph, uint32_t low, uint32_t high);
/* Both with the same shape, as NumPy broadcasts. */
void broadcast_pair(struct graph *graph, uint32_t *a, uint32_t *b);

#endif

/*
 * The frame of a graph: inputs, weights, operations, outputs, repeats.
 */
#include "neuron/compiler/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_OPS = 1 << 20, MAX_RANKS = 65536 };

static void define(struct graph *graph, const char *name, uint32_t value)
{
    if (graph->ir->failed)
        return;
    if (!name[0]) {
        ir_fail(graph->ir, "a name is empty");
        return;
    }
    uint32_t id = intern_add(&graph->names, text_of(name));
    while (graph->values.count <= id)
        *array_push(&graph->values) = IR_NONE;
    if (graph->values.items[id] != IR_NONE)
        ir_fail(graph->ir, "two values are named \"%s\"", name);
    graph->values.items[id] = value;
}

static uint32_t look_up(struct graph *graph, const char *name)
{
    if (graph->ir->failed)
        return IR_NONE;
    uint32_t id = intern_find(&graph->names, text_of(name));
    if (id == INTERN_NONE || id >= graph->values.count || graph->values.items[id] == IR_NONE)
        return ir_fail(graph->ir, "no value is named \"%s\" before it", name);
    return graph->values.items[id];
}

/* Names the object that a failure is about, unless one inside it was named. */
static void blame(struct graph *graph, const char *what, const char *name, const char *op,
                  const char *source)
{
    struct error *error = &graph->ir->error;
    if (!graph->ir->failed || error->offset != ERROR_NO_OFFSET)
        return;
    char text[ERROR_TEXT_SIZE];
    memcpy(text, error->text, sizeof text);
    bool has_both = op[0] && source[0];
    error_set(error, "%s \"%.100s\"%s%.60s%s%.100s%s: %.200s", what, name,
              op[0] || source[0] ? " (" : "", op, has_both ? ", " : "", source,
              op[0] || source[0] ? ")" : "", text);
    error->offset = 0; /* marks it as named; graph_read removes it */
}

static void check_used(struct graph *graph, const struct fields *fields)
{
    for (uint32_t i = 0; i < fields->count && !graph->ir->failed; i++)
        if (!fields->items[i].is_used)
            ir_fail(graph->ir, "it has no member \"%.*s\"",
                    fields->items[i].key.size < 60 ? (int)fields->items[i].key.size : 60,
                    fields->items[i].key.data);
}

static const char *optional_text(struct graph *graph, struct fields *fields, const char *key)
{
    const struct json_value *value = fields_find(fields, key);
    return value ? graph_text(graph, value, key) : "";
}

static struct ir_type read_type(struct graph *graph, struct fields *fields)
{
    const struct json_value *shape = fields_find(fields, "shape");
    const struct json_value *dtype = fields_find(fields, "dtype");
    uint32_t size[IR_RANK], rank = shape ? graph_shape(graph, shape, size) : 0;
    bool is_bool = false;
    enum dtype type = dtype ? graph_dtype(graph, dtype, &is_bool) : DTYPE_FP32;
    if (!shape)
        ir_fail(graph->ir, "\"shape\" is missing");
    return ir_with_dtype(ir_make_type(type, rank, size), type, is_bool);
}

static void read_input(struct graph *graph, struct text object)
{
    struct fields fields;
    fields_read(graph, object, &fields);
    const char *name = optional_text(graph, &fields, "name");
    struct ir_type type = read_type(graph, &fields);
    check_used(graph, &fields);
    define(graph, name, ir_parameter(graph->ir, name, type));
    blame(graph, "input", name, "", "");
}

static void read_weight(struct graph *graph, struct text object)
{
    struct fields fields;
    fields_read(graph, object, &fields);
    const char *name = optional_text(graph, &fields, "name");
    const char *layer = optional_text(graph, &fields, "layer");
    struct ir_type type = read_type(graph, &fields);
    const uint8_t *data = graph->ir->failed ? NULL : graph_weight(graph, &fields, &type);
    check_used(graph, &fields);
    define(graph, name, ir_constant(graph->ir, name, layer, type, data));
    blame(graph, "weight", name, "", "");
}

/* "model.py:12" */
static void set_origin(struct graph *graph, const char *name, const char *op)
{
    const char *layer = optional_text(graph, &graph->fields, "layer");
    const char *source = optional_text(graph, &graph->fields, "source");
    const char *framework = optional_text(graph, &graph->fields, "framework");
    const char *colon = strrchr(source, ':');
    uint32_t line = 0;
    if (colon && colon[1] >= '0' && colon[1] <= '9') {
        line = (uint32_t)strtoul(colon + 1, NULL, 10);
        source = arena_copy_text(&graph->ir->memory, source, (size_t)(colon - source));
    }
    graph->ir->origin = (uint32_t)graph->ir->origins.count;
    *array_push(&graph->ir->origins) = (struct origin){
        .layer = layer,
        .operation = name,
        .opcode = op,
        .framework = framework,
        .file = source,
        .line = line,
    };
}

/* Operands are names, or numbers, which get the type of the first operand that is a name. */
static void read_args(struct graph *graph)
{
    const struct json_value *inputs = attribute(graph, "inputs");
    double numbers[GRAPH_ARGS];
    bool is_number[GRAPH_ARGS];
    uint32_t typed = IR_NONE;
    graph->arg_count = 0;
    if (!inputs)
        return;
    if (inputs->kind != JSON_LIST) {
        ir_fail(graph->ir, "\"inputs\" is not a list");
        return;
    }
    struct json_reader in = json_read(inputs->text);
    for (bool more = json_enter(&in, '['); more && !graph->ir->failed; more = json_more(&in, ']')) {
        struct json_value item;
        json_read_value(&in, &item);
        uint32_t i = graph->arg_count;
        if (i == GRAPH_ARGS) {
            ir_fail(graph->ir, "more than %d operands", GRAPH_ARGS);
            return;
        }
        is_number[i] = item.kind != JSON_STRING;
        if (is_number[i]) {
            numbers[i] = graph_number(graph, &item, "an operand");
        } else {
            graph->args[i] = look_up(graph, graph_text(graph, &item, "an operand"));
            typed =
                typed == IR_NONE || (!graph->ir->failed && ir_type_of(graph->ir, typed)->is_bool)
                    ? graph->args[i]
                    : typed;
        }
        graph->arg_count++;
    }
    for (uint32_t i = 0; i < graph->arg_count && !graph->ir->failed; i++) {
        if (!is_number[i])
            continue;
        struct ir_type type = ir_make_type(DTYPE_FP32, 0, NULL);
        if (typed != IR_NONE)
            type = ir_with_dtype(type, ir_type_of(graph->ir, typed)->dtype,
                                 ir_type_of(graph->ir, typed)->is_bool);
        graph->args[i] = ir_number(graph->ir, type, numbers[i]);
    }
}

static void count_op(struct graph *graph)
{
    uint64_t limit = graph->request->program_limit;
    limit = limit && limit < MAX_OPS ? limit : MAX_OPS;
    if (++graph->op_count > limit)
        ir_fail(graph->ir, "more than %" PRIu64 " operations", limit);
}

static void read_op(struct graph *graph)
{
    const char *name = optional_text(graph, &graph->fields, "name");
    const char *op = optional_text(graph, &graph->fields, "op");
    count_op(graph);
    set_origin(graph, name, op);
    read_args(graph);
    uint32_t value = graph->ir->failed ? IR_NONE : graph_op(graph, op);
    check_used(graph, &graph->fields);
    define(graph, name, value);
    const struct origin *origin = &graph->ir->origins.items[graph->ir->origin];
    char source[160] = "";
    if (origin->file[0])
        snprintf(source, sizeof source, "%.120s:%u", origin->file, origin->line);
    blame(graph, "operation", name, op, source);
}

static void each(struct graph *graph, const struct json_value *list, const char *what,
                 void (*read)(struct graph *, struct text))
{
    if (!list)
        return;
    if (list->kind != JSON_LIST) {
        ir_fail(graph->ir, "\"%s\" is not a list", what);
        return;
    }
    struct json_reader in = json_read(list->text);
    for (bool more = json_enter(&in, '['); more && !graph->ir->failed; more = json_more(&in, ']')) {
        struct json_value item;
        json_read_value(&in, &item);
        read(graph, item.text);
    }
}

static void read_item(struct graph *graph, struct text object);

/* {"repeat": 12, "as": "i", "weights": [..], "ops": [..]} */
static void read_repeat(struct graph *graph, const struct fields *given)
{
    struct fields fields = *given;
    int64_t count = graph_integer(graph, fields_find(&fields, "repeat"), 0, MAX_OPS, "\"repeat\"");
    const char *variable = optional_text(graph, &fields, "as");
    const struct json_value *weights = fields_find(&fields, "weights");
    const struct json_value *ops = fields_find(&fields, "ops");
    check_used(graph, &fields);
    if (!graph->ir->failed && !variable[0])
        ir_fail(graph->ir, "a repeat needs the name of its variable, \"as\"");
    if (!graph->ir->failed && graph->loop_count == GRAPH_LOOPS)
        ir_fail(graph->ir, "repeats are nested more than %d deep", GRAPH_LOOPS);
    if (graph->ir->failed)
        return;
    uint32_t loop = graph->loop_count++;
    graph->loops[loop].name = text_of(variable);
    for (int64_t i = 0; i < count && !graph->ir->failed; i++) {
        graph->loops[loop].value = i;
        count_op(graph);
        each(graph, weights, "weights", read_weight);
        each(graph, ops, "ops", read_item);
    }
    graph->loop_count--;
}

static void read_item(struct graph *graph, struct text object)
{
    struct fields fields;
    fields_read(graph, object, &fields);
    bool is_repeat = false;
    for (uint32_t i = 0; i < fields.count; i++)
        is_repeat |= text_equal(fields.items[i].key, TEXT("repeat"));
    if (graph->ir->failed)
        return;
    if (is_repeat) {
        read_repeat(graph, &fields);
        return;
    }
    graph->fields = fields;
    read_op(graph);
}

static void read_output(struct graph *graph, struct text object)
{
    struct ir_output output = {0};
    if (object.size > 0 && object.data[0] == '{') {
        struct fields fields;
        fields_read(graph, object, &fields);
        output.name = optional_text(graph, &fields, "name");
        output.value = look_up(graph, optional_text(graph, &fields, "value"));
        check_used(graph, &fields);
    } else {
        /* A string: json_read_value gave it without its quotes. */
        struct json_value value = {object, JSON_STRING, false};
        output.name = graph_text(graph, &value, "an output");
        output.value = look_up(graph, output.name);
    }
    for (size_t i = 0; i < graph->ir->outputs.count && !graph->ir->failed; i++)
        if (strcmp(graph->ir->outputs.items[i].name, output.name) == 0)
            ir_fail(graph->ir, "two outputs are named \"%s\"", output.name);
    if (!graph->ir->failed && !output.name[0])
        ir_fail(graph->ir, "an output has no name");
    if (!graph->ir->failed)
        *array_push(&graph->ir->outputs) = output;
}

static void read_graph(struct graph *graph, struct text whole)
{
    struct fields fields;
    fields_read(graph, whole, &fields);
    graph->ir->name = optional_text(graph, &fields, "name");
    const struct json_value *ranks = fields_find(&fields, "ranks");
    if (ranks)
        graph->ir->ranks = (uint32_t)graph_integer(graph, ranks, 1, MAX_RANKS, "\"ranks\"");
    each(graph, fields_find(&fields, "inputs"), "inputs", read_input);
    each(graph, fields_find(&fields, "weights"), "weights", read_weight);
    each(graph, fields_find(&fields, "ops"), "ops", read_item);
    each(graph, fields_find(&fields, "outputs"), "outputs", read_output);
    check_used(graph, &fields);
    if (!graph->ir->failed && graph->ir->outputs.count == 0)
        ir_fail(graph->ir, "it has no outputs");
}

/* Reads the whole text before it builds anything: a syntax error is reported with its position,
 * every other error with the object it is about. Owns the names; values live in ir. */
bool graph_read(struct ir *ir, const struct compile_request *request, struct error *err)
{
    struct graph *graph = mem_zeroed(1, sizeof *graph);
    graph->ir = ir;
    graph->request = request;
    intern_init(&graph->names);
    struct text whole = {request->bytes, request->size};
    struct json_reader in = json_read(whole);
    struct json_value value;
    bool ok = json_read_value(&in, &value) && value.kind == JSON_OBJECT;
    json_skip_space(&in);
    const char *path = request->path ? request->path : "graph";
    if (!ok || in.at != in.end)
        error_at(err, path, whole.size ? (uint64_t)(in.at - whole.data) : 0, "not a graph: %s",
                 in.problem ? in.problem : "expected one JSON object");
    else
        read_graph(graph, value.text);
    ok = ok && in.at == in.end && !ir->failed;
    if (ir->failed)
        error_in_file(err, path, "%s", ir->error.text);
    ir->origin = 0;
    intern_free(&graph->names);
    array_free(&graph->values);
    mem_free(graph);
    return ok;
}

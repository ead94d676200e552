/*
 * Weights: numbers in the graph, a NumPy file beside it, one number for all elements, or generated
 * from a seed.
 */
#include "neuron/compiler/graph.h"
#include "neuron/compiler/number.h"

#include <inttypes.h>
#include <stdio.h>

enum { DATA_DEPTH = IR_RANK };

/* For weights generated from a number or a seed, whose size the graph's own size does not bound. */
static uint8_t *new_bytes(struct graph *graph, const struct ir_type *type)
{
    uint64_t limit =
        graph->request->weight_limit ? graph->request->weight_limit : UINT64_C(1) << 30;
    uint64_t bytes = ir_bytes(type);
    if (bytes > limit || graph->weight_bytes > limit - bytes) {
        ir_fail(graph->ir,
                "weights from \"value\" and \"init\" take more than %" PRIu64
                " MiB in all; take larger ones from a \"file\"",
                limit >> 20);
        return NULL;
    }
    graph->weight_bytes += bytes;
    return arena_alloc(&graph->ir->memory, bytes);
}

static void put(const struct ir_type *type, uint8_t *bytes, uint64_t index, double number)
{
    if (type->is_bool)
        number = number != 0;
    bool in_range = number > -9.2e18 && number < 9.2e18;
    number_encode(type->dtype, number, in_range ? (int64_t)number : 0,
                  bytes + index * dtype_bytes(type->dtype));
}

static void repeat_number(const struct ir_type *type, uint8_t *bytes, double number)
{
    uint64_t count = ir_elements(type), size = dtype_bytes(type->dtype);
    put(type, bytes, 0, number);
    for (uint64_t i = 1; i < count; i++)
        memcpy(bytes + i * size, bytes, size);
}

/* Numbers in lists of lists, in row-major order; how they are nested does not matter. */
static const uint8_t *read_data(struct graph *graph, const struct json_value *value,
                                const struct ir_type *type)
{
    struct json_reader in[DATA_DEPTH];
    uint64_t count = ir_elements(type), used = 0;
    uint32_t depth = 0;
    bool is_number = value->kind == JSON_NUMBER && count == 1;
    if (!is_number && value->kind != JSON_LIST) {
        ir_fail(graph->ir, "\"data\" is not a list of numbers");
        return NULL;
    }
    if (count > value->text.size) { /* a number has at least one digit */
        ir_fail(graph->ir, "\"data\" has fewer numbers than the shape, %" PRIu64, count);
        return NULL;
    }
    uint8_t *bytes = arena_alloc(&graph->ir->memory, ir_bytes(type));
    if (is_number) {
        put(type, bytes, 0, graph_number(graph, value, "data"));
        return bytes;
    }
    in[0] = json_read(value->text);
    bool more = json_enter(&in[0], '[');
    while (!graph->ir->failed) {
        struct json_value item;
        if (!more) {
            if (depth-- == 0)
                break;
            more = json_more(&in[depth], ']');
            continue;
        }
        json_read_value(&in[depth], &item);
        if (item.kind == JSON_LIST && depth + 1 < DATA_DEPTH) {
            in[++depth] = json_read(item.text);
            more = json_enter(&in[depth], '[');
            continue;
        }
        if (used == count) {
            ir_fail(graph->ir, "\"data\" has more than %" PRIu64 " numbers", count);
            return NULL;
        }
        put(type, bytes, used++, graph_number(graph, &item, "data"));
        more = json_more(&in[depth], ']');
    }
    if (used != count)
        ir_fail(graph->ir, "\"data\" has %" PRIu64 " numbers, not %" PRIu64, used, count);
    return bytes;
}

/* splitmix64: a number for each element and seed, the same everywhere. */
static uint64_t mix(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * UINT64_C(0xD1342543DE82EF95) + (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static const uint8_t *read_init(struct graph *graph, const struct json_value *value,
                                const struct ir_type *type)
{
    struct fields fields;
    fields_read(graph, value->text, &fields);
    const struct json_value *seed = fields_find(&fields, "seed");
    const struct json_value *scale = fields_find(&fields, "scale");
    const struct json_value *offset = fields_find(&fields, "offset");
    for (uint32_t i = 0; i < fields.count; i++)
        if (!fields.items[i].is_used)
            ir_fail(graph->ir, "\"init\" has an unknown member");
    uint64_t number = seed ? (uint64_t)graph_integer(graph, seed, 0, INT64_MAX, "seed") : 0;
    double width = scale ? graph_number(graph, scale, "scale") : 1;
    double middle = offset ? graph_number(graph, offset, "offset") : 0;
    for (uint32_t i = 0; i < graph->loop_count; i++) /* repeats differ */
        number = mix(number, (uint64_t)graph->loops[i].value);
    uint8_t *bytes = graph->ir->failed ? NULL : new_bytes(graph, type);
    uint64_t count = bytes ? ir_elements(type) : 0;
    for (uint64_t i = 0; i < count; i++)
        put(type, bytes, i, middle + width * ((double)(mix(number, i) >> 40) * 0x1p-23 - 1));
    return bytes;
}

static const uint8_t *read_number(struct graph *graph, const struct json_value *value,
                                  const struct ir_type *type)
{
    double number = graph_number(graph, value, "value");
    uint8_t *bytes = graph->ir->failed ? NULL : new_bytes(graph, type);
    if (bytes)
        repeat_number(type, bytes, number);
    return bytes;
}

static bool shape_is(const struct npy *array, const struct ir_type *type)
{
    for (uint32_t i = 0; i < type->rank; i++)
        if (array->rank != type->rank || array->shape[i] != type->size[i])
            return false;
    return array->rank == type->rank && array->size == ir_bytes(type);
}

static bool dtype_is(const struct npy *array, const struct ir_type *type)
{
    char kind = type->is_bool                  ? 'b'
                : dtype_is_float(type->dtype)  ? 'f'
                : dtype_is_signed(type->dtype) ? 'i'
                                               : 'u';
    if (type->dtype == DTYPE_BF16 || type->dtype >= DTYPE_FP8_E3)
        kind = 'V'; /* as ml_dtypes saves them */
    const char expected[] = {kind, (char)('0' + dtype_bytes(type->dtype)), '\0'};
    return strcmp(array->type, expected) == 0;
}

/* A graph may come from a stranger, so it may name files in its own directory and below only. The
 * elements are copied: the mapping does not outlive this call, the weight does. */
static const uint8_t *read_file(struct graph *graph, const struct json_value *value,
                                const struct ir_type *type)
{
    const char *name = graph_text(graph, value, "file"), *path = graph->request->path;
    struct file file;
    struct error err;
    char shape[IR_TYPE_TEXT];
    uint8_t *bytes = NULL;
    if (graph->ir->failed)
        return NULL;
    if (name[0] == '/' || strstr(name, "..") || !path) {
        ir_fail(graph->ir, "the file \"%s\" is not beside the graph", name);
        return NULL;
    }
    const char *slash = strrchr(path, '/');
    char *full = path_format("%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
    if (!file_open(&file, full, &err)) {
        ir_fail(graph->ir, "%s: %s", full, err.text);
    } else {
        struct npy array;
        if (!npy_read(file.data, file.size, full, &array, &err))
            ir_fail(graph->ir, "%s: %s", full, err.text);
        else if (!dtype_is(&array, type) || !shape_is(&array, type))
            ir_fail(graph->ir, "%s is not an array of %s", full, ir_type_text(type, shape));
        else
            memcpy(bytes = arena_alloc(&graph->ir->memory, array.size), array.data, array.size);
        file_close(&file);
    }
    mem_free(full);
    return bytes;
}

const uint8_t *graph_weight(struct graph *graph, struct fields *fields, const struct ir_type *type)
{
    const struct json_value *data = fields_find(fields, "data");
    const struct json_value *file = fields_find(fields, "file");
    const struct json_value *number = fields_find(fields, "value");
    const struct json_value *init = fields_find(fields, "init");
    if (!!data + !!file + !!number + !!init != 1) {
        ir_fail(graph->ir, "a weight needs one of \"data\", \"file\", \"value\" and \"init\"");
        return NULL;
    }
    if (!ir_type_is_sound(graph->ir, type))
        return NULL;
    if (data)
        return read_data(graph, data, type);
    if (file)
        return read_file(graph, file, type);
    return number ? read_number(graph, number, type) : read_init(graph, init, type);
}

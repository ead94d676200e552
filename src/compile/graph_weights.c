/*
 * Weights: numbers in the graph, a NumPy file beside it, one number for all elements, or made from
 * a seed.
 */
#include "compile/graph.h"
#include "compile/number.h"

#include <inttypes.h>
#include <stdio.h>

enum { DATA_DEPTH = IR_RANK };

static uint8_t *new_bytes(struct graph *graph, const struct ir_type *type)
{
    uint64_t limit =
        graph->request->weight_limit ? graph->request->weight_limit : UINT64_C(16) << 30;
    uint64_t bytes = dtype_bytes(type->dtype);
    for (uint32_t i = 0; i < type->rank; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)type->size[i], &bytes))
            bytes = UINT64_MAX;
    if (bytes > limit || graph->weight_bytes > limit - bytes) {
        ir_fail(graph->ir, "weights of more than %" PRIu64 " MiB in all", limit >> 20);
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
static void read_data(struct graph *graph, const struct json_value *value,
                      const struct ir_type *type, uint8_t *bytes)
{
    struct json_reader in[DATA_DEPTH];
    uint64_t count = ir_elements(type), used = 0;
    uint32_t depth = 0;
    if (value->kind == JSON_NUMBER && count == 1) {
        put(type, bytes, 0, graph_number(graph, value, "data"));
        return;
    }
    if (value->kind != JSON_LIST) {
        ir_fail(graph->ir, "\"data\" is not a list of numbers");
        return;
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
            return;
        }
        put(type, bytes, used++, graph_number(graph, &item, "data"));
        more = json_more(&in[depth], ']');
    }
    if (used != count)
        ir_fail(graph->ir, "\"data\" has %" PRIu64 " numbers, not %" PRIu64, used, count);
}

/* splitmix64: a number for each element and seed, the same everywhere. */
static uint64_t mix(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * UINT64_C(0xD1342543DE82EF95) + (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void read_init(struct graph *graph, const struct json_value *value,
                      const struct ir_type *type, uint8_t *bytes)
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
    uint64_t count = ir_elements(type);
    for (uint64_t i = 0; i < count && !graph->ir->failed; i++)
        put(type, bytes, i, middle + width * ((double)(mix(number, i) >> 40) * 0x1p-23 - 1));
}

/* The value of a key in the header of a NumPy file, which is a Python dictionary. */
static struct text header_value(struct text header, const char *key)
{
    char quoted[32];
    int size = snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = memmem(header.data, header.size, quoted, (size_t)size);
    if (!at)
        return (struct text){NULL, 0};
    at += size;
    while (at < header.data + header.size && *at == ' ')
        at++;
    return (struct text){at, (size_t)(header.data + header.size - at)};
}

static bool shape_is(struct text value, const struct ir_type *type)
{
    char expected[16 * IR_RANK + 8];
    int size = snprintf(expected, sizeof expected, "(");
    for (uint32_t i = 0; i < type->rank; i++)
        size += snprintf(expected + size, sizeof expected - (size_t)size, i ? ", %u" : "%u",
                         type->size[i]);
    snprintf(expected + size, sizeof expected - (size_t)size, type->rank == 1 ? ",)" : ")");
    return text_starts(value, text_of(expected));
}

static bool dtype_is(struct text value, const struct ir_type *type)
{
    uint32_t bytes = dtype_bytes(type->dtype);
    char kind = type->is_bool ? 'b' : dtype_is_float(type->dtype) ? 'f' : 'i';
    if (type->dtype == DTYPE_UINT8 || type->dtype == DTYPE_UINT16 || type->dtype == DTYPE_UINT32 ||
        type->dtype == DTYPE_UINT64)
        kind = type->is_bool ? 'b' : 'u';
    if (type->dtype == DTYPE_BF16 || type->dtype >= DTYPE_FP8_E3)
        kind = 'V'; /* as ml_dtypes saves them */
    return value.size > 4 && value.data[0] == '\'' &&
           (value.data[1] == '<' || value.data[1] == '|') && value.data[2] == kind &&
           value.data[3] == (char)('0' + bytes) && value.data[4] == '\'';
}

static bool read_numpy(const struct file *file, const struct ir_type *type, const uint8_t **data)
{
    if (file->size < 12 || memcmp(file->data, "\x93NUMPY", 6) != 0)
        return false;
    bool is_long = file->data[6] > 1;
    size_t start = is_long ? 12 : 10;
    size_t length = file->data[8] | (size_t)file->data[9] << 8;
    if (is_long)
        length |= (size_t)file->data[10] << 16 | (size_t)file->data[11] << 24;
    if (length > file->size - start || file->size - start - length != ir_bytes(type))
        return false;
    struct text header = {(const char *)file->data + start, length};
    *data = file->data + start + length;
    return dtype_is(header_value(header, "descr"), type) &&
           text_starts(header_value(header, "fortran_order"), TEXT("False")) &&
           shape_is(header_value(header, "shape"), type);
}

static void read_file(struct graph *graph, const struct json_value *value,
                      const struct ir_type *type, uint8_t *bytes)
{
    const char *name = graph_text(graph, value, "file"), *path = graph->request->path;
    struct file file;
    struct error err;
    char shape[IR_TYPE_TEXT];
    if (graph->ir->failed)
        return;
    if (name[0] == '/' || strstr(name, "..") || !path) {
        ir_fail(graph->ir, "the file \"%s\" is not beside the graph", name);
        return;
    }
    const char *slash = strrchr(path, '/');
    char *full = path_format("%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
    if (!file_open(&file, full, &err)) {
        ir_fail(graph->ir, "%s: %s", full, err.text);
    } else {
        const uint8_t *data;
        if (read_numpy(&file, type, &data))
            memcpy(bytes, data, ir_bytes(type));
        else
            ir_fail(graph->ir, "%s is not a NumPy file of %s in C order", full,
                    ir_type_text(type, shape));
        file_close(&file);
    }
    mem_free(full);
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
    uint8_t *bytes = graph->ir->failed ? NULL : new_bytes(graph, type);
    if (!bytes)
        return NULL;
    if (data)
        read_data(graph, data, type, bytes);
    else if (file)
        read_file(graph, file, type, bytes);
    else if (number)
        repeat_number(type, bytes, graph_number(graph, number, "value"));
    else
        read_init(graph, init, type, bytes);
    return bytes;
}

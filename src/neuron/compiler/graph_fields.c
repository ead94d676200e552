/*
 * Fields of JSON objects, and their values.
 */
#include "neuron/compiler/graph.h"

#include <inttypes.h>
#include <stdio.h>

/* Does not copy: keys and values point into the text. Records that no member was used yet, so that
 * misspelled ones can be reported later. */
void fields_read(struct graph *graph, struct text object, struct fields *fields)
{
    struct json_reader in = json_read(object);
    fields->count = 0;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        struct json_value key, value;
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            break;
        if (fields->count == GRAPH_FIELDS) {
            ir_fail(graph->ir, "an object with more than %d members", GRAPH_FIELDS);
            return;
        }
        for (uint32_t i = 0; i < fields->count; i++)
            if (text_equal(fields->items[i].key, key.text)) {
                ir_fail(graph->ir, "\"%.*s\" appears twice",
                        key.text.size < 60 ? (int)key.text.size : 60, key.text.data);
                return;
            }
        fields->items[fields->count].key = key.text;
        fields->items[fields->count].value = value;
        fields->items[fields->count++].is_used = false;
    }
    if (in.problem)
        ir_fail(graph->ir, "%s", in.problem);
}

const struct json_value *fields_find(struct fields *fields, const char *key)
{
    for (uint32_t i = 0; i < fields->count; i++)
        if (text_equal(fields->items[i].key, text_of(key))) {
            fields->items[i].is_used = true;
            return &fields->items[i].value;
        }
    return NULL;
}

/* "{i}", "{i+1}" and "{i-1}" at *at: appends the number and moves on. */
static bool replace_variable(const struct graph *graph, struct text text, size_t *at, char *out,
                             size_t *size)
{
    for (uint32_t i = graph->loop_count; i-- > 0;) {
        struct text name = graph->loops[i].name;
        struct text rest = {text.data + *at + 1, text.size - *at - 1};
        if (!text_starts(rest, name))
            continue;
        rest.data += name.size;
        rest.size -= name.size;
        int64_t value = graph->loops[i].value;
        if (rest.size >= 2 && (rest.data[0] == '+' || rest.data[0] == '-')) {
            char sign = rest.data[0];
            int64_t number = 0;
            for (rest.data++, rest.size--;
                 rest.size && rest.data[0] >= '0' && rest.data[0] <= '9' && number < 1000000;
                 rest.data++, rest.size--)
                number = number * 10 + (rest.data[0] - '0');
            value += sign == '+' ? number : -number;
        }
        if (rest.size == 0 || rest.data[0] != '}')
            continue;
        *size += (size_t)snprintf(out + *size, 24, "%" PRId64, value);
        *at = (size_t)(rest.data + 1 - text.data);
        return true;
    }
    return false;
}

const char *graph_text(struct graph *graph, const struct json_value *value, const char *what)
{
    char raw[GRAPH_TEXT], out[GRAPH_TEXT + 32];
    if (graph->ir->failed)
        return "";
    if (value->kind != JSON_STRING || value->text.size >= GRAPH_TEXT) {
        ir_fail(graph->ir, "%s is not a string of less than %d bytes", what, GRAPH_TEXT);
        return "";
    }
    struct text text = {raw, json_unescape(value->text, raw)};
    if (text_utf8_prefix(text.data, text.size) != text.size ||
        (text.size > 0 && memchr(text.data, 0, text.size))) {
        ir_fail(graph->ir, "%s is not valid UTF-8 without NUL", what);
        return "";
    }
    size_t size = 0;
    for (size_t at = 0; at < text.size && size < GRAPH_TEXT;)
        if (text.data[at] != '{' || !replace_variable(graph, text, &at, out, &size))
            out[size++] = text.data[at++];
    return arena_copy_text(&graph->ir->memory, out, size);
}

static bool read_number(const struct json_value *value, struct json_number *number)
{
    if (value->kind != JSON_NUMBER)
        return false;
    struct json_reader in = json_read(value->text);
    return json_read_number(&in, number) && in.at == in.end;
}

double graph_number(struct graph *graph, const struct json_value *value, const char *what)
{
    struct json_number number;
    if (graph->ir->failed)
        return 0;
    if (value->kind == JSON_TRUE || value->kind == JSON_FALSE)
        return value->kind == JSON_TRUE;
    if (!read_number(value, &number)) {
        ir_fail(graph->ir, "%s is not a number", what);
        return 0;
    }
    return json_number_double(&number);
}

int64_t graph_integer(struct graph *graph, const struct json_value *value, int64_t low,
                      int64_t high, const char *what)
{
    struct json_number number;
    if (graph->ir->failed)
        return low;
    if (!read_number(value, &number) || !number.is_whole || number.is_rounded ||
        number.is_nonfinite || number.digits > INT64_MAX) {
        ir_fail(graph->ir, "%s is not a whole number", what);
        return low;
    }
    int64_t result = number.is_negative ? -(int64_t)number.digits : (int64_t)number.digits;
    if (result < low || result > high) {
        ir_fail(graph->ir, "%s is %" PRId64 ", not %" PRId64 " to %" PRId64, what, result, low,
                high);
        return low;
    }
    return result;
}

uint32_t graph_integers(struct graph *graph, const struct json_value *value, int64_t low,
                        int64_t high, int64_t *items, uint32_t most, const char *what)
{
    uint32_t count = 0;
    if (graph->ir->failed)
        return 0;
    if (value->kind != JSON_LIST) {
        ir_fail(graph->ir, "%s is not a list", what);
        return 0;
    }
    struct json_reader in = json_read(value->text);
    for (bool more = json_enter(&in, '['); more && !graph->ir->failed; more = json_more(&in, ']')) {
        struct json_value item;
        json_read_value(&in, &item);
        if (count == most) {
            ir_fail(graph->ir, "%s has more than %u items", what, most);
            return 0;
        }
        items[count++] = graph_integer(graph, &item, low, high, what);
    }
    return graph->ir->failed ? 0 : count;
}

uint32_t graph_shape(struct graph *graph, const struct json_value *value,
                     uint32_t size[static IR_RANK])
{
    int64_t items[IR_RANK];
    uint32_t rank = graph_integers(graph, value, 1, UINT32_MAX, items, IR_RANK, "shape");
    for (uint32_t i = 0; i < rank; i++)
        size[i] = (uint32_t)items[i];
    return rank;
}

enum dtype graph_dtype(struct graph *graph, const struct json_value *value, bool *is_bool)
{
    const char *name = graph_text(graph, value, "dtype");
    *is_bool = strcmp(name, "bool") == 0 || strcmp(name, "pred") == 0;
    enum dtype dtype = graph->ir->failed ? DTYPE_NONE : dtype_named(name);
    if (dtype == DTYPE_NONE)
        ir_fail(graph->ir, "the data type \"%s\" is not supported", name);
    return dtype;
}

const struct json_value *attribute(struct graph *graph, const char *key)
{
    return fields_find(&graph->fields, key);
}

const struct json_value *need_attribute(struct graph *graph, const char *key)
{
    static const struct json_value nothing = {.kind = JSON_NULL};
    const struct json_value *value = attribute(graph, key);
    if (!value)
        ir_fail(graph->ir, "\"%s\" is missing", key);
    return value ? value : &nothing;
}

static int64_t attribute_integer(struct graph *graph, const char *key, int64_t low, int64_t high,
                                 int64_t otherwise)
{
    const struct json_value *value = attribute(graph, key);
    return value ? graph_integer(graph, value, low, high, key) : otherwise;
}

double attribute_number(struct graph *graph, const char *key, double otherwise)
{
    const struct json_value *value = attribute(graph, key);
    return value ? graph_number(graph, value, key) : otherwise;
}

bool attribute_bool(struct graph *graph, const char *key)
{
    const struct json_value *value = attribute(graph, key);
    if (value && value->kind != JSON_TRUE && value->kind != JSON_FALSE)
        ir_fail(graph->ir, "\"%s\" is neither true nor false", key);
    return value && value->kind == JSON_TRUE;
}

uint32_t attribute_axis(struct graph *graph, const char *key, uint32_t rank, int64_t otherwise)
{
    int64_t axis = attribute_integer(graph, key, -(int64_t)rank, (int64_t)rank - 1, otherwise);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

uint32_t attribute_axes(struct graph *graph, const char *key, uint32_t rank,
                        uint8_t axes[static IR_RANK])
{
    int64_t items[IR_RANK];
    const struct json_value *value = attribute(graph, key);
    if (!value)
        return 0;
    uint32_t count =
        graph_integers(graph, value, -(int64_t)rank, (int64_t)rank - 1, items, IR_RANK, key);
    for (uint32_t i = 0; i < count; i++)
        axes[i] = (uint8_t)(items[i] < 0 ? items[i] + rank : items[i]);
    return count;
}

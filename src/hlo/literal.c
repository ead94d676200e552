/*
 * Literals: the values of constants. Elements are in the order of the literal's layout, packed or
 * one by one; 16-bit and smaller types are bytes.
 */
#include "hlo/module.h"

enum {
    LITERAL_SHAPE = 1,
    LAYOUT_MINOR_TO_MAJOR = 1,
    RANK_LIMIT = 32,
};

/* Fields of LiteralProto that hold the elements of each type, and how. */
static const struct {
    uint8_t field;
    bool is_varint;
} elements_of[] = {
    [1] = {2, true},    [2] = {15, false},  [3] = {17, false},  [4] = {4, true},
    [5] = {5, true},    [6] = {3, false},   [7] = {16, false},  [8] = {6, true},
    [9] = {7, true},    [10] = {11, false}, [11] = {8, false},  [12] = {9, false},
    [15] = {12, false}, [16] = {13, false}, [18] = {18, false}, [19] = {19, false},
    [20] = {20, false}, [28] = {28, false}, [29] = {29, false},
};
enum { LITERAL_TYPES = sizeof elements_of / sizeof *elements_of };

struct elements {
    uint8_t *data;
    uint64_t count, limit;
    uint32_t width;
};

static bool put(struct elements *elements, uint64_t value)
{
    if (elements->count >= elements->limit)
        return false;
    memcpy(elements->data + elements->count++ * elements->width, &value, elements->width);
    return true;
}

static bool put_varints(struct elements *elements, struct pb_reader in, bool is_bool)
{
    uint64_t value;
    while (in.at < in.end)
        if (!pb_varint(&in, &value) || !put(elements, is_bool ? value != 0 : value))
            return false;
    return true;
}

static bool put_bytes(struct elements *elements, struct pb_reader in)
{
    uint64_t size = (uint64_t)(in.end - in.at);
    if (size % elements->width || size / elements->width > elements->limit - elements->count)
        return false;
    if (size > 0)
        memcpy(elements->data + elements->count * elements->width, in.at, size);
    elements->count += size / elements->width;
    return true;
}

static bool collect(struct elements *elements, struct pb_reader in, uint32_t type)
{
    struct pb_field field = {0};
    bool ok = true, is_bool = type == HLO_PRED;
    while (ok && pb_next(&in, &field)) {
        if (field.tag >> 3 != elements_of[type].field)
            continue;
        if ((field.tag & 7) != PB_BYTES)
            ok = elements->width <= sizeof field.value &&
                 put(elements, is_bool ? field.value != 0 : field.value);
        else if (elements_of[type].is_varint)
            ok = put_varints(elements, pb_enter(&field), is_bool);
        else
            ok = put_bytes(elements, pb_enter(&field));
    }
    return ok && in.problem == NULL;
}

/* Dimensions from the one that changes fastest; false when the layout is not one of the shape. */
static bool read_order(const struct hlo_shape *shape, int64_t order[RANK_LIMIT])
{
    uint32_t count, seen = 0;
    if (!hlo_list(shape->layout, LAYOUT_MINOR_TO_MAJOR, RANK_LIMIT, order, &count))
        return false;
    if (count == 0)
        for (; count < shape->rank; count++)
            order[count] = shape->rank - 1 - count;
    for (uint32_t i = 0; i < count; i++) {
        if (order[i] < 0 || order[i] >= shape->rank || (seen >> order[i] & 1))
            return false;
        seen |= 1U << order[i];
    }
    return count == shape->rank;
}

/* From the order of the layout to row-major order. */
static void to_row_major(uint8_t *ordered, const uint8_t *data, const struct hlo_shape *shape,
                         const int64_t *order, uint64_t count, uint32_t width)
{
    uint64_t step[RANK_LIMIT] = {0}, stride = 1;
    int64_t at[RANK_LIMIT] = {0};
    for (uint32_t i = 0; i < shape->rank; stride *= (uint64_t)shape->dimensions[order[i++]])
        step[order[i]] = stride;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from = 0;
        for (uint32_t d = 0; d < shape->rank; d++)
            from += (uint64_t)at[d] * step[d];
        memcpy(ordered + i * width, data + from * width, width);
        for (uint32_t d = shape->rank; d-- > 0;) {
            if (++at[d] < shape->dimensions[d])
                break;
            at[d] = 0;
        }
    }
}

static bool has_literal(uint32_t type)
{
    return type < LITERAL_TYPES && elements_of[type].field != 0;
}

/* The file states a shape and elements separately, and either may be wrong: both are checked
 * against the constant's shape, and the size against the file's before anything is allocated. The
 * result lives in the arena. */
uint8_t *hlo_literal_read(struct arena *memory, struct pb_reader in, const struct hlo_shape *shape,
                          struct error *err)
{
    struct hlo_shape own;
    uint64_t count = (uint64_t)hlo_elements(shape), size = (uint64_t)(in.end - in.at);
    /* An element takes at least one byte of the file. */
    if (count > size) {
        error_set(err, "the literal has fewer elements than its shape");
        return NULL;
    }
    int64_t order[RANK_LIMIT];
    if (!hlo_shape_read(memory, hlo_message(in, LITERAL_SHAPE), &own) || own.rank > RANK_LIMIT ||
        !has_literal(own.type) || own.type != shape->type || own.rank != shape->rank ||
        (own.rank > 0 &&
         memcmp(own.dimensions, shape->dimensions, own.rank * sizeof *own.dimensions) != 0) ||
        !read_order(&own, order)) {
        error_set(err, "the literal's shape differs from the constant's");
        return NULL;
    }
    struct elements elements = {.limit = count, .width = hlo_type_bits(own.type) / 8};
    elements.data = arena_alloc(memory, count * elements.width + 8);
    if (!collect(&elements, in, own.type) || elements.count != count) {
        error_set(err, "the literal's elements do not match its shape");
        return NULL;
    }
    bool is_ordered = true;
    for (uint32_t i = 0; i < own.rank; i++)
        is_ordered &= order[i] == own.rank - 1 - i;
    if (is_ordered)
        return elements.data;
    uint8_t *ordered = arena_alloc(memory, count * elements.width + 8);
    to_row_major(ordered, elements.data, &own, order, count, elements.width);
    return ordered;
}

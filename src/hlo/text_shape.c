/*
 * Shapes with their layouts as in HLO's text.
 */
#include "hlo/text.h"

#include <inttypes.h>

enum {
    LAYOUT_MINOR_TO_MAJOR = 1,
    LAYOUT_TILES = PB_TAG(6, PB_BYTES),
    LAYOUT_ELEMENT_BITS = 7,
    LAYOUT_MEMORY_SPACE = 8,
    LAYOUT_INDEX_TYPE = 11,
    LAYOUT_POINTER_TYPE = 12,
    LAYOUT_PREFIX_BYTES = 15,
    LAYOUT_TAIL_ALIGNMENT = 16,
    LAYOUT_SPLITS = PB_TAG(17, PB_BYTES),

    ANNOTATED = 5, /* in long tuples, every fifth element is numbered */
};

void put_list(struct output *out, const int64_t *list, uint32_t count)
{
    output_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            output_char(out, ',');
        put_integer(out, list[i]);
    }
    output_char(out, '}');
}

static void put_numbers(struct output *out, struct pb_reader in, uint32_t number,
                        const char *separator)
{
    hlo_numbers numbers = {0};
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag >> 3 == number)
            hlo_numbers_add(&numbers, &field);
    for (size_t i = 0; i < numbers.count; i++) {
        if (i > 0)
            output_text(out, separator);
        if (numbers.items[i] == INT64_MIN) /* a dimension that is combined with the next */
            output_char(out, '*');
        else
            put_integer(out, numbers.items[i]);
    }
    array_free(&numbers);
}

static void put_tiles(struct output *out, struct pb_reader layout)
{
    struct pb_field field;
    bool is_first = true;
    while (pb_next(&layout, &field)) {
        if (field.tag != LAYOUT_TILES)
            continue;
        output_text(out, is_first ? "T(" : "(");
        put_numbers(out, pb_enter(&field), 1, ",");
        output_char(out, ')');
        is_first = false;
    }
}

static void put_splits(struct output *out, struct pb_reader layout)
{
    struct pb_field field;
    bool is_first = true;
    while (pb_next(&layout, &field)) {
        if (field.tag != LAYOUT_SPLITS)
            continue;
        output_format(out, "%s%" PRId64 ":", is_first ? "SC(" : ")(",
                      hlo_number(pb_enter(&field), 1));
        put_numbers(out, pb_enter(&field), 2, ",");
        is_first = false;
    }
    if (!is_first)
        output_char(out, ')');
}

static void put_layout_number(struct output *out, struct pb_reader layout, uint32_t number,
                              const char *name)
{
    int64_t value = hlo_number(layout, number);
    if (value != 0)
        output_format(out, "%s(%" PRId64 ")", name, value);
}

static void put_layout_type(struct output *out, struct pb_reader layout, uint32_t number,
                            const char *name)
{
    const char *type = hlo_type_name((uint32_t)hlo_number(layout, number));
    if (type)
        output_format(out, "%s(%s)", name, type);
}

/* The part after the order of the dimensions. */
static void put_details(struct output *out, struct pb_reader layout)
{
    put_tiles(out, layout);
    if (hlo_number(layout, LAYOUT_TAIL_ALIGNMENT) > 1)
        put_layout_number(out, layout, LAYOUT_TAIL_ALIGNMENT, "L");
    put_layout_type(out, layout, LAYOUT_INDEX_TYPE, "#");
    put_layout_type(out, layout, LAYOUT_POINTER_TYPE, "*");
    put_layout_number(out, layout, LAYOUT_ELEMENT_BITS, "E");
    put_layout_number(out, layout, LAYOUT_MEMORY_SPACE, "S");
    put_splits(out, layout);
    put_layout_number(out, layout, LAYOUT_PREFIX_BYTES, "M");
}

/* Only the order of the dimensions, packed, which nearly all layouts have. */
static bool put_plain_layout(struct output *out, struct pb_reader layout)
{
    struct pb_field field;
    uint64_t dimension;
    if (!pb_next(&layout, &field) || field.tag != PB_TAG(LAYOUT_MINOR_TO_MAJOR, PB_BYTES))
        return false;
    for (struct pb_field other; pb_next(&layout, &other);)
        if (other.tag != PB_TAG(LAYOUT_TAIL_ALIGNMENT, PB_VARINT) || other.value != 1)
            return false;
    struct pb_reader in = pb_enter(&field);
    output_char(out, '{');
    for (bool is_first = true; in.at < in.end && pb_varint(&in, &dimension); is_first = false) {
        if (!is_first)
            output_char(out, ',');
        put_integer(out, (int64_t)dimension);
    }
    output_char(out, '}');
    return true;
}

static void put_layout(struct output *out, const struct hlo_shape *shape)
{
    if (shape->rank > 0 && put_plain_layout(out, shape->layout))
        return;
    struct output details;
    output_memory(&details);
    put_details(&details, shape->layout);
    if (details.size > 0 || shape->rank > 0) {
        output_char(out, '{');
        put_numbers(out, shape->layout, LAYOUT_MINOR_TO_MAJOR, ",");
        if (details.size > 0)
            output_char(out, ':');
        output_write(out, details.data, details.size);
        output_char(out, '}');
    }
    output_discard(&details);
}

static bool is_dynamic(const struct hlo_shape *shape, uint32_t dimension)
{
    return dimension < (size_t)(shape->dynamic.end - shape->dynamic.at) &&
           shape->dynamic.at[dimension] != 0;
}

static void put_tuple(struct output *out, const struct hlo_shape *shape, bool with_layout)
{
    output_char(out, '(');
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (i > 0)
            output_text(out, ", ");
        if (shape->rank > ANNOTATED && i > 0 && i % ANNOTATED == 0)
            output_format(out, "/*index=%u*/", i);
        hlo_put_shape(out, &shape->elements[i], with_layout);
    }
    output_char(out, ')');
}

void hlo_put_shape(struct output *out, const struct hlo_shape *shape, bool with_layout)
{
    if (shape->type == HLO_TUPLE_TYPE) {
        put_tuple(out, shape, with_layout);
        return;
    }
    const char *name = hlo_type_name(shape->type);
    output_text(out, name ? name : "invalid");
    output_char(out, '[');
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (i > 0)
            output_char(out, ',');
        if (is_dynamic(shape, i))
            output_text(out, "<=");
        put_integer(out, shape->dimensions[i]);
    }
    output_char(out, ']');
    /* An array with a layout shows its order, unless it is a scalar. */
    if (with_layout && shape->layout.at != shape->layout.end)
        put_layout(out, shape);
}

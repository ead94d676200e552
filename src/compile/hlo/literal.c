/*
 * Literals: the values of constants. Elements are in the order of the literal's layout, packed or
 * one by one; 16-bit and smaller types are bytes.
 */
#include "compile/hlo/module.h"

enum {
    LITERAL_SHAPE = 1,
};

/* Field of LiteralProto that holds the elements of each type; booleans are field 2. */
static uint32_t field_of(const struct ir_type *type)
{
    static const uint8_t fields[DTYPE_COUNT] = {
        [DTYPE_UINT8] = 3,   [DTYPE_INT32] = 4,   [DTYPE_INT64] = 5,  [DTYPE_UINT32] = 6,
        [DTYPE_UINT64] = 7,  [DTYPE_FP32] = 8,    [DTYPE_FP16] = 11,  [DTYPE_BF16] = 13,
        [DTYPE_INT8] = 15,   [DTYPE_UINT16] = 16, [DTYPE_INT16] = 17, [DTYPE_FP8_E5] = 19,
        [DTYPE_FP8_E4] = 20, [DTYPE_FP8_E3] = 29,
    };
    return type->is_bool ? 2 : fields[type->dtype];
}

static bool is_varint(const struct ir_type *type)
{
    return type->is_bool || type->dtype == DTYPE_INT32 || type->dtype == DTYPE_INT64 ||
           type->dtype == DTYPE_UINT32 || type->dtype == DTYPE_UINT64;
}

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

static bool collect(struct elements *elements, struct pb_reader in, const struct ir_type *type)
{
    uint32_t number = field_of(type);
    struct pb_field field = {0};
    bool ok = true;
    while (ok && pb_next(&in, &field)) {
        if (field.tag >> 3 != number)
            continue;
        if ((field.tag & 7) != PB_BYTES)
            ok = put(elements, type->is_bool ? field.value != 0 : field.value);
        else if (is_varint(type))
            ok = put_varints(elements, pb_enter(&field), type->is_bool);
        else
            ok = put_bytes(elements, pb_enter(&field));
    }
    return ok && in.problem == NULL;
}

/* From the order of the layout to row-major order. */
static uint8_t *in_row_major(struct ir *ir, const uint8_t *data, const struct hlo_shape *shape)
{
    const struct ir_type *type = &shape->type;
    uint32_t width = dtype_bytes(type->dtype), at[IR_RANK] = {0};
    uint64_t step[IR_RANK] = {0}, stride = 1, count = ir_elements(type);
    for (uint32_t i = type->rank; i-- > 0; stride *= type->size[shape->major_first[i]])
        step[shape->major_first[i]] = stride;
    uint8_t *ordered = arena_alloc(&ir->memory, count * width);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from = 0;
        for (uint32_t d = 0; d < type->rank; d++)
            from += at[d] * step[d];
        memcpy(ordered + i * width, data + from * width, width);
        for (uint32_t d = type->rank; d-- > 0;) {
            if (++at[d] < type->size[d])
                break;
            at[d] = 0;
        }
    }
    return ordered;
}

uint8_t *hlo_literal_read(struct ir *ir, struct pb_reader in, const struct hlo_shape *shape,
                          struct error *err)
{
    const struct ir_type *type = &shape->type;
    struct hlo_shape own;
    uint64_t count = 1, size = (uint64_t)(in.end - in.at);
    /* An element takes a byte of the file at least. */
    for (uint32_t i = 0; i < type->rank && count <= size; i++)
        count *= type->size[i];
    if (count > size) {
        error_set(err, "the literal has fewer elements than its shape");
        return NULL;
    }
    if (!hlo_shape_read(&ir->memory, hlo_message(in, LITERAL_SHAPE), 0, &own) ||
        own.kind != SHAPE_ARRAY || !ir_same_shape(&own.type, type) ||
        own.type.dtype != type->dtype || own.type.is_bool != type->is_bool) {
        error_set(err, "the literal's shape is not that of the constant");
        return NULL;
    }
    struct elements elements = {.limit = count, .width = dtype_bytes(type->dtype)};
    elements.data = arena_alloc(&ir->memory, count * elements.width + 8);
    if (!collect(&elements, in, type) || elements.count != count) {
        error_set(err, "the literal's elements are not those of its shape");
        return NULL;
    }
    bool is_ordered = true;
    for (uint32_t i = 0; i < type->rank; i++)
        is_ordered &= own.major_first[i] == i;
    return is_ordered ? elements.data : in_row_major(ir, elements.data, &own);
}

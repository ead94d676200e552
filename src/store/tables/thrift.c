/*
 * Thrift compact protocol: field ids as deltas, integers as zigzag varints.
 */
#include "store/tables/thrift.h"

#include <assert.h>

void thrift_begin(struct thrift *thrift, struct output *out)
{
    *thrift = (struct thrift){.out = out};
}

static void put_varint(struct output *out, uint64_t value)
{
    while (value >= 0x80) {
        output_char(out, (char)(value | 0x80));
        value >>= 7;
    }
    output_char(out, (char)value);
}

static void put_field(struct thrift *thrift, int field, enum thrift_type type)
{
    int step = field - thrift->last_field[thrift->depth];
    assert(step > 0 && step < 16);
    output_char(thrift->out, (char)(step << 4 | (int)type));
    thrift->last_field[thrift->depth] = field;
}

void thrift_item_int(struct thrift *thrift, int64_t value)
{
    put_varint(thrift->out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

void thrift_int(struct thrift *thrift, int field, int64_t value, enum thrift_type type)
{
    put_field(thrift, field, type);
    thrift_item_int(thrift, value);
}

void thrift_item_binary(struct thrift *thrift, const void *data, size_t size)
{
    put_varint(thrift->out, size);
    output_write(thrift->out, data, size);
}

void thrift_binary(struct thrift *thrift, int field, const void *data, size_t size)
{
    put_field(thrift, field, THRIFT_BINARY);
    thrift_item_binary(thrift, data, size);
}

void thrift_open(struct thrift *thrift, int field)
{
    if (field)
        put_field(thrift, field, THRIFT_STRUCT);
    assert(thrift->depth + 1 < THRIFT_MAX_DEPTH);
    thrift->last_field[++thrift->depth] = 0;
}

void thrift_close(struct thrift *thrift)
{
    output_char(thrift->out, 0);
    if (thrift->depth > 0)
        thrift->depth--;
}

void thrift_list(struct thrift *thrift, int field, size_t count, enum thrift_type type)
{
    put_field(thrift, field, THRIFT_LIST);
    if (count < 15) {
        output_char(thrift->out, (char)(count << 4 | (size_t)type));
    } else {
        output_char(thrift->out, (char)(0xF0 | (int)type));
        put_varint(thrift->out, count);
    }
}

/*
 * Protobuf wire format: the functions that are not inlined, and the writer.
 */
#include "base/wire/protobuf.h"

#include <assert.h>

enum { LONGEST_VARINT = 10 };

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed-width fields are little-endian");

bool pb_varint_slow(struct pb_reader *in, uint64_t *value)
{
    uint64_t result = 0;
    const uint8_t *at = in->at;
    for (unsigned shift = 0; at < in->end; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            return pb_fail(in, "a number is longer than 64 bits");
        result |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            in->at = at;
            *value = result;
            return true;
        }
    }
    return pb_fail(in, "a number is truncated");
}

static size_t varint_encode(char *to, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        to[size++] = (char)(value | 0x80);
    to[size++] = (char)value;
    return size;
}

static void put_raw_varint(struct output *out, uint64_t value)
{
    if (out->capacity - out->size < LONGEST_VARINT)
        output_reserve(out, LONGEST_VARINT);
    out->size += varint_encode(out->data + out->size, value);
}

void pb_put_varint(struct output *out, uint32_t number, uint64_t value)
{
    put_raw_varint(out, PB_TAG(number, PB_VARINT));
    put_raw_varint(out, value);
}

void pb_put_fixed64(struct output *out, uint32_t number, uint64_t value)
{
    put_raw_varint(out, PB_TAG(number, PB_FIXED64));
    output_write(out, (const char *)&value, sizeof value);
}

void pb_put_double(struct output *out, uint32_t number, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    pb_put_fixed64(out, number, bits);
}

void pb_put_bytes(struct output *out, uint32_t number, const void *data, size_t size)
{
    put_raw_varint(out, PB_TAG(number, PB_BYTES));
    put_raw_varint(out, size);
    output_write(out, data, size);
}

size_t pb_begin(struct output *out, uint32_t number)
{
    assert(out->fd < 0);
    put_raw_varint(out, PB_TAG(number, PB_BYTES));
    output_char(out, 0); /* most messages are short: one byte for their length */
    return out->size;
}

void pb_end(struct output *out, size_t mark)
{
    size_t size = out->size - mark;
    char length[LONGEST_VARINT];
    size_t length_size = varint_encode(length, size);
    if (length_size > 1) {
        if (out->capacity - out->size < LONGEST_VARINT)
            output_reserve(out, LONGEST_VARINT);
        memmove(out->data + mark - 1 + length_size, out->data + mark, size);
        out->size += length_size - 1;
    }
    memcpy(out->data + mark - 1, length, length_size);
}

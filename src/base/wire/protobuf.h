/*
 * Protobuf wire format over byte ranges: no generated code, no allocation, no copy. Lengths are 64
 * bits wide, so a message has no size limit. Usage:
 *
 *     struct pb_reader in = pb_read(data, size);
 *     struct pb_field field;
 *     while (pb_next(&in, &field))
 *         switch (field.tag) { case PB_TAG(1, PB_BYTES): ...field.bytes...; }
 *     if (in.problem) ...in.at is the position...
 */
#ifndef KYMO_BASE_WIRE_PROTOBUF_H
#define KYMO_BASE_WIRE_PROTOBUF_H

#include "base/base.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

#define PB_TAG(number, wire) ((uint32_t)(number) << 3 | (uint32_t)(wire))

struct pb_reader {
    const uint8_t *at, *end;
    const char *problem; /* the error; NULL at a clean end */
};

struct pb_field {
    uint32_t tag;
    uint64_t value; /* varint and fixed values; the length of bytes */
    const uint8_t *bytes;
};

static inline struct pb_reader pb_read(const uint8_t *data, size_t size)
{
    return (struct pb_reader){.at = data, .end = size ? data + size : data};
}

static inline struct pb_reader pb_enter(const struct pb_field *field)
{
    return pb_read(field->bytes, field->value);
}

static inline struct text pb_text(const struct pb_field *field)
{
    return (struct text){(const char *)field->bytes, field->value};
}

static inline double pb_double(const struct pb_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof value);
    return value;
}

/* Slow path of the readers below. */
bool pb_varint_slow(struct pb_reader *in, uint64_t *value);
static inline bool pb_fail(struct pb_reader *in, const char *problem)
{
    in->problem = problem;
    return false;
}

/* Reads a varint that is nearly always one byte long: a tag, a length, a small id. */
static inline bool pb_varint(struct pb_reader *in, uint64_t *value)
{
    if (in->at < in->end && *in->at < 0x80) {
        *value = *in->at++;
        return true;
    }
    return pb_varint_slow(in, value);
}

/*
 * Reads a varint of up to eight bytes from memory that can be loaded eight bytes at a time: returns
 * its size, or 0 when it is longer. Branch-free in the length, which is unpredictable: on the times
 * and ids of a profile this is three times as fast as a loop over bytes.
 */
static inline unsigned pb_varint_word(const uint8_t *at, uint64_t *value)
{
    uint64_t word;
    memcpy(&word, at, 8);
    uint64_t stops = ~word & 0x8080808080808080u;
    if (stops == 0)
        return 0;
    word &= stops ^ (stops - 1);
    word = (word & 0x007F007F007F007Fu) | (word & 0x7F007F007F007F00u) >> 1;
    word = (word & 0x00003FFF00003FFFu) | (word & 0x3FFF00003FFF0000u) >> 2;
    *value = (word & 0x000000000FFFFFFFu) | (word & 0x0FFFFFFF00000000u) >> 4;
    return (unsigned)(__builtin_ctzll(stops) + 1) / 8;
}

/* The size of a varint that pb_varint_word would read. */
static inline unsigned pb_varint_size(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    uint64_t stops = ~word & 0x8080808080808080u;
    return stops ? (unsigned)(__builtin_ctzll(stops) + 1) / 8 : 0;
}

/* Reads a varint that should end at `end`, of at most eight bytes: most are short, and narrow loads
 * suffice for them. Memory must be loadable as above. */
static inline bool pb_varint_until(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (end - at > 4)
        return at + pb_varint_word(at, value) == end;
    uint32_t word;
    memcpy(&word, at, 4);
    uint32_t stops = ~word & 0x80808080u;
    if (stops == 0 || at + (__builtin_ctz(stops) + 1) / 8 != end)
        return false;
    word &= stops ^ (stops - 1);
    word = (word & 0x007F007Fu) | (word & 0x7F007F00u) >> 1;
    *value = (word & 0x00003FFFu) | (word & 0x3FFF0000u) >> 2;
    return true;
}

/* The next field of the message; false at its end or on error. */
static inline bool pb_next(struct pb_reader *in, struct pb_field *field)
{
    if (in->at == in->end)
        return false;
    const uint8_t *start = in->at;
    uint64_t tag;
    if (!pb_varint(in, &tag))
        return false;
    field->tag = (uint32_t)tag;
    if (tag < 8 || tag > UINT32_MAX) {
        in->at = start;
        return pb_fail(in, "field number out of range");
    }
    switch (tag & 7) {
    case PB_VARINT:
        return pb_varint(in, &field->value);
    case PB_BYTES:
        if (!pb_varint(in, &field->value))
            return false;
        if (field->value > (size_t)(in->end - in->at)) {
            in->at = start;
            return pb_fail(in, "a length exceeds its message");
        }
        field->bytes = in->at;
        in->at += field->value;
        return true;
    case PB_FIXED64:
        if (in->end - in->at < 8)
            return pb_fail(in, "a number is truncated");
        memcpy(&field->value, in->at, 8);
        in->at += 8;
        return true;
    case PB_FIXED32: {
        uint32_t value;
        if (in->end - in->at < 4)
            return pb_fail(in, "a number is truncated");
        memcpy(&value, in->at, 4);
        field->value = value;
        in->at += 4;
        return true;
    }
    default:
        in->at = start;
        return pb_fail(in, "invalid wire type");
    }
}

/* Writer, into any output. pb_begin and pb_end enclose a nested message; they may nest. */
void pb_put_varint(struct output *out, uint32_t number, uint64_t value);
void pb_put_fixed64(struct output *out, uint32_t number, uint64_t value);
void pb_put_double(struct output *out, uint32_t number, double value);
void pb_put_bytes(struct output *out, uint32_t number, const void *data, size_t size);
static inline void pb_put_text(struct output *out, uint32_t number, struct text text)
{
    pb_put_bytes(out, number, text.data, text.size);
}
/* Needs a memory output: the length is filled in afterward, in reserved bytes. */
size_t pb_begin(struct output *out, uint32_t number);
void pb_end(struct output *out, size_t mark);

#endif

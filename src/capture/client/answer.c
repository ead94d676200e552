/*
 * A reader of ProfileResponse that may be interrupted after any byte. Fields: 6 tool_data, 7
 * empty_trace, 8 xspace. Several of field 8 are one profile: messages are merged by concatenation.
 */
#include "capture/client/answer.h"

#include "base/wire/wire.h"

enum { RESPONSE_EMPTY_TRACE = 7, RESPONSE_XSPACE = 8, LAST_SHIFT = 63 };

void answer_begin(struct answer *answer, struct output *out, struct answer_total *total)
{
    *answer = (struct answer){.out = out, .total = total};
}

bool answer_is_whole(const struct answer *answer)
{
    return answer->prefix_size == ANSWER_PREFIX && answer->left == 0 &&
           answer->state == ANSWER_TAG && answer->shift == 0;
}

static bool take_prefix(struct answer *answer)
{
    if (answer->prefix[0] != 0)
        return error_set(&answer->problem, "the answer is compressed, which was not asked for");
    for (size_t i = 1; i < ANSWER_PREFIX; i++)
        answer->left = answer->left << 8 | answer->prefix[i];
    return true;
}

static bool begin_field(struct answer *answer)
{
    enum pb_wire wire = answer->tag & 7;
    answer->field_left = wire == PB_FIXED64 ? 8 : 4;
    answer->state = wire == PB_VARINT  ? ANSWER_VARINT
                    : wire == PB_BYTES ? ANSWER_LENGTH
                                       : ANSWER_SKIP;
    if (answer->tag < 8 ||
        (wire != PB_VARINT && wire != PB_BYTES && wire != PB_FIXED64 && wire != PB_FIXED32))
        return error_set(&answer->problem, "the answer is not a ProfileResponse");
    return true;
}

static bool begin_bytes(struct answer *answer)
{
    bool is_profile = answer->tag == PB_TAG(RESPONSE_XSPACE, PB_BYTES);
    if (answer->number > answer->left)
        return error_set(&answer->problem, "the answer has a field longer than itself");
    answer->has_profile |= is_profile;
    answer->field_left = answer->number;
    answer->state = answer->number == 0 ? ANSWER_TAG : is_profile ? ANSWER_PROFILE : ANSWER_SKIP;
    return true;
}

/* A number is complete: a tag, a length or a value. */
static bool take_number(struct answer *answer)
{
    switch (answer->state) {
    case ANSWER_TAG:
        if (answer->number > UINT32_MAX)
            return error_set(&answer->problem, "the answer is not a ProfileResponse");
        answer->tag = (uint32_t)answer->number;
        return begin_field(answer);
    case ANSWER_LENGTH:
        return begin_bytes(answer);
    default:
        if (answer->tag == PB_TAG(RESPONSE_EMPTY_TRACE, PB_VARINT))
            answer->is_empty_trace = answer->number != 0;
        answer->state = ANSWER_TAG;
        return true;
    }
}

static bool take_number_byte(struct answer *answer, uint8_t byte)
{
    if (answer->shift == LAST_SHIFT && byte > 1)
        return error_set(&answer->problem, "the answer has a number longer than 64 bits");
    if (answer->shift == 0)
        answer->number = 0;
    answer->number |= (uint64_t)(byte & 0x7F) << answer->shift;
    answer->shift += 7;
    answer->left--;
    if (byte >= 0x80)
        return true;
    answer->shift = 0;
    return take_number(answer);
}

/* Counted before they are written, so that no host can take what another one has counted. */
static bool keep_bytes(struct answer *answer, const uint8_t *data, size_t size)
{
    struct answer_total *total = answer->total;
    answer->profile_bytes += size;
    if (atomic_fetch_add(&total->bytes, size) + size > total->max_bytes)
        return error_set(&answer->problem,
                         "the profiles of all hosts are larger than the %llu bytes available for "
                         "them (max_bytes, or --upload-limit of a server)",
                         (unsigned long long)total->max_bytes);
    output_write(answer->out, (const char *)data, size);
    return true;
}

/* Bytes of a field, which are kept or skipped; advances *at. */
static bool take_bytes(struct answer *answer, const uint8_t **at, const uint8_t *end)
{
    size_t size = (size_t)(end - *at);
    size_t taken = size < answer->field_left ? size : answer->field_left;
    if (answer->state == ANSWER_PROFILE && !keep_bytes(answer, *at, taken))
        return false;
    *at += taken;
    answer->field_left -= taken;
    answer->left -= taken;
    if (answer->field_left == 0)
        answer->state = ANSWER_TAG;
    return true;
}

bool answer_take(struct answer *answer, const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    for (; at < end && answer->prefix_size < ANSWER_PREFIX; at++) {
        answer->prefix[answer->prefix_size++] = *at;
        if (answer->prefix_size == ANSWER_PREFIX && !take_prefix(answer))
            return false;
    }
    while (at < end) {
        if (answer->left == 0)
            return error_set(&answer->problem, "the answer is longer than it says");
        if (answer->state == ANSWER_PROFILE || answer->state == ANSWER_SKIP) {
            if (answer->field_left > answer->left)
                return error_set(&answer->problem, "the answer has a field longer than itself");
            if (!take_bytes(answer, &at, end))
                return false;
        } else if (!take_number_byte(answer, *at++)) {
            return false;
        }
    }
    if (answer->out->failed)
        answer->problem = answer->out->error;
    return !answer->out->failed;
}

/*
 * The answer to a Profile call, as it comes: a gRPC message with a ProfileResponse, whose profile
 * goes to a file without its envelope.
 */
#ifndef KYMO_CAPTURE_CLIENT_ANSWER_H
#define KYMO_CAPTURE_CLIENT_ANSWER_H

#include "base/base.h"

#include <stdatomic.h>

enum { ANSWER_PREFIX = 5 };

/* Bytes of the profiles of all answers, which are written at the same time. */
struct answer_total {
    atomic_uint_fast64_t bytes;
    uint64_t max_bytes;
};

struct answer {
    struct output *out;
    struct answer_total *total;
    uint64_t left;               /* bytes of the message */
    uint64_t field_left;         /* bytes of the field that is being read */
    uint64_t number;             /* the varint that is being read */
    unsigned shift, prefix_size; /* of that number; bytes of the prefix that are there */
    uint32_t tag;
    enum { ANSWER_TAG, ANSWER_LENGTH, ANSWER_VARINT, ANSWER_PROFILE, ANSWER_SKIP } state;
    uint8_t prefix[ANSWER_PREFIX];
    bool has_profile, is_empty_trace;
    uint64_t profile_bytes;
    struct error problem; /* of the answer, or of the file */
};

void answer_begin(struct answer *answer, struct output *out, struct answer_total *total);
/* False when this is not such an answer, all answers together are too large, or the file cannot be
 * written. */
bool answer_take(struct answer *answer, const uint8_t *data, size_t size);
/* Whether the message is complete. */
bool answer_is_whole(const struct answer *answer);

#endif

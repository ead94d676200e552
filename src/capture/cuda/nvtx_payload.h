/*
 * Payloads with a layout: programs register schemas (NVTX's payload extension), NCCL those of its
 * calls, and their annotations then carry structures.
 */
#ifndef KYMO_CAPTURE_CUDA_NVTX_PAYLOAD_H
#define KYMO_CAPTURE_CUDA_NVTX_PAYLOAD_H

#include <kymo/kymo.h>
#include <stddef.h>
#include <stdint.h>

/* The type of a payload that consists of structures, of which `reserved` of the attributes is the
 * number. */
#define NVTX_PAYLOAD_STRUCTURES ((int32_t)0xDFBD0009)

struct nvtx_payload {
    uint64_t schema;
    size_t size;
    const void *data;
};

/* Numbers and names of values in structures as args, `room` at most; returns their count. Domains
 * have schemas of their own. Values that have no known schema, or are not numbers, are left out. */
size_t nvtx_payload_args(const void *domain, const struct nvtx_payload *payloads, size_t count,
                         struct kymo_arg *args, size_t room);

#endif

/*
 * The program's side of NVTX, as its headers build it into programs: tables of functions, which the
 * library that NVTX_INJECTION64_PATH names fills with the first call.
 */
#ifndef KYMO_TESTS_NVTX_CLIENT_H
#define KYMO_TESTS_NVTX_CLIENT_H

#include <stdint.h>
#include <wchar.h>

enum nvtx_module { NVTX_CORE = 1, NVTX_CUDA = 2, NVTX_CUDART = 4, NVTX_CORE2 = 5, NVTX_MODULES };

enum { NVTX_ASCII = 1, NVTX_UNICODE = 2, NVTX_REGISTERED = 3, NVTX_ARGB = 1 };

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double d;
        uint32_t u32;
        int32_t i32;
        float f;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *unicode;
        void *registered;
    } message;
};

/* The function of this number, NULL where no library wants it. */
void (*nvtx_function(enum nvtx_module module, unsigned id))(void);

/* Functions of the payload extension: 0 registers a structure, 1 an enumeration; NULL as above. */
intptr_t nvtx_payload_function(unsigned id);

#define NVTX_CALL(type, parameters, module, id, otherwise, ...)                                    \
    (nvtx_function(module, id) ? ((type(*) parameters)nvtx_function(module, id))(__VA_ARGS__)      \
                               : (otherwise))

#endif

/*
 * Names of operations and data types, and sizes.
 */
#include "neuron/run/nccom/nccom.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

static const struct {
    const char *name, *alias;
} op_names[] = {
    [NCCOM_ALL_REDUCE] = {"all_reduce", "allr"},
    [NCCOM_ALL_GATHER] = {"all_gather", "allg"},
    [NCCOM_ALL_GATHERV] = {"all_gatherv", "allgv"},
    [NCCOM_REDUCE_SCATTER] = {"reduce_scatter", "redsct"},
    [NCCOM_SENDRECV] = {"sendrecv", "sendrecv"},
    [NCCOM_ALL_TO_ALL] = {"alltoall", "alltoall"},
    [NCCOM_ALL_TO_ALLV] = {"alltoallv", "alltoallv"},
    [NCCOM_PERMUTE] = {"permute", "permute"},
};

const char *nccom_op_name(enum nccom_op op)
{
    return op_names[op].name;
}

bool nccom_op_named(const char *name, enum nccom_op *op)
{
    for (int i = 0; i < NCCOM_OPS; i++)
        if (strcmp(name, op_names[i].name) == 0 || strcmp(name, op_names[i].alias) == 0) {
            *op = (enum nccom_op)i;
            return true;
        }
    return false;
}

bool nccom_dtype_named(const char *name, enum dtype *dtype)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } known[] = {{"uint8", DTYPE_UINT8},  {"int8", DTYPE_INT8},     {"fp8", DTYPE_FP8_E4},
                 {"fp8e4", DTYPE_FP8_E4}, {"uint16", DTYPE_UINT16}, {"int16", DTYPE_INT16},
                 {"fp16", DTYPE_FP16},    {"bf16", DTYPE_BF16},     {"uint32", DTYPE_UINT32},
                 {"int32", DTYPE_INT32},  {"fp32", DTYPE_FP32}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            *dtype = known[i].dtype;
            return true;
        }
    return false;
}

bool nccom_size(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = {{"", 0},    {"b", 0},    {"k", 10}, {"kb", 10}, {"kib", 10}, {"m", 20},
                 {"mb", 20}, {"mib", 20}, {"g", 30}, {"gb", 30}, {"gib", 30}};
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(end, units[i].unit) == 0) {
            *bytes = (uint64_t)number << units[i].shift;
            return *bytes >> units[i].shift == number && number != UINT64_MAX;
        }
    return false;
}

bool nccom_next_size(const struct nccom_sizes *sizes, uint64_t *size)
{
    uint64_t next;
    bool is_too_large = sizes->factor ? __builtin_mul_overflow(*size, sizes->factor, &next)
                                      : __builtin_add_overflow(*size, sizes->step, &next);
    if (is_too_large || next > sizes->max || next <= *size)
        return false;
    *size = next;
    return true;
}

/*
 * Reductions over the data of several ranks.
 */
#include "neuron/simulator/alu.h"
#include "neuron/simulator/convert.h"
#include "neuron/simulator/neuroncore.h"

enum { PIECE = 512 };

static void combine_floats(enum dtype dtype, enum alu alu, uint8_t *out,
                           const uint8_t *const *inputs, uint32_t input_count, uint64_t offset,
                           size_t count)
{
    float sum[PIECE], next[PIECE];
    uint32_t bytes = dtype_bytes(dtype);
    load_floats(dtype, inputs[0] + offset, bytes, count, sum);
    for (uint32_t i = 1; i < input_count; i++) {
        load_floats(dtype, inputs[i] + offset, bytes, count, next);
        alu_floats(alu, sum, next, sum, count);
    }
    store_floats(dtype, sum, count, out, bytes);
}

static void combine_integers(enum dtype dtype, enum alu alu, uint8_t *out,
                             const uint8_t *const *inputs, uint32_t input_count, uint64_t offset,
                             size_t count)
{
    int64_t sum[PIECE], next[PIECE];
    uint32_t bytes = dtype_bytes(dtype);
    const struct integer_kind kind = {.bits = 8 * bytes, .is_unsigned = dtype == DTYPE_UINT64};
    load_integers(dtype, inputs[0] + offset, bytes, count, sum);
    for (uint32_t i = 1; i < input_count; i++) {
        load_integers(dtype, inputs[i] + offset, bytes, count, next);
        alu_integers(alu, kind, sum, next, sum, count);
    }
    store_integers(dtype, sum, count, out, bytes, kind.is_unsigned);
}

void core_combine(enum dtype dtype, enum alu alu, uint8_t *out, const uint8_t *const *inputs,
                  uint32_t input_count, uint64_t offset, uint64_t size)
{
    uint64_t bytes = dtype_bytes(dtype), count = size / bytes;
    for (uint64_t done = 0; done < count; done += PIECE) {
        size_t piece = (size_t)(count - done < PIECE ? count - done : PIECE);
        (dtype_is_float(dtype) ? combine_floats : combine_integers)(
            dtype, alu, out + done * bytes, inputs, input_count, offset + done * bytes, piece);
    }
}

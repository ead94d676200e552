/*
 * Matrix products: dots, convolutions, and the library calls they become.
 */
#include "hlo/costs.h"

#include <math.h>
#include <stdlib.h>

enum { RANK_LIMIT = 32, MOST_POSITIONS = 1 << 22 };

struct dot_numbers {
    int64_t contracting[RANK_LIMIT], batch[RANK_LIMIT]; /* of the left operand */
    uint32_t contracting_count, batch_count;
};

static double dimensions_product(const struct hlo_shape *shape, const int64_t *dimensions,
                                 uint32_t count)
{
    double product = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (dimensions[i] < 0 || dimensions[i] >= shape->rank || shape->type == HLO_TUPLE_TYPE)
            return NAN;
        product *= (double)shape->dimensions[dimensions[i]];
    }
    return product;
}

/* A multiplication and an addition; of complex numbers, four and four. */
static double per_product(uint32_t type)
{
    return type == HLO_C64 || type == HLO_C128 ? 8 : 2;
}

static double dot_flops(const struct hlo_shape *left, const struct hlo_shape *result,
                        const struct dot_numbers *numbers)
{
    return per_product(left->type) * shape_elements(result) *
           dimensions_product(left, numbers->contracting, numbers->contracting_count);
}

static bool read_dot_numbers(struct pb_reader in, struct dot_numbers *numbers)
{
    return hlo_list(in, 1, RANK_LIMIT, numbers->contracting, &numbers->contracting_count) &&
           hlo_list(in, 3, RANK_LIMIT, numbers->batch, &numbers->batch_count);
}

/* The numbers of a list in a configuration: "key":["1","2"]; false when it is not there. */
static bool config_list(struct text config, const char *key, int64_t *list, uint32_t *count)
{
    const char *at = config.size ? memmem(config.data, config.size, key, strlen(key)) : NULL;
    *count = 0;
    if (!at)
        return false;
    const char *end = config.data + config.size;
    at = memchr(at, '[', (size_t)(end - at));
    if (!at)
        return false;
    while (++at < end && *at != ']') {
        if (*at < '0' || *at > '9')
            continue;
        int64_t value = 0;
        for (; at < end && *at >= '0' && *at <= '9' && value < RANK_LIMIT; at++)
            value = value * 10 + (*at - '0');
        if (*count < RANK_LIMIT)
            list[(*count)++] = value;
        if (at == end || *at == ']')
            break;
    }
    return true;
}

/* The part of a configuration from a key on. */
static struct text config_from(struct text config, const char *key)
{
    const char *at = config.size ? memmem(config.data, config.size, key, strlen(key)) : NULL;
    return at ? (struct text){at, (size_t)(config.data + config.size - at)} : (struct text){0};
}

static bool read_config_numbers(struct text config, const char *key, struct dot_numbers *numbers)
{
    struct text part = config_from(config, key);
    *numbers = (struct dot_numbers){0};
    config_list(part, "\"lhs_batch_dimensions\"", numbers->batch, &numbers->batch_count);
    return config_list(part, "\"lhs_contracting_dimensions\"", numbers->contracting,
                       &numbers->contracting_count);
}

/* --- convolutions --- */

struct convolution {
    const struct hlo_shape *input, *kernel, *output;
};

struct window_dimension {
    int64_t stride, padding, dilation, base_dilation;
    int64_t kernel, input, output;
};

static int64_t at_least_one(int64_t value)
{
    return value == 0 ? 1 : value;
}

/* Outputs o with 0 <= o * stride + shift < input * base, where that is a multiple of base. */
static double positions_of(const struct window_dimension *at, int64_t shift)
{
    int64_t limit, from, to;
    if (__builtin_mul_overflow(at->input, at->base_dilation, &limit) || at->stride < 1)
        return NAN;
    from = shift >= 0 ? 0 : (-shift + at->stride - 1) / at->stride;
    if (limit <= shift)
        return 0;
    to = (limit - shift - 1) / at->stride + 1;
    if (to > at->output)
        to = at->output;
    if (from >= to)
        return 0;
    if (at->base_dilation == 1)
        return (double)(to - from);
    /* The outputs repeat with a period, once the first is found. */
    int64_t a = at->stride, b = at->base_dilation;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    int64_t period = at->base_dilation / a, last = to - from < period ? to : from + period;
    for (int64_t o = from; o < last; o++)
        if ((o * at->stride + shift) % at->base_dilation == 0)
            return (double)((to - 1 - o) / period + 1);
    return 0;
}

/* Pairs of a position in the kernel and an output that meet an element of the input. */
static double valid_positions(const struct window_dimension *at)
{
    const int64_t limit = INT32_MAX;
    if (at->stride > limit || at->dilation > limit || at->base_dilation > limit ||
        at->padding > limit || at->padding < -limit || at->dilation < 1 || at->base_dilation < 1 ||
        at->kernel > MOST_POSITIONS || at->output > limit ||
        at->kernel * at->base_dilation > MOST_POSITIONS)
        return NAN;
    double count = 0;
    for (int64_t k = 0; k < at->kernel; k++)
        count += positions_of(at, k * at->dilation - at->padding);
    return count;
}

static double shape_dimension(const struct hlo_shape *shape, int64_t dimension)
{
    return dimensions_product(shape, &dimension, 1);
}

/* Counts only products with elements that exist: positions in the padding and between dilated
 * elements cost nothing. NAN when the numbers contradict each other. */
static double convolution_flops(const struct hlo_instruction *at, struct convolution of)
{
    struct pb_reader numbers = hlo_message(at->bytes, HLO_CONVOLUTION);
    struct pb_reader window = hlo_message(at->bytes, HLO_WINDOW);
    int64_t inputs[RANK_LIMIT], kernels[RANK_LIMIT], outputs[RANK_LIMIT];
    uint32_t input_count, kernel_count, output_count, i = 0;
    if (!hlo_list(numbers, 11, RANK_LIMIT, inputs, &input_count) ||
        !hlo_list(numbers, 6, RANK_LIMIT, kernels, &kernel_count) ||
        !hlo_list(numbers, 12, RANK_LIMIT, outputs, &output_count) || input_count != kernel_count ||
        input_count != output_count)
        return NAN;
    double product = shape_dimension(of.input, hlo_number(numbers, 8)) *
                     shape_dimension(of.output, hlo_number(numbers, 10)) *
                     shape_dimension(of.input, hlo_number(numbers, 7)) /
                     (double)at_least_one(hlo_number(at->bytes, HLO_FEATURE_GROUPS)) /
                     (double)at_least_one(hlo_number(at->bytes, HLO_BATCH_GROUPS));
    struct pb_field field;
    while (pb_next(&window, &field)) {
        if (field.tag != PB_TAG(1, PB_BYTES))
            continue;
        struct pb_reader in = pb_enter(&field);
        if (i == input_count)
            return NAN;
        double kernel = shape_dimension(of.kernel, kernels[i]);
        double input = shape_dimension(of.input, inputs[i]);
        double output = shape_dimension(of.output, outputs[i]);
        if (isnan(kernel + input + output))
            return NAN;
        product *= valid_positions(&(struct window_dimension){
            .stride = at_least_one(hlo_number(in, 2)),
            .padding = hlo_number(in, 3),
            .dilation = at_least_one(hlo_number(in, 5)),
            .base_dilation = at_least_one(hlo_number(in, 6)),
            .kernel = (int64_t)kernel,
            .input = (int64_t)input,
            .output = (int64_t)output,
        });
        i++;
    }
    return i == input_count ? per_product(of.input->type) * product : NAN;
}

/* --- library calls --- */

/* cuDNN calls have the numbers of the forward convolution, whichever of its arrays they compute. */
static double cudnn_convolution(const struct hlo_module *module, const struct hlo_instruction *at,
                                struct text target)
{
    const struct hlo_shape *left = operand_shape(module, at, 0);
    const struct hlo_shape *right = operand_shape(module, at, 1);
    const struct hlo_shape *result = first_shape(&at->shape);
    if (text_ends(target, TEXT("convBackwardInput")))
        return convolution_flops(at, (struct convolution){result, right, left});
    if (text_ends(target, TEXT("convBackwardFilter")))
        return convolution_flops(at, (struct convolution){left, result, right});
    return convolution_flops(at, (struct convolution){left, right, result});
}

/* Attention: the products of queries with keys and of weights with values, all of one size;
 * backward, the first again and a gradient for each of the four factors. */
static double attention_flops(const struct hlo_module *module, const struct hlo_instruction *at,
                              struct text target, struct text config)
{
    struct dot_numbers numbers;
    const struct hlo_shape *left = operand_shape(module, at, 0);
    if (!read_config_numbers(config, "\"bmm1_dot_dimension_numbers\"", &numbers))
        return NAN;
    double shared = dimensions_product(left, numbers.contracting, numbers.contracting_count);
    double batch = dimensions_product(left, numbers.batch, numbers.batch_count);
    double pairs = shape_elements(left) * shape_elements(operand_shape(module, at, 1));
    bool is_backward = memmem(target.data, target.size, "Backward", 8) != NULL;
    return shared > 0 && batch > 0 ? (is_backward ? 5 : 2) * 2 * pairs / shared / batch : NAN;
}

static double call_flops(const struct hlo_module *module, const struct hlo_instruction *at)
{
    struct text target = hlo_text(at->bytes, HLO_CUSTOM_CALL_TARGET);
    struct text config = hlo_text(at->bytes, HLO_BACKEND_CONFIG);
    struct dot_numbers numbers;
    if (text_starts(target, TEXT("__cublas$")))
        return read_config_numbers(config, "\"dot_dimension_numbers\"", &numbers)
                   ? dot_flops(operand_shape(module, at, 0), first_shape(&at->shape), &numbers)
                   : NAN;
    if (text_starts(target, TEXT("__cudnn$conv")))
        return cudnn_convolution(module, at, target);
    if (text_starts(target, TEXT("__cudnn$fmha")))
        return attention_flops(module, at, target, config);
    return NAN;
}

/* Dots may name an algorithm that multiplies in a type other than that of their operands. */
static const char *algorithm_type(const struct hlo_instruction *at)
{
    static const char *const types[] = {NULL,   "f8",   "f8",   "f16",  "f16", "bf16", "bf16",
                                        "bf16", "bf16", "tf32", "tf32", "f32", "f64",  "bf16"};
    int64_t algorithm = hlo_number(hlo_message(at->bytes, HLO_PRECISION), 2);
    return algorithm >= 0 && (uint64_t)algorithm < sizeof types / sizeof *types ? types[algorithm]
                                                                                : NULL;
}

/* Sets *type only if the work is known. A dot may name an algorithm that multiplies in another type
 * than its operands have; that type decides which peak it is compared with. */
double matrix_flops_of(const struct hlo_module *module, const struct hlo_instruction *at,
                       const char **type)
{
    struct dot_numbers numbers;
    const struct hlo_shape *left = operand_shape(module, at, 0);
    double flops = NAN;
    switch (at->opcode) {
    case HLO_OP_DOT:
    case HLO_OP_SCALED_DOT:
        if (read_dot_numbers(hlo_message(at->bytes, HLO_DOT), &numbers))
            flops = dot_flops(left, &at->shape, &numbers);
        break;
    case HLO_OP_RAGGED_DOT:
        if (read_dot_numbers(hlo_message(hlo_message(at->bytes, HLO_RAGGED_DOT), 1), &numbers))
            flops = dot_flops(left, &at->shape, &numbers);
        break;
    case HLO_OP_CONVOLUTION:
        flops = convolution_flops(
            at, (struct convolution){left, operand_shape(module, at, 1), &at->shape});
        break;
    case HLO_OP_CUSTOM_CALL:
        flops = call_flops(module, at);
        break;
    default:
        break;
    }
    if (isnan(flops))
        return NAN;
    const char *other = algorithm_type(at);
    *type = other ? other : hlo_type_name(left->type);
    return flops;
}

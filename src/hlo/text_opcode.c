/*
 * Attributes specific to an opcode as in HLO's text, in its order.
 */
#include "hlo/text.h"

#include <inttypes.h>

static void put_number(struct output *out, const struct hlo_instruction *at, uint32_t field,
                       const char *name)
{
    output_format(out, ", %s=%" PRId64, name, hlo_number(at->bytes, field));
}

static void put_bool(struct output *out, struct pb_reader in, uint32_t field, const char *name)
{
    output_format(out, ", %s=%s", name, hlo_number(in, field) ? "true" : "false");
}

/* ", name={1,2}" of a list in a message. */
static uint32_t put_message_list(struct output *out, struct pb_reader in, uint32_t field,
                                 const char *name, bool also_empty)
{
    hlo_numbers numbers = {0};
    struct pb_field each;
    while (pb_next(&in, &each))
        if (each.tag >> 3 == field)
            hlo_numbers_add(&numbers, &each);
    uint32_t count = (uint32_t)numbers.count;
    if (count > 0 || also_empty) {
        output_format(out, ", %s=", name);
        put_list(out, numbers.items, count);
    }
    array_free(&numbers);
    return count;
}

static const char *enum_name(const char *const *names, size_t count, int64_t value)
{
    return value >= 0 && (uint64_t)value < count ? names[value] : "unknown";
}
#define ENUM_NAME(names, value) enum_name(names, sizeof names / sizeof *names, value)

/* Names are indexed by their numbers in xla_data.proto. Defaults are omitted, as in XLA's text. */
static void put_precision(struct output *out, const struct hlo_instruction *at)
{
    static const char *const precisions[] = {"default", "high", "highest", "packed_nibble"};
    static const char *const algorithms[] = {
        "unset",
        "dot_any_f8_any_f8_f32",
        "dot_any_f8_any_f8_f32_fast_accum",
        "dot_f16_f16_f16",
        "dot_f16_f16_f32",
        "dot_bf16_bf16_bf16",
        "dot_bf16_bf16_f32",
        "dot_bf16_bf16_f32_x3",
        "dot_bf16_bf16_f32_x6",
        "dot_tf32_tf32_f32",
        "dot_tf32_tf32_f32_x3",
        "dot_f32_f32_f32",
        "dot_f64_f64_f64",
        "dot_bf16_bf16_f32_x9",
    };
    struct pb_reader in = hlo_message(at->bytes, HLO_PRECISION);
    int64_t list[8], algorithm = hlo_number(in, 2);
    uint32_t count;
    bool is_set = false;
    if (!hlo_list(in, 1, 8, list, &count))
        return;
    for (uint32_t i = 0; i < count; i++)
        is_set |= list[i] != 0;
    for (uint32_t i = 0; is_set && i < count; i++)
        output_format(out, "%s%s", i ? "," : ", operand_precision={",
                      ENUM_NAME(precisions, list[i]));
    if (is_set)
        output_char(out, '}');
    if (algorithm != 0)
        output_format(out, ", algorithm=%s", ENUM_NAME(algorithms, algorithm));
}

static void put_dot_numbers(struct output *out, struct pb_reader in)
{
    put_message_list(out, in, 3, "lhs_batch_dims", false);
    put_message_list(out, in, 1, "lhs_contracting_dims", true);
    put_message_list(out, in, 4, "rhs_batch_dims", false);
    put_message_list(out, in, 2, "rhs_contracting_dims", true);
}

static void put_dot(struct output *out, const struct hlo_instruction *at)
{
    put_dot_numbers(out, hlo_message(at->bytes, HLO_DOT));
    put_precision(out, at);
}

enum { WINDOW_RANK = 32 };
static const struct {
    const char *name;
    uint32_t field;
} window_parts[] = {{"size", 1},       {"stride", 2},     {"pad", 3},
                    {"lhs_dilate", 6}, {"rhs_dilate", 5}, {"rhs_reversal", 7}};

static int64_t window_number(struct pb_reader dimension, uint32_t field)
{
    int64_t value = hlo_number(dimension, field);
    bool is_factor = field == 2 || field == 5 || field == 6;
    return is_factor && value == 0 ? 1 : value;
}

/* A part with default values is not written. */
static bool is_usual(const struct pb_reader *dimensions, uint32_t rank, uint32_t field)
{
    for (uint32_t i = 0; i < rank; i++) {
        int64_t value = window_number(dimensions[i], field);
        bool is_factor = field == 2 || field == 5 || field == 6;
        if (field == 1 || value != (is_factor ? 1 : 0) ||
            (field == 3 && hlo_number(dimensions[i], 4) != 0))
            return false;
    }
    return true;
}

/* Part by part, not dimension by dimension, as in XLA's text: "size=3x3 stride=2x2". A part that
 * has its default in every dimension is omitted. */
static void put_window(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_WINDOW), dimensions[WINDOW_RANK];
    struct pb_field field;
    uint32_t rank = 0;
    while (rank < WINDOW_RANK && pb_next(&in, &field))
        if (field.tag == PB_TAG(1, PB_BYTES))
            dimensions[rank++] = pb_enter(&field);
    if (rank == 0)
        return;
    output_text(out, ", window={");
    bool is_first = true;
    for (size_t p = 0; p < sizeof window_parts / sizeof *window_parts; p++) {
        uint32_t number = window_parts[p].field;
        if (is_usual(dimensions, rank, number))
            continue;
        output_format(out, "%s%s=", is_first ? "" : " ", window_parts[p].name);
        is_first = false;
        for (uint32_t i = 0; i < rank; i++) {
            output_format(out, "%s%" PRId64, i ? "x" : "", window_number(dimensions[i], number));
            if (number == 3)
                output_format(out, "_%" PRId64, hlo_number(dimensions[i], 4));
        }
    }
    output_char(out, '}');
}

/* "b01f": where the batch, the features and the spatial dimensions are. */
static void put_labels(struct output *out, struct pb_reader in, uint32_t first, char first_label,
                       uint32_t second, char second_label, uint32_t spatial)
{
    int64_t places[WINDOW_RANK], one = hlo_number(in, first), two = hlo_number(in, second);
    uint32_t count;
    if (!hlo_list(in, spatial, WINDOW_RANK - 2, places, &count))
        return;
    for (int64_t i = 0; i < count + 2; i++) {
        if (i == one)
            output_char(out, first_label);
        else if (i == two)
            output_char(out, second_label);
        for (uint32_t k = 0; k < count; k++)
            if (places[k] == i)
                output_format(out, "%u", k);
    }
}

static void put_convolution(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_CONVOLUTION);
    put_window(out, at);
    if (in.at != in.end) {
        output_text(out, ", dim_labels=");
        put_labels(out, in, 7, 'b', 8, 'f', 11);
        output_char(out, '_');
        put_labels(out, in, 3, 'i', 4, 'o', 6);
        output_text(out, "->");
        put_labels(out, in, 9, 'b', 10, 'f', 12);
    }
    put_number_if_set(out, at, HLO_FEATURE_GROUPS, "feature_group_count", 1);
    put_number_if_set(out, at, HLO_BATCH_GROUPS, "batch_group_count", 1);
    put_precision(out, at);
}

static void put_slices(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = at->bytes, looking = in;
    struct pb_field field;
    bool is_first = true, has_strides = false;
    while (pb_next(&looking, &field))
        has_strides |=
            field.tag == PB_TAG(HLO_SLICES, PB_BYTES) && hlo_number(pb_enter(&field), 3) != 1;
    output_text(out, ", slice={");
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(HLO_SLICES, PB_BYTES))
            continue;
        struct pb_reader slice = pb_enter(&field);
        output_format(out, "%s[%" PRId64 ":%" PRId64, is_first ? "" : ", ", hlo_number(slice, 1),
                      hlo_number(slice, 2));
        if (has_strides)
            output_format(out, ":%" PRId64, hlo_number(slice, 3));
        output_char(out, ']');
        is_first = false;
    }
    output_char(out, '}');
}

static void put_padding(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_PADDING);
    struct pb_reader looking = in;
    struct pb_field field;
    bool is_first = true, has_interior = false;
    while (pb_next(&looking, &field))
        has_interior |= field.tag == PB_TAG(1, PB_BYTES) && hlo_number(pb_enter(&field), 3) != 0;
    output_text(out, ", padding=");
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(1, PB_BYTES))
            continue;
        struct pb_reader dimension = pb_enter(&field);
        output_format(out, "%s%" PRId64 "_%" PRId64, is_first ? "" : "x", hlo_number(dimension, 1),
                      hlo_number(dimension, 2));
        if (has_interior)
            output_format(out, "_%" PRId64, hlo_number(dimension, 3));
        is_first = false;
    }
}

static void put_gather(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_GATHER);
    put_message_list(out, in, 1, "offset_dims", true);
    put_message_list(out, in, 2, "collapsed_slice_dims", true);
    put_message_list(out, in, 3, "start_index_map", true);
    put_message_list(out, in, 5, "operand_batching_dims", false);
    put_message_list(out, in, 6, "start_indices_batching_dims", false);
    output_format(out, ", index_vector_dim=%" PRId64, hlo_number(in, 4));
    put_message_list(out, at->bytes, HLO_GATHER_SIZES, "slice_sizes", true);
    put_flag(out, at, HLO_SORTED_INDICES, "indices_are_sorted");
}

static void put_scatter(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_SCATTER);
    put_message_list(out, in, 1, "update_window_dims", true);
    put_message_list(out, in, 2, "inserted_window_dims", true);
    put_message_list(out, in, 3, "scatter_dims_to_operand_dims", true);
    put_message_list(out, in, 5, "input_batching_dims", false);
    put_message_list(out, in, 6, "scatter_indices_batching_dims", false);
    output_format(out, ", index_vector_dim=%" PRId64, hlo_number(in, 4));
    put_flag(out, at, HLO_SORTED_INDICES, "indices_are_sorted");
    put_flag(out, at, HLO_UNIQUE_INDICES, "unique_indices");
}

static void put_aliasing(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = at->bytes;
    struct pb_field field;
    bool is_first = true;
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(HLO_ALIASING, PB_BYTES))
            continue;
        struct pb_reader pair = pb_enter(&field);
        output_text(out, is_first ? ", output_to_operand_aliasing={{" : ", {");
        put_plain_numbers(out, pair, 1);
        output_format(out, "}: (%" PRId64 ", {", hlo_number(pair, 2));
        put_plain_numbers(out, pair, 3);
        output_text(out, "})");
        is_first = false;
    }
    if (!is_first)
        output_char(out, '}');
}

static void put_operand_layouts(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = at->bytes;
    struct pb_field field;
    struct arena memory = {0};
    bool is_first = true;
    if (hlo_number(at->bytes, HLO_CONSTRAIN_LAYOUT) == 0)
        return;
    output_text(out, ", operand_layout_constraints={");
    while (pb_next(&in, &field)) {
        struct hlo_shape shape;
        if (field.tag != PB_TAG(HLO_OPERAND_SHAPES, PB_BYTES) ||
            !hlo_shape_read(&memory, pb_enter(&field), &shape))
            continue;
        output_text(out, is_first ? "" : ", ");
        hlo_put_shape(out, &shape, true);
        is_first = false;
    }
    output_char(out, '}');
    arena_free(&memory);
}

static void put_custom_call(struct output *out, const struct hlo_instruction *at)
{
    static const char *const schedules[] = {"SCHEDULE_NONE", "SCHEDULE_LATEST",
                                            "SCHEDULE_EARLIEST"};
    static const char *const versions[] = {
        "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
    int64_t schedule = hlo_number(at->bytes, HLO_SCHEDULE);
    int64_t version = hlo_number(at->bytes, HLO_API_VERSION);
    put_convolution(out, at);
    output_text(out, ", custom_call_target=\"");
    put_escaped(out, hlo_text(at->bytes, HLO_CUSTOM_CALL_TARGET));
    output_char(out, '"');
    put_operand_layouts(out, at);
    put_flag(out, at, HLO_SIDE_EFFECT, "custom_call_has_side_effect");
    put_aliasing(out, at);
    if (schedule != 0)
        output_format(out, ", schedule=%s", ENUM_NAME(schedules, schedule));
    if (version > 1)
        output_format(out, ", api_version=%s", ENUM_NAME(versions, version));
}

static void put_fft(struct output *out, const struct hlo_instruction *at)
{
    static const char *const types[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
    output_format(out, ", fft_type=%s", ENUM_NAME(types, hlo_number(at->bytes, HLO_FFT_TYPE)));
    put_message_list(out, at->bytes, HLO_FFT_LENGTH, "fft_length", true);
}

static void put_solve(struct output *out, const struct hlo_instruction *at)
{
    static const char *const transposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                             "ADJOINT"};
    static const char *const names[] = {"left_side", "lower", "unit_diagonal"};
    struct pb_reader in = hlo_message(at->bytes, HLO_TRIANGULAR_SOLVE);
    for (uint32_t i = 0; i < 3; i++)
        if (hlo_number(in, i + 1))
            output_format(out, ", %s=true", names[i]);
    output_format(out, ", transpose_a=%s", ENUM_NAME(transposes, hlo_number(in, 4)));
}

static void put_compare(struct output *out, const struct hlo_instruction *at)
{
    const struct text type = hlo_text(at->bytes, HLO_COMPARISON_TYPE);
    output_text(out, ", direction=");
    put_text(out, hlo_text(at->bytes, HLO_COMPARISON));
    if (text_equal(type, TEXT("TOTALORDER")))
        output_text(out, ", type=TOTALORDER");
}

static void put_batch_norm(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = at->bytes;
    struct pb_field field;
    float epsilon = 0;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(HLO_EPSILON, PB_FIXED32))
            memcpy(&epsilon, &field.value, sizeof epsilon);
    output_format(out, ", epsilon=%g", (double)epsilon);
    put_number(out, at, HLO_FEATURE_INDEX, "feature_index");
}

static void put_rng(struct output *out, const struct hlo_instruction *at)
{
    static const char *const distributions[] = {"rng_invalid", "rng_uniform", "rng_normal"};
    static const char *const algorithms[] = {"rng_default", "rng_three_fry", "rng_philox"};
    if (at->opcode == HLO_OP_RNG)
        output_format(out, ", distribution=%s",
                      ENUM_NAME(distributions, hlo_number(at->bytes, HLO_DISTRIBUTION)));
    else if (at->opcode == HLO_OP_RNG_BIT_GENERATOR)
        output_format(out, ", algorithm=%s",
                      ENUM_NAME(algorithms, hlo_number(at->bytes, HLO_RNG_ALGORITHM)));
    else
        put_number(out, at, HLO_DELTA, "delta");
}

/* Long but flat: one case per opcode, with the order of its attributes in XLA's text. */
void put_opcode_attributes(struct output *out, const struct hlo_instruction *at)
{
    switch (at->opcode) {
    case HLO_OP_BROADCAST:
    case HLO_OP_CONCATENATE:
    case HLO_OP_REDUCE:
    case HLO_OP_TRANSPOSE:
    case HLO_OP_REVERSE:
    case HLO_OP_MAP:
    case HLO_OP_GET_DIMENSION_SIZE:
    case HLO_OP_SET_DIMENSION_SIZE:
        put_dimensions(out, at);
        break;
    case HLO_OP_SORT:
        put_dimensions(out, at);
        put_flag(out, at, HLO_STABLE, "is_stable");
        break;
    case HLO_OP_IOTA:
        if (at->dimension_count > 0)
            output_format(out, ", iota_dimension=%" PRId64, at->dimensions[0]);
        break;
    case HLO_OP_SLICE:
        put_slices(out, at);
        break;
    case HLO_OP_DYNAMIC_SLICE:
        put_message_list(out, at->bytes, HLO_DYNAMIC_SIZES, "dynamic_slice_sizes", true);
        break;
    case HLO_OP_PAD:
        put_padding(out, at);
        break;
    case HLO_OP_COMPARE:
        put_compare(out, at);
        break;
    case HLO_OP_DOT:
    case HLO_OP_SCALED_DOT:
        put_dot(out, at);
        break;
    case HLO_OP_RAGGED_DOT:
        put_dot_numbers(out, hlo_message(hlo_message(at->bytes, HLO_RAGGED_DOT), 1));
        put_message_list(out, hlo_message(at->bytes, HLO_RAGGED_DOT), 2, "lhs_ragged_dims", true);
        put_message_list(out, hlo_message(at->bytes, HLO_RAGGED_DOT), 3, "rhs_group_dims", false);
        put_precision(out, at);
        break;
    case HLO_OP_CONVOLUTION:
        put_convolution(out, at);
        break;
    case HLO_OP_REDUCE_WINDOW:
    case HLO_OP_SELECT_AND_SCATTER:
        put_window(out, at);
        break;
    case HLO_OP_GATHER:
        put_gather(out, at);
        break;
    case HLO_OP_SCATTER:
        put_scatter(out, at);
        break;
    case HLO_OP_GET_TUPLE_ELEMENT:
        output_format(out, ", index=%" PRId64, at->tuple_index);
        break;
    case HLO_OP_FUSION:
        output_text(out, ", kind=");
        put_text(out, hlo_text(at->bytes, HLO_FUSION_KIND));
        put_aliasing(out, at);
        break;
    case HLO_OP_CUSTOM_CALL:
        put_custom_call(out, at);
        break;
    case HLO_OP_RNG:
    case HLO_OP_RNG_BIT_GENERATOR:
    case HLO_OP_RNG_GET_AND_UPDATE_STATE:
        put_rng(out, at);
        break;
    case HLO_OP_FFT:
        put_fft(out, at);
        break;
    case HLO_OP_CHOLESKY:
        if (hlo_number(hlo_message(at->bytes, HLO_CHOLESKY), 1))
            put_bool(out, hlo_message(at->bytes, HLO_CHOLESKY), 1, "lower");
        break;
    case HLO_OP_TRIANGULAR_SOLVE:
        put_solve(out, at);
        break;
    case HLO_OP_BATCH_NORM_TRAINING:
    case HLO_OP_BATCH_NORM_INFERENCE:
    case HLO_OP_BATCH_NORM_GRAD:
        put_batch_norm(out, at);
        break;
    case HLO_OP_REDUCE_PRECISION:
        put_number(out, at, HLO_EXPONENT_BITS, "exponent_bits");
        put_number(out, at, HLO_MANTISSA_BITS, "mantissa_bits");
        break;
    case HLO_OP_SEND:
    case HLO_OP_SEND_DONE:
    case HLO_OP_RECV:
    case HLO_OP_RECV_DONE:
        put_number_if_set(out, at, HLO_CHANNEL, "channel_id", 0);
        put_flag(out, at, HLO_HOST_TRANSFER, "is_host_transfer");
        break;
    case HLO_OP_TOPK:
        put_number(out, at, HLO_K, "k");
        put_bool(out, at->bytes, HLO_LARGEST, "largest");
        break;
    default:
        if (hlo_kind_of(at->opcode) == HLO_COLLECTIVE)
            put_collective(out, at);
        break;
    }
}

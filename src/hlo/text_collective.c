/*
 * Attributes of collectives as in HLO's text: groups of devices, pairs of them, channels.
 */
#include "hlo/text.h"

#include <inttypes.h>

/* "[4,2]<=[2,4]T(1,0)": groups of consecutive numbers, reshaped and transposed. */
static void put_iota_groups(struct output *out, struct pb_reader in)
{
    hlo_numbers order = {0};
    struct pb_field field;
    struct pb_reader at = in;
    output_format(out, "[%" PRId64 ",%" PRId64 "]<=[", hlo_number(in, 1), hlo_number(in, 2));
    put_plain_numbers(out, in, 3);
    output_char(out, ']');
    while (pb_next(&at, &field))
        if (field.tag >> 3 == 4)
            hlo_numbers_add(&order, &field);
    bool is_moved = false;
    for (size_t i = 0; i < order.count; i++)
        is_moved |= order.items[i] != (int64_t)i;
    if (is_moved) {
        output_text(out, "T(");
        put_plain_numbers(out, in, 4);
        output_char(out, ')');
    }
    array_free(&order);
}

static void put_groups(struct output *out, struct pb_reader in, uint32_t number)
{
    struct pb_field field;
    bool is_first = true;
    output_char(out, '{');
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(number, PB_BYTES))
            continue;
        output_text(out, is_first ? "{" : ",{");
        put_plain_numbers(out, pb_enter(&field), 1);
        output_char(out, '}');
        is_first = false;
    }
    output_char(out, '}');
}

static void put_devices(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_DEVICES), iota = hlo_message(in, 2);
    put_number_if_set(out, at, HLO_CHANNEL, "channel_id", 0);
    output_text(out, ", replica_groups=");
    if (iota.at != iota.end)
        put_iota_groups(out, iota);
    else if (in.at != in.end)
        put_groups(out, in, 1);
    else
        put_groups(out, at->bytes, HLO_REPLICA_GROUPS);
    put_flag(out, at, HLO_CONSTRAIN_LAYOUT, "constrain_layout");
}

static void put_pairs(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = at->bytes;
    struct pb_field field;
    bool is_first = true;
    put_number_if_set(out, at, HLO_CHANNEL, "channel_id", 0);
    output_text(out, ", source_target_pairs={");
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(HLO_PAIRS, PB_BYTES))
            continue;
        output_format(out, "%s{%" PRId64 ",%" PRId64 "}", is_first ? "" : ",",
                      hlo_number(pb_enter(&field), 1), hlo_number(pb_enter(&field), 2));
        is_first = false;
    }
    output_char(out, '}');
}

/* The order of attributes differs by opcode, as in XLA's text. */
void put_collective(struct output *out, const struct hlo_instruction *at)
{
    switch (at->opcode) {
    case HLO_OP_COLLECTIVE_PERMUTE:
    case HLO_OP_COLLECTIVE_PERMUTE_START:
        put_pairs(out, at);
        return;
    case HLO_OP_ALL_GATHER:
    case HLO_OP_ALL_GATHER_START:
        put_devices(out, at);
        put_dimensions(out, at);
        put_flag(out, at, HLO_GLOBAL_DEVICES, "use_global_device_ids");
        return;
    case HLO_OP_REDUCE_SCATTER:
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_ALL_REDUCE_START:
        put_devices(out, at);
        put_flag(out, at, HLO_GLOBAL_DEVICES, "use_global_device_ids");
        if (at->opcode == HLO_OP_REDUCE_SCATTER)
            put_dimensions(out, at);
        return;
    case HLO_OP_ALL_TO_ALL:
        put_devices(out, at);
        if (at->dimension_count > 0)
            put_dimensions(out, at);
        return;
    case HLO_OP_COLLECTIVE_BROADCAST:
    case HLO_OP_RAGGED_ALL_TO_ALL:
        put_devices(out, at);
        return;
    default: /* the -done halves of asynchronous collectives */
        return;
    }
}

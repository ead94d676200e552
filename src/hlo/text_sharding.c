/*
 * Shardings as in HLO's text: which device has which part of an array.
 */
#include "hlo/text.h"

#include <inttypes.h>

enum {
    SHARDING_TYPE = 1,
    SHARDING_TILES = 3,
    SHARDING_DEVICES = 4,
    SHARDING_TUPLE = PB_TAG(5, PB_BYTES),
    SHARDING_REPLICATE_LAST = 6,
    SHARDING_LAST_DIMS = 8,
    SHARDING_IOTA_SHAPE = 9,
    SHARDING_IOTA_ORDER = 10,
    SHARDING_NAMED = 14,

    NAMED_MESH = 2,
    NAMED_DIMENSIONS = PB_TAG(3, PB_BYTES),
    LIST_ITEMS = PB_TAG(1, PB_BYTES), /* axes of a mesh, and those that split a dimension */
};

enum { REPLICATED, MAXIMAL, TUPLE, OTHER, MANUAL, UNKNOWN, UNREDUCED };

static bool has_field(struct pb_reader in, uint32_t number)
{
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag >> 3 == number)
            return true;
    return false;
}

static void put_last_dims(struct output *out, struct pb_reader in)
{
    static const char *const names[] = {"replicated", "maximal", "tuple",    "other",
                                        "manual",     "unknown", "unreduced"};
    int64_t types[8];
    uint32_t count;
    if (!hlo_list(in, SHARDING_LAST_DIMS, 8, types, &count) || count == 0)
        return;
    output_text(out, " last_tile_dims={");
    for (uint32_t i = 0; i < count; i++)
        output_format(out, "%s%s", i ? ", " : "",
                      types[i] >= 0 && types[i] <= UNREDUCED ? names[types[i]] : "unknown");
    output_char(out, '}');
}

/* Devices are listed, or generated from a transposed iota when the file has that form; the order is
 * omitted when nothing moves. */
static void put_tiles(struct output *out, struct pb_reader in)
{
    output_text(out, "devices=[");
    put_plain_numbers(out, in, SHARDING_TILES);
    output_char(out, ']');
    if (has_field(in, SHARDING_IOTA_SHAPE)) {
        int64_t order[32];
        uint32_t count;
        bool is_moved = false;
        output_text(out, "<=[");
        put_plain_numbers(out, in, SHARDING_IOTA_SHAPE);
        output_char(out, ']');
        if (hlo_list(in, SHARDING_IOTA_ORDER, 32, order, &count))
            for (uint32_t i = 0; i < count; i++)
                is_moved |= order[i] != i;
        if (is_moved) {
            output_text(out, "T(");
            put_plain_numbers(out, in, SHARDING_IOTA_ORDER);
            output_char(out, ')');
        }
    } else {
        put_plain_numbers(out, in, SHARDING_DEVICES);
    }
    if (hlo_number(in, SHARDING_REPLICATE_LAST))
        output_text(out, " last_tile_dim_replicate");
    put_last_dims(out, in);
}

/* The axis of a mesh with that number. */
static struct pb_reader axis_of(struct pb_reader mesh, int64_t number)
{
    struct pb_field field;
    while (pb_next(&mesh, &field))
        if (field.tag == LIST_ITEMS && number-- == 0)
            return pb_enter(&field);
    return (struct pb_reader){0};
}

static void put_axes(struct output *out, struct pb_reader mesh, struct pb_reader in)
{
    struct pb_field field;
    bool is_closed = hlo_number(in, 2) != 0, is_first = true;
    output_char(out, '{');
    while (pb_next(&in, &field)) {
        if (field.tag != LIST_ITEMS)
            continue;
        output_text(out, is_first ? "'" : ", '");
        put_text(out, hlo_text(axis_of(mesh, hlo_number(pb_enter(&field), 1)), 1));
        output_char(out, '\'');
        is_first = false;
    }
    if (!is_closed)
        output_text(out, is_first ? "?" : ", ?");
    output_char(out, '}');
}

/* "mesh['x'=2,'y'=4], [{'x'}, {}]": by the names of a mesh's axes. */
static void put_named(struct output *out, struct pb_reader in)
{
    struct pb_reader mesh = hlo_message(in, NAMED_MESH), axes = mesh;
    struct pb_field field;
    bool is_first = true;
    output_text(out, "mesh[");
    while (pb_next(&axes, &field)) {
        if (field.tag != LIST_ITEMS)
            continue;
        output_text(out, is_first ? "'" : ",'");
        put_text(out, hlo_text(pb_enter(&field), 1));
        output_format(out, "'=%" PRId64, hlo_number(pb_enter(&field), 2));
        is_first = false;
    }
    output_text(out, "], [");
    is_first = true;
    while (pb_next(&in, &field)) {
        if (field.tag != NAMED_DIMENSIONS)
            continue;
        output_text(out, is_first ? "" : ", ");
        put_axes(out, mesh, pb_enter(&field));
        is_first = false;
    }
    output_char(out, ']');
}

/* A sharding by named axes takes precedence over the type. */
static void put_one(struct output *out, struct pb_reader in)
{
    output_char(out, '{');
    if (has_field(in, SHARDING_NAMED)) {
        put_named(out, hlo_message(in, SHARDING_NAMED));
        output_char(out, '}');
        return;
    }
    switch (hlo_number(in, SHARDING_TYPE)) {
    case REPLICATED:
        output_text(out, "replicated");
        break;
    case MAXIMAL:
        output_text(out, "maximal device=");
        put_plain_numbers(out, in, SHARDING_DEVICES);
        break;
    case OTHER:
        put_tiles(out, in);
        break;
    case MANUAL:
        output_text(out, "manual");
        break;
    case UNREDUCED:
        output_text(out, "unreduced");
        break;
    default:
        output_text(out, "unknown");
        break;
    }
    output_char(out, '}');
}

void put_sharding(struct output *out, struct pb_reader in)
{
    if (hlo_number(in, SHARDING_TYPE) != TUPLE) {
        put_one(out, in);
        return;
    }
    struct pb_field field;
    bool is_first = true;
    output_char(out, '{');
    for (uint32_t i = 0; pb_next(&in, &field);) {
        if (field.tag != SHARDING_TUPLE)
            continue;
        if (!is_first)
            output_text(out, ", ");
        if (i > 0 && i % 5 == 0)
            output_format(out, "/*index=%u*/", i);
        put_one(out, pb_enter(&field));
        is_first = false;
        i++;
    }
    output_char(out, '}');
}

/*
 * A tile and its operands: where a box lies, loading it, and letting go of it.
 */
#include "neuron/compiler/tiles.h"

int64_t place_at(const struct tiles *tiles, const struct place *place, const struct box *box)
{
    int64_t offset = place->offset;
    for (uint32_t i = 0; i < tiles->rank; i++)
        offset += box->low[i] * place->step[i];
    return offset;
}

void walk_box(const struct tiles *tiles, const struct place *place, const struct box *box,
              uint32_t first, uint32_t end, struct transfer_walk *walk)
{
    (void)tiles;
    for (uint32_t i = first; i < end; i++)
        walk_add(walk, box->count[i], place->step[i]);
}

struct operand tile_operand(const struct tile *tile, const struct box *box, bool is_row)
{
    struct operand operand = plain_operand(tile->buffer, tile->dtype, box->partitions, 1);
    operand.offset += tile->first * dtype_bytes(tile->dtype);
    if (is_row) {
        operand.size[3] = box->free;
        operand.step[3] = (int32_t)tile->free_step;
        return operand;
    }
    operand.size[2] = box->free;
    operand.step[2] = box->free > 1 ? (int32_t)tile->free_step : 0;
    operand.size[3] = box->inner;
    operand.step[3] = box->inner > 1 ? (int32_t)tile->inner_step : 0;
    return operand;
}

enum engine less_busy(const struct lower *lower)
{
    const uint64_t *work = lower->emit.work;
    return work[ENGINE_SCALAR] < work[ENGINE_VECTOR] ? ENGINE_SCALAR : ENGINE_VECTOR;
}

struct storage *place_storage(struct tiles *tiles, const struct place *place)
{
    return place->base == IR_NONE ? place->storage : storage_of(tiles->lower, place->base);
}

/* Dimensions along which the value does not vary are not loaded: a step of 0 repeats one element.
 * Elements still in SBUF from an earlier group are used from there. */
static struct tile load_box(struct tiles *tiles, const struct load *load, const struct box *box,
                            int64_t offset)
{
    const struct place *place = &load->place;
    bool free_varies = false, inner_varies = false;
    for (uint32_t i = tiles->first_free; i < tiles->rank; i++)
        if (place->step[i] != 0 && box->count[i] > 1)
            *(i < tiles->first_inner ? &free_varies : &inner_varies) = true;
    uint32_t inner = inner_varies ? box->inner : 1, free = free_varies ? box->free : 1;
    struct tile tile = {
        .dtype = place->dtype,
        .free_step = free_varies ? inner : 0,
        .inner_step = inner_varies ? 1 : 0,
    };
    struct transfer transfer = {
        .dtype = place->dtype,
        .buffer_dtype = place->dtype,
        .offset = offset,
    };
    walk_box(tiles, place, box, tiles->first_part, tiles->first_free, &transfer.walk);
    transfer.walk.parts = transfer.walk.rank;
    if (free_varies)
        walk_box(tiles, place, box, tiles->first_free, tiles->first_inner, &transfer.walk);
    if (inner_varies)
        walk_box(tiles, place, box, tiles->first_inner, tiles->rank, &transfer.walk);
    tile.buffer = resident_find(tiles->lower, place->base, offset, &transfer.walk, &tile.first);
    if (tile.buffer)
        return tile;
    tile.buffer =
        buffer_new(&tiles->lower->emit, MEMORY_SBUF, inner * free * dtype_bytes(place->dtype));
    transfer.storage = place_storage(tiles, place);
    transfer.buffer = tile.buffer;
    transfer_load(tiles->lower, &transfer);
    return tile;
}

/* A value that several boxes load alike is kept from box to box: `kept` holds the buffer for the
 * next one, `tile` for this one. */
static const struct tile *load_tile(struct tiles *tiles, struct load *load, const struct box *box)
{
    if (load->tile.buffer)
        return &load->tile;
    int64_t offset = place_at(tiles, &load->place, box);
    bool is_kept = load->kept.buffer && load->kept_offset == offset &&
                   load->kept_partitions == box->partitions && load->kept_free == box->free &&
                   load->kept_inner == box->inner;
    if (!is_kept) {
        if (load->kept.buffer)
            buffer_release(&tiles->lower->emit, load->kept.buffer);
        load->kept = (struct tile){0};
        load->tile = load_box(tiles, load, box, offset);
        if (!load->is_repeated)
            return &load->tile;
        load->kept = load->tile;
        load->kept_offset = offset;
        load->kept_partitions = box->partitions;
        load->kept_free = box->free;
        load->kept_inner = box->inner;
    }
    load->tile = load->kept;
    buffer_hold(load->kept.buffer);
    return &load->tile;
}

const struct tile *ref_tile(struct tiles *tiles, struct ref ref, const struct box *box)
{
    if (ref.kind == REF_LOAD)
        return load_tile(tiles, &tiles->loads.items[ref.index], box);
    return &tiles->members.items[ref.index].tile;
}

void tile_drop(struct lower *lower, struct tile *tile)
{
    if (tile->buffer)
        buffer_release(&lower->emit, tile->buffer);
    tile->buffer = NULL;
}

void ref_done(struct tiles *tiles, struct ref ref)
{
    if (ref.kind == REF_LOAD) {
        struct load *load = &tiles->loads.items[ref.index];
        if (--load->left == 0)
            tile_drop(tiles->lower, &load->tile);
    } else if (ref.kind == REF_MEMBER) {
        struct tile_member *member = &tiles->members.items[ref.index];
        if (--member->left == 0)
            tile_drop(tiles->lower, &member->tile);
    }
}

/*
 * The domain of a group: the order of its dimensions, which of them are merged, the role of each,
 * and how much of each a box covers.
 */
#include "neuron/compiler/tiles.h"

enum { TILE_BYTES = 8 << 10, SBUF_SHARE = 2, SMALL_ROW = 64 };

/* Calls visit for all walks over the domain. */
typedef void place_visitor(struct place *place, void *context);
static void each_place(struct tiles *tiles, place_visitor *visit, void *context)
{
    for (size_t i = 0; i < tiles->loads.count; i++)
        visit(&tiles->loads.items[i].place, context);
    for (size_t i = 0; i < tiles->members.count; i++)
        visit(&tiles->members.items[i].place, context);
    for (uint32_t i = 0; i < tiles->side_count; i++)
        visit(&tiles->sides[i], context);
}

struct order {
    uint32_t rank, from[DOMAIN_RANK];
};
static void reorder(struct place *place, void *context)
{
    const struct order *order = context;
    int64_t step[DOMAIN_RANK];
    for (uint32_t i = 0; i < order->rank; i++)
        step[i] = place->step[order->from[i]];
    memcpy(place->step, step, order->rank * sizeof *step);
}

/* Dimensions that are reduced go last. */
void domain_order(struct tiles *tiles)
{
    const struct fused_group *group = tiles->group;
    struct order order = {0};
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < group->rank; i++)
            if ((group->mask >> i & 1) == pass)
                order.from[order.rank++] = i;
        if (pass == 0)
            tiles->first_inner = order.rank;
    }
    for (uint32_t i = 0; i < order.rank; i++)
        tiles->size[i] = group->size[order.from[i]];
    tiles->rank = order.rank;
    each_place(tiles, reorder, &order);
}

struct merge {
    uint32_t at; /* this dimension and the next */
    uint32_t rank, *size;
    bool fits;
};
static void can_merge(struct place *place, void *context)
{
    struct merge *merge = context;
    uint32_t i = merge->at;
    merge->fits &= place->step[i] == place->step[i + 1] * merge->size[i + 1];
}
static void merge_steps(struct place *place, void *context)
{
    const struct merge *merge = context;
    memmove(&place->step[merge->at], &place->step[merge->at + 1],
            (merge->rank - merge->at - 1) * sizeof *place->step);
}

/* Merges adjacent dimensions of one role that form one walk for every value. */
void domain_merge(struct tiles *tiles)
{
    for (uint32_t i = 0; i + 1 < tiles->rank;) {
        struct merge merge = {.at = i, .rank = tiles->rank, .size = tiles->size, .fits = true};
        merge.fits = i + 1 != tiles->first_part && i + 1 != tiles->first_inner &&
                     (uint64_t)tiles->size[i] * tiles->size[i + 1] <= UINT32_MAX;
        each_place(tiles, can_merge, &merge);
        if (!merge.fits) {
            i++;
            continue;
        }
        each_place(tiles, merge_steps, &merge);
        tiles->size[i + 1] *= tiles->size[i];
        memmove(&tiles->size[i], &tiles->size[i + 1], (tiles->rank - i - 1) * sizeof *tiles->size);
        tiles->rank--;
        tiles->first_part -= i + 1 < tiles->first_part;
        tiles->first_inner -= i + 1 < tiles->first_inner;
    }
}

static uint64_t product(const struct tiles *tiles, uint32_t first, uint32_t end)
{
    uint64_t count = 1;
    for (uint32_t i = first; i < end; i++)
        count *= tiles->size[i];
    return count;
}

/* Elements of a partition in one buffer. */
static uint32_t element_limit(const struct tiles *tiles)
{
    uint32_t widest = 1;
    for (size_t i = 0; i < tiles->loads.count; i++) {
        uint32_t bytes = dtype_bytes(tiles->loads.items[i].place.dtype);
        widest = bytes > widest ? bytes : widest;
    }
    for (size_t i = 0; i < tiles->members.count; i++) {
        uint32_t bytes = dtype_bytes(tiles->members.items[i].tile.dtype);
        widest = bytes > widest ? bytes : widest;
    }
    size_t buffers = tiles->loads.count + tiles->members.count + 4;
    size_t bytes = tiles->lower->emit.hardware->sbuf_bytes / SBUF_SHARE / buffers;
    bytes = bytes > TILE_BYTES ? TILE_BYTES : bytes;
    return (uint32_t)(bytes / widest);
}

/* The innermost dimensions whole, the next as far as it fits, the others one element at a time. */
static uint32_t chunk_dimensions(struct tiles *tiles, uint32_t first, uint32_t end, uint64_t limit)
{
    uint64_t count = 1;
    for (uint32_t i = end; i-- > first;) {
        uint64_t most = limit / count;
        tiles->chunk[i] = most == 0 ? 1 : most < tiles->size[i] ? (uint32_t)most : tiles->size[i];
        count *= tiles->chunk[i];
        if (tiles->chunk[i] < tiles->size[i])
            limit = count;
    }
    return (uint32_t)count;
}

/* Chooses roles and chunks. Dot and gather have their partitions and inner dimensions fixed. */
void domain_chunk(struct tiles *tiles)
{
    uint32_t limit = element_limit(tiles), lowest = tiles->first_part;
    bool has_head = tiles->group->head != IR_NONE;
    bool is_whole = tiles->group->mask && !tiles->group->has_large_rows;
    if (tiles->dot)
        limit = limit < MOVING_MAX ? limit : MOVING_MAX;
    uint32_t inner =
        chunk_dimensions(tiles, tiles->first_inner, tiles->rank, is_whole ? UINT32_MAX : limit);
    tiles->first_free = tiles->first_inner;
    for (uint32_t i = tiles->first_inner; !has_head && i-- > 0;) {
        if ((uint64_t)inner * tiles->size[i] > limit || product(tiles, 0, i) < PARTITIONS)
            break;
        inner *= tiles->size[i];
        tiles->chunk[i] = tiles->size[i];
        tiles->first_free = i;
    }
    uint32_t parts = 1, first = tiles->first_free;
    while (first > lowest && parts < PARTITIONS) {
        uint32_t most = PARTITIONS / parts, size = tiles->size[first - 1];
        tiles->chunk[--first] = most < size ? most : size;
        parts *= tiles->chunk[first];
        if (tiles->chunk[first] < size)
            break;
    }
    tiles->first_part = first;
    for (uint32_t i = 0; i < first; i++)
        tiles->chunk[i] = 1;
}

struct split {
    uint32_t last, inner; /* dimension, and the inner size it gets */
};
static void split_steps(struct place *place, void *context)
{
    const struct split *split = context;
    place->step[split->last + 1] = place->step[split->last];
    place->step[split->last] *= split->inner;
}

bool domain_split(struct tiles *tiles, uint64_t *rest)
{
    tiles->first_inner = tiles->rank > 0 ? tiles->rank - 1 : 0;
    if (tiles->rank == 0)
        return false;
    uint32_t last = tiles->rank - 1, length = tiles->size[last];
    uint64_t rows = product(tiles, 0, last);
    if (rows * 2 > PARTITIONS || length < SMALL_ROW)
        return false;
    uint64_t pieces = PARTITIONS / rows, limit = element_limit(tiles);
    uint64_t inner = (length + pieces - 1) / pieces;
    inner = inner > limit ? limit : inner;
    struct split split = {last, (uint32_t)inner};
    each_place(tiles, split_steps, &split);
    tiles->size[last] = (uint32_t)(length / inner);
    tiles->size[last + 1] = (uint32_t)inner;
    tiles->rank++;
    tiles->first_inner = last + 1;
    *rest = length % inner;
    return true;
}

static void skip_steps(struct place *place, void *context)
{
    const struct tiles *tiles = context;
    uint32_t last = tiles->rank - 2;
    place->offset += tiles->size[last] * place->step[last];
    place->step[last] = place->step[last + 1];
}

void domain_take_rest(struct tiles *tiles, uint64_t rest)
{
    each_place(tiles, skip_steps, tiles);
    tiles->rank--;
    tiles->size[tiles->rank - 1] = (uint32_t)rest;
    tiles->first_inner = tiles->rank - 1;
    tiles->first_part = 0;
}

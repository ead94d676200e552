/*
 * Tiles: which box of the domain is next, what it loads, what it stores.
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
              uint32_t first, uint32_t end, struct walk *walk)
{
    (void)tiles;
    for (uint32_t i = first; i < end; i++)
        walk_add(walk, box->count[i], place->step[i]);
}

struct operand plain_operand(const struct buffer *buffer, enum dtype dtype, uint32_t partitions,
                             uint32_t elements)
{
    return (struct operand){
        .memory = buffer->memory,
        .dtype = (uint8_t)dtype,
        .partitions = (uint8_t)partitions,
        .offset = buffer->offset,
        .step = {0, 0, 0, 1},
        .size = {1, 1, 1, elements},
    };
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

/* An access over the whole domain, or over its rows, as a walk over the domain. */
static struct place place_of(struct tiles *tiles, const struct access *access, bool over_rows)
{
    struct access walk = access_squeezed(access);
    const struct group *group = tiles->group;
    struct place place = {
        .base = access->base,
        .dtype = ir_type_of(tiles->lower->ir, access->base)->dtype,
        .offset = access->offset,
    };
    for (uint32_t i = 0, at = 0; i < group->rank; i++)
        if (!over_rows || !(group->mask >> i & 1))
            place.step[i] = walk.step[at++];
    return place;
}

static uint32_t add_load(struct tiles *tiles, const struct access *access, bool over_rows)
{
    struct place place = place_of(tiles, access, over_rows);
    for (uint32_t i = 0; i < tiles->loads.count; i++) {
        struct load *load = &tiles->loads.items[i];
        if (load->place.base == access->base && load->place.offset == place.offset &&
            memcmp(load->place.step, place.step, sizeof place.step) == 0) {
            load->uses++;
            return i;
        }
    }
    *array_push(&tiles->loads) = (struct load){.place = place, .uses = 1};
    return (uint32_t)tiles->loads.count - 1;
}

static struct ref make_ref(struct tiles *tiles, uint32_t arg, bool over_rows)
{
    const struct lower *lower = tiles->lower;
    const struct access *access = &lower->accesses[arg];
    const struct ir_node *base = &lower->ir->nodes.items[access->base];
    if (base->kind == IR_CONSTANT && base->is_splat)
        return (struct ref){REF_NUMBER, access->base};
    for (uint32_t i = 0; i < tiles->members.count; i++)
        if (tiles->members.items[i].node == access->base) {
            tiles->members.items[i].uses++;
            return (struct ref){REF_MEMBER, i};
        }
    return (struct ref){REF_LOAD, add_load(tiles, access, over_rows)};
}

static void add_member(struct tiles *tiles, uint32_t index)
{
    struct lower *lower = tiles->lower;
    const struct ir_node *node = &lower->ir->nodes.items[index];
    struct member member = {.node = index, .is_row = lower->is_row[index]};
    bool takes_rows = member.is_row && node->kind != IR_REDUCE;
    if (index != tiles->group->head)
        for (uint32_t i = 0; i < node->arg_count; i++)
            member.refs[i] = make_ref(tiles, node->args[i], takes_rows);
    member.is_stored = lower->last_group[index] != IR_NONE;
    struct access dense = access_dense(index, &node->type);
    member.place = place_of(tiles, &dense, member.is_row);
    member.tile.dtype = node->type.dtype;
    *array_push(&tiles->members) = member;
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

static void tile_drop(struct lower *lower, struct tile *tile)
{
    if (tile->buffer)
        buffer_release(&lower->emit, tile->buffer);
    tile->buffer = NULL;
}

static void ref_done(struct tiles *tiles, struct ref ref)
{
    if (ref.kind == REF_LOAD) {
        struct load *load = &tiles->loads.items[ref.index];
        if (--load->left == 0)
            tile_drop(tiles->lower, &load->tile);
    } else if (ref.kind == REF_MEMBER) {
        struct member *member = &tiles->members.items[ref.index];
        if (--member->left == 0)
            tile_drop(tiles->lower, &member->tile);
    }
}

static void store_member(struct tiles *tiles, const struct member *member, const struct box *box)
{
    struct transfer transfer = {
        .dtype = member->tile.dtype,
        .buffer_dtype = member->tile.dtype,
        .offset = place_at(tiles, &member->place, box),
        .buffer = member->tile.buffer,
    };
    walk_box(tiles, &member->place, box, tiles->first_part, tiles->first_free, &transfer.walk);
    transfer.walk.parts = transfer.walk.rank;
    walk_box(tiles, &member->place, box, tiles->first_free,
             member->is_row ? tiles->first_inner : tiles->rank, &transfer.walk);
    resident_keep(tiles->lower, member->node, &transfer);
    if (tiles->lower->is_kept && tiles->lower->is_kept[member->node])
        return;
    transfer.storage = storage_of(tiles->lower, member->node);
    transfer_store(tiles->lower, &transfer);
}

/* Indices go to partitions first, since a gathering DMA reads them from there, one row per
 * partition. An index out of range is found when the program runs. */
static void gather_box(struct tiles *tiles, const struct box *box, struct member *head)
{
    struct lower *lower = tiles->lower;
    const struct place *table = &tiles->sides[0], *indices = &tiles->sides[1];
    const struct ir_node *node = &lower->ir->nodes.items[head->node];
    const struct ir_type *rows = ir_type_of(lower->ir, node->args[0]);
    struct transfer list = {
        .storage = place_storage(tiles, indices),
        .dtype = indices->dtype,
        .buffer_dtype = DTYPE_INT32,
        .offset = place_at(tiles, indices, box),
        .buffer = buffer_new(&lower->emit, MEMORY_SBUF, sizeof(int32_t)),
    };
    walk_box(tiles, indices, box, tiles->first_part, tiles->first_free, &list.walk);
    list.walk.parts = list.walk.rank;
    transfer_load(lower, &list);
    struct transfer fetch = {
        .storage = table->storage,
        .dtype = table->dtype,
        .buffer_dtype = table->dtype,
        .offset = place_at(tiles, table, box),
        .buffer = head->tile.buffer,
        .indirect = DMA_GATHER,
        .indices = list.buffer,
        .index_limit = rows->size[0],
        .index_step = ir_bytes(rows) / rows->size[0],
    };
    walk_add(&fetch.walk, box->partitions, 0);
    fetch.walk.parts = fetch.walk.rank;
    walk_add(&fetch.walk, box->inner, 1);
    transfer_load(lower, &fetch);
    buffer_release(&lower->emit, list.buffer);
}

static void make_tile(struct tiles *tiles, struct member *member, const struct box *box)
{
    uint32_t elements = member->is_row ? box->free : box->free * box->inner;
    if (member->tile.buffer)
        return; /* a reduction that goes on */
    member->tile.buffer =
        buffer_new(&tiles->lower->emit, MEMORY_SBUF, elements * dtype_bytes(member->tile.dtype));
    member->tile.free_step = member->is_row ? 1 : box->inner;
    member->tile.inner_step = member->is_row ? 0 : 1;
}

/* Operations on rows run once per row, after its last piece; a reduction runs for each piece, and
 * is stored and released only after the last. */
static void run_member(struct tiles *tiles, struct member *member, const struct box *box)
{
    const struct ir_node *node = &tiles->lower->ir->nodes.items[member->node];
    bool is_reduction = node->kind == IR_REDUCE;
    if (member->is_row && !is_reduction && !box->is_last)
        return;
    tiles->lower->emit.origin = node->origin;
    if (member->node == tiles->group->head && tiles->dot) {
        dot_box(tiles, box, member);
    } else {
        make_tile(tiles, member, box);
        if (member->node == tiles->group->head)
            gather_box(tiles, box, member);
        else
            compute_member(tiles, member, box);
    }
    for (uint32_t i = 0; i < MAX_REFS; i++)
        ref_done(tiles, member->refs[i]);
    if (is_reduction && !box->is_last)
        return;
    if (member->is_stored)
        store_member(tiles, member, box);
    if (member->uses == 0)
        tile_drop(tiles->lower, &member->tile);
}

/* Sets how many uses are left, so that each tile is released by its last one. Loads of rows that
 * end in a later box are dropped here and loaded again there. */
static void run_box(struct tiles *tiles, struct box *box)
{
    box->partitions = box->free = box->inner = 1;
    box->is_first = box->is_last = true;
    for (uint32_t i = 0; i < tiles->rank; i++) {
        uint32_t left = tiles->size[i] - box->low[i];
        box->count[i] = left < tiles->chunk[i] ? left : tiles->chunk[i];
        if (i >= tiles->first_inner) {
            box->inner *= box->count[i];
            box->is_first &= !tiles->group->mask || box->low[i] == 0;
            box->is_last &= !tiles->group->mask || box->count[i] == left;
        } else if (i >= tiles->first_free) {
            box->free *= box->count[i];
        } else if (i >= tiles->first_part) {
            box->partitions *= box->count[i];
        }
    }
    for (size_t i = 0; i < tiles->loads.count; i++)
        tiles->loads.items[i].left = tiles->loads.items[i].uses;
    for (size_t i = 0; i < tiles->members.count; i++)
        tiles->members.items[i].left = tiles->members.items[i].uses;
    for (size_t i = 0; i < tiles->members.count; i++)
        run_member(tiles, &tiles->members.items[i], box);
    for (size_t i = 0; i < tiles->loads.count; i++) /* of rows, before the last piece of them */
        tile_drop(tiles->lower, &tiles->loads.items[i].tile);
}

static bool next_box(const struct tiles *tiles, struct box *box)
{
    for (uint32_t i = tiles->rank; i-- > 0;) {
        box->low[i] += tiles->chunk[i];
        if (box->low[i] < tiles->size[i])
            return true;
        box->low[i] = 0;
    }
    return false;
}

static void run_boxes(struct tiles *tiles)
{
    domain_chunk(tiles);
    for (size_t i = 0; i < tiles->loads.count; i++) {
        struct load *load = &tiles->loads.items[i];
        load->is_repeated = false;
        for (uint32_t k = 0; k < tiles->rank; k++)
            load->is_repeated |= load->place.step[k] == 0 && tiles->size[k] > tiles->chunk[k];
    }
    if (tiles->dot)
        dot_begin(tiles);
    struct box box = {0};
    do
        run_box(tiles, &box);
    while (!tiles->lower->emit.failed && next_box(tiles, &box));
    if (tiles->dot)
        dot_end(tiles);
    for (size_t i = 0; i < tiles->loads.count; i++)
        tile_drop(tiles->lower, &tiles->loads.items[i].kept);
    for (size_t i = 0; i < tiles->members.count; i++)
        tile_drop(tiles->lower, &tiles->members.items[i].tile);
}

/* Where there are few rows, long ones are divided so that all partitions have work. */
static void run_elementwise(struct tiles *tiles)
{
    uint64_t rest;
    if (!domain_split(tiles, &rest)) {
        run_boxes(tiles);
        return;
    }
    run_boxes(tiles);
    if (rest == 0)
        return;
    domain_take_rest(tiles, rest);
    run_boxes(tiles);
}

/* The steps over the domain of an operand of the head, of which dimensions begin .. end - 1 are
 * those of the result from `at` on. */
static void spread(const struct ir_type *result, const struct access *operand, uint32_t begin,
                   uint32_t end, uint32_t at, struct place *place)
{
    uint32_t domain = 0;
    for (uint32_t i = 0; i < at; i++)
        domain += result->size[i] > 1;
    for (uint32_t i = begin; i < end; i++)
        if (operand->size[i] > 1)
            place->step[domain++] = operand->step[i];
}

/* The table must be dense, as rows are addressed by number times size; indices may be any walk.
 * *copied is for the caller to release. */
static void place_gather(struct tiles *tiles, struct storage **copied)
{
    struct lower *lower = tiles->lower;
    const struct ir_node *node = &lower->ir->nodes.items[tiles->group->head];
    const struct access *table = &lower->accesses[node->args[0]];
    const struct access *indices = &lower->accesses[node->args[1]];
    bool is_copy;
    tiles->sides[0] = (struct place){
        .base = IR_NONE,
        .storage = materialize(lower, table, &is_copy),
        .dtype = node->type.dtype,
    };
    *copied = is_copy ? tiles->sides[0].storage : NULL;
    struct access dense = access_dense(0, ir_type_of(lower->ir, node->args[0]));
    spread(&node->type, &dense, 1, dense.rank, 1, &tiles->sides[0]);
    tiles->sides[1] = (struct place){
        .base = indices->base,
        .dtype = ir_type_of(lower->ir, indices->base)->dtype,
        .offset = indices->offset,
    };
    spread(&node->type, indices, 0, 1, 0, &tiles->sides[1]);
    tiles->side_count = 2;
    tiles->first_part = 0;
    tiles->first_inner = node->type.size[0] > 1;
}

static void run_gather(struct tiles *tiles)
{
    struct storage *copied;
    place_gather(tiles, &copied);
    uint32_t inner = tiles->first_inner;
    domain_order(tiles);
    tiles->first_inner = inner;
    domain_merge(tiles);
    run_boxes(tiles);
    if (copied)
        storage_release(tiles->lower, copied);
}

static void arrange_dot(struct tiles *tiles)
{
    uint32_t inner = tiles->first_inner;
    domain_order(tiles); /* the reduced dimensions, if any, are the last already */
    tiles->first_inner = inner;
    domain_merge(tiles);
}

void lower_tiles(struct lower *lower, const struct group *group)
{
    struct tiles tiles = {.lower = lower, .group = group};
    for (size_t i = 0; i < group->nodes.count; i++)
        add_member(&tiles, group->nodes.items[i]);
    if (group->head != IR_NONE && lower->ir->nodes.items[group->head].kind == IR_DOT) {
        dot_run(&tiles, arrange_dot, run_boxes);
    } else if (group->head != IR_NONE) {
        run_gather(&tiles);
    } else {
        domain_order(&tiles);
        if (!group->mask)
            tiles.first_inner = 0;
        domain_merge(&tiles);
        if (group->mask)
            run_boxes(&tiles);
        else
            run_elementwise(&tiles);
    }
    array_free(&tiles.loads);
    array_free(&tiles.members);
}

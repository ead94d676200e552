/*
 * Tiles: which box of the domain is next, what it loads, what it stores.
 */
#include "neuron/compiler/tiles.h"

/* An access over the whole domain, or over its rows, as a walk over the domain. */
static struct place place_of(struct tiles *tiles, const struct access *access, bool over_rows)
{
    struct access walk = access_squeezed(access);
    const struct fused_group *group = tiles->group;
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
    struct tile_member member = {.node = index, .is_row = lower->is_row[index]};
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

static void store_member(struct tiles *tiles, const struct tile_member *member,
                         const struct box *box)
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
static void gather_box(struct tiles *tiles, const struct box *box, struct tile_member *head)
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

static void make_tile(struct tiles *tiles, struct tile_member *member, const struct box *box)
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
static void run_member(struct tiles *tiles, struct tile_member *member, const struct box *box)
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

void lower_tiles(struct lower *lower, const struct fused_group *group)
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

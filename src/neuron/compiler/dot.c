/*
 * Dots on the Tensor engine. For each box of the result, tiles of 128 along the contracted
 * dimension are accumulated in PSUM. Both operands need that dimension on partitions: where it is
 * the contiguous one in HBM, rows are loaded and the Tensor engine transposes them. The left
 * operand is kept for all boxes of its rows, the right one for all rows, when they fit.
 */
#include "neuron/compiler/tiles.h"

enum {
    LHS_SHARE = 8, /* fraction of SBUF that kept tiles may take */
    RHS_SHARE_NUMERATOR = 3,
    RHS_SHARE_DENOMINATOR = 8,
    K_TILE = PARTITIONS,
    BLOCK_TILES = 16, /* along k, loaded at once for transposes */
};

struct dot_side {
    int64_t k_step;
    bool is_transposed; /* by the Tensor engine */
    bool is_kept;
    struct storage *copied;
};

/* A tile of an operand: k on partitions, from element `first` of each on. */
struct side_tile {
    struct buffer *buffer;
    uint32_t first;
};

struct dot_state {
    uint32_t k, k_tiles;
    struct dot_side sides[2];
    struct side_tile *lhs;         /* k_tiles of the current rows, when kept */
    uint32_t lhs_low[DOMAIN_RANK]; /* which rows these are */
    bool has_lhs;
    ARRAY(struct side_tile) rhs; /* k_tiles for each piece of columns, when kept */
    uint32_t rhs_low[DOMAIN_RANK];
    bool has_rhs;
    uint32_t piece; /* of columns, of the current rows */
};

/* The contracted dimensions of a side, merged. */
static bool collapse_k(const struct access *access, uint32_t first, uint32_t count, uint32_t *k,
                       int64_t *step)
{
    struct access part = {.rank = count};
    for (uint32_t i = 0; i < count; i++) {
        part.size[i] = access->size[first + i];
        part.step[i] = access->step[first + i];
    }
    access_collapse(&part);
    *k = part.rank ? part.size[0] : 1;
    *step = part.rank ? part.step[0] : 0;
    return part.rank <= 1;
}

static void spread_side(const struct ir_type *result, const struct access *access, uint32_t batch,
                        uint32_t begin, uint32_t end, uint32_t at, struct place *place)
{
    uint32_t domain = 0;
    for (uint32_t i = 0; i < batch; i++)
        if (access->size[i] > 1)
            place->step[domain++] = access->step[i];
    for (uint32_t i = batch; i < at; i++)
        domain += result->size[i] > 1;
    for (uint32_t i = begin; i < end; i++)
        if (access->size[i] > 1)
            place->step[domain++] = access->step[i];
}

/* The contracted dimensions must be one walk, as tiles go along them in steps of 128. Where a view
 * of the operand does not allow that, it is copied once, in row-major order. */
static void place_side(struct tiles *tiles, uint32_t side)
{
    struct lower *lower = tiles->lower;
    struct dot_state *dot = tiles->dot;
    const struct ir_node *node = &lower->ir->nodes.items[tiles->group->head];
    struct access access = lower->accesses[node->args[side]];
    const struct ir_type *type = ir_type_of(lower->ir, node->args[side]);
    uint32_t batch = node->batch_rank, contract = node->contract_rank;
    uint32_t first_k = side == 0 ? type->rank - contract : batch;
    struct place *place = &tiles->sides[side];
    *place = (struct place){.dtype = type->dtype};
    place->base = access.base;
    if (!collapse_k(&access, first_k, contract, &dot->k, &dot->sides[side].k_step)) {
        bool is_copy;
        place->base = IR_NONE;
        place->storage = materialize(lower, &access, &is_copy);
        dot->sides[side].copied = is_copy ? place->storage : NULL;
        access = access_dense(access.base, type);
        collapse_k(&access, first_k, contract, &dot->k, &dot->sides[side].k_step);
    }
    place->offset = access.offset;
    uint32_t rows = ir_type_of(lower->ir, node->args[0])->rank - batch - contract;
    if (side == 0)
        spread_side(&node->type, &access, batch, batch, batch + rows, batch, place);
    else
        spread_side(&node->type, &access, batch, batch + contract, type->rank, batch + rows, place);
}

static uint32_t count_large(const struct ir_type *type, uint32_t first, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i++)
        count += type->size[i] > 1;
    return count;
}

void dot_run(struct tiles *tiles, void (*arrange)(struct tiles *), void (*run)(struct tiles *))
{
    struct lower *lower = tiles->lower;
    const struct ir_node *node = &lower->ir->nodes.items[tiles->group->head];
    struct dot_state dot = {0};
    lower->emit.origin = node->origin;
    tiles->dot = &dot;
    place_side(tiles, 0);
    place_side(tiles, 1);
    tiles->side_count = 2;
    uint32_t batch = node->batch_rank;
    uint32_t rows = ir_type_of(lower->ir, node->args[0])->rank - batch - node->contract_rank;
    tiles->first_part = count_large(&node->type, 0, batch);
    tiles->first_inner = count_large(&node->type, 0, batch + rows);
    arrange(tiles);
    run(tiles);
    for (int i = 0; i < 2; i++)
        if (dot.sides[i].copied)
            storage_release(lower, dot.sides[i].copied);
}

static uint64_t dimensions_product(const struct tiles *tiles, uint32_t first, uint32_t end)
{
    uint64_t count = 1;
    for (uint32_t i = first; i < end; i++)
        count *= tiles->size[i];
    return count;
}

/* Rows are loaded and transposed when k is the contiguous dimension and there is more than one
 * row. */
static bool wants_transpose(const struct tiles *tiles, uint32_t side)
{
    const struct dot_state *dot = tiles->dot;
    const struct place *place = &tiles->sides[side];
    uint32_t first = side == 0 ? tiles->first_part : tiles->first_inner;
    uint32_t end = side == 0 ? tiles->first_inner : tiles->rank;
    if (dot->sides[side].k_step != 1 || dot->k == 1)
        return false;
    return end > first && place->step[end - 1] != 1;
}

void dot_begin(struct tiles *tiles)
{
    struct dot_state *dot = tiles->dot;
    uint64_t sbuf = tiles->lower->emit.hardware->sbuf_bytes;
    uint64_t columns = dimensions_product(tiles, tiles->first_inner, tiles->rank);
    dot->k_tiles = (dot->k + K_TILE - 1) / K_TILE;
    for (uint32_t i = 0; i < 2; i++)
        dot->sides[i].is_transposed = wants_transpose(tiles, i);
    uint64_t lhs_bytes = (uint64_t)dot->k_tiles * PARTITIONS * dtype_bytes(tiles->sides[0].dtype);
    uint64_t rhs_bytes = dot->k_tiles * columns * dtype_bytes(tiles->sides[1].dtype);
    uint64_t pieces = (columns + PARTITIONS - 1) / PARTITIONS;
    rhs_bytes += pieces * dot->k_tiles * GRANULE; /* what rounding up may add */
    bool has_rows = dimensions_product(tiles, tiles->first_part, tiles->first_inner) > PARTITIONS;
    dot->sides[0].is_kept = lhs_bytes <= sbuf / LHS_SHARE;
    dot->sides[1].is_kept =
        has_rows && rhs_bytes <= sbuf * RHS_SHARE_NUMERATOR / RHS_SHARE_DENOMINATOR;
    dot->lhs = mem_zeroed(dot->k_tiles, sizeof *dot->lhs);
}

static void release_lhs(struct tiles *tiles)
{
    struct dot_state *dot = tiles->dot;
    for (uint32_t i = 0; dot->has_lhs && i < dot->k_tiles; i++)
        buffer_release(&tiles->lower->emit, dot->lhs[i].buffer);
    dot->has_lhs = false;
}

static void release_rhs(struct tiles *tiles)
{
    struct dot_state *dot = tiles->dot;
    for (size_t i = 0; i < dot->rhs.count; i++)
        buffer_release(&tiles->lower->emit, dot->rhs.items[i].buffer);
    dot->rhs.count = 0;
    dot->has_rhs = false;
}

void dot_end(struct tiles *tiles)
{
    release_lhs(tiles);
    release_rhs(tiles);
    array_free(&tiles->dot->rhs);
    mem_free(tiles->dot->lhs);
}

/* Goes through dimensions first .. end - 1 of a box in pieces of at most `limit` elements, each
 * contiguous in the order of the box's elements. */
struct pieces {
    uint32_t first, end, chunk[DOMAIN_RANK];
    const struct box *box;
    struct box piece;
    uint32_t start, elements; /* the piece's place in the box, and size */
};

static void piece_measure(struct pieces *pieces)
{
    uint32_t stride = 1;
    pieces->start = 0;
    pieces->elements = 1;
    for (uint32_t i = pieces->end; i-- > pieces->first;) {
        uint32_t at = pieces->piece.low[i] - pieces->box->low[i];
        uint32_t left = pieces->box->count[i] - at;
        pieces->piece.count[i] = left < pieces->chunk[i] ? left : pieces->chunk[i];
        pieces->start += at * stride;
        pieces->elements *= pieces->piece.count[i];
        stride *= pieces->box->count[i];
    }
}

static struct pieces pieces_begin(const struct box *box, uint32_t first, uint32_t end,
                                  uint32_t limit)
{
    struct pieces pieces = {.first = first, .end = end, .box = box, .piece = *box};
    uint32_t count = 1;
    for (uint32_t i = end; i-- > first;) {
        uint32_t most = limit / count;
        most = most == 0 ? 1 : most;
        pieces.chunk[i] = most < box->count[i] ? most : box->count[i];
        count *= pieces.chunk[i];
        if (pieces.chunk[i] < box->count[i])
            limit = count;
    }
    piece_measure(&pieces);
    return pieces;
}

static bool pieces_next(struct pieces *pieces)
{
    for (uint32_t i = pieces->end; i-- > pieces->first;) {
        pieces->piece.low[i] += pieces->chunk[i];
        if (pieces->piece.low[i] < pieces->box->low[i] + pieces->box->count[i]) {
            piece_measure(pieces);
            return true;
        }
        pieces->piece.low[i] = pieces->box->low[i];
    }
    return false;
}

static uint32_t tile_k(const struct dot_state *dot, uint32_t tile)
{
    uint32_t left = dot->k - tile * K_TILE;
    return left < K_TILE ? left : K_TILE;
}

static struct operand sub_operand(const struct buffer *buffer, enum dtype dtype,
                                  uint32_t partitions, uint32_t first, uint32_t count)
{
    struct operand operand = plain_operand(buffer, dtype, partitions, count);
    operand.offset += first * dtype_bytes(dtype);
    return operand;
}

/* To a part of the target. */
static void copy_operand(struct tiles *tiles, const struct operand *from, struct buffer *source,
                         const struct operand *to, struct buffer *target)
{
    struct instruction copy = {.opcode = OP_TENSOR_COPY, .dst = *to, .src = {*from}};
    struct uses uses = {.read = {source}, .write = {target}, .is_part = true};
    emit_compute(&tiles->lower->emit, less_busy(tiles->lower), &copy, &uses);
}

/* The walk over some rows and `size` elements of k. */
static struct transfer rows_transfer(struct tiles *tiles, uint32_t side, const struct pieces *rows,
                                     uint32_t k, uint32_t size)
{
    const struct place *place = &tiles->sides[side];
    int64_t k_step = tiles->dot->sides[side].k_step;
    struct transfer transfer = {
        .dtype = place->dtype,
        .buffer_dtype = place->dtype,
        .offset = place_at(tiles, place, &rows->piece) + k * k_step,
    };
    walk_box(tiles, place, &rows->piece, rows->first, rows->end, &transfer.walk);
    transfer.walk.parts = transfer.walk.rank;
    walk_add(&transfer.walk, size, k_step);
    return transfer;
}

/* Rows on partitions, for tiles first .. first + count - 1 along k; each is held once. */
static void load_rows(struct tiles *tiles, uint32_t side, const struct pieces *rows, uint32_t first,
                      uint32_t count, struct side_tile *to)
{
    struct lower *lower = tiles->lower;
    const struct place *place = &tiles->sides[side];
    uint32_t found = 0;
    for (; found < count; found++) {
        struct transfer part = rows_transfer(tiles, side, rows, (first + found) * K_TILE,
                                             tile_k(tiles->dot, first + found));
        to[found].buffer =
            resident_find(lower, place->base, part.offset, &part.walk, &to[found].first);
        if (!to[found].buffer)
            break;
    }
    if (found == count)
        return;
    while (found-- > 0)
        buffer_release(&lower->emit, to[found].buffer);
    uint32_t size = (count - 1) * K_TILE + tile_k(tiles->dot, first + count - 1);
    struct transfer whole = rows_transfer(tiles, side, rows, first * K_TILE, size);
    whole.storage = place_storage(tiles, place);
    whole.buffer = buffer_new(&lower->emit, MEMORY_SBUF, size * dtype_bytes(place->dtype));
    transfer_load(lower, &whole);
    for (uint32_t i = 0; i < count; i++) {
        to[i] = (struct side_tile){whole.buffer, i * K_TILE};
        if (i > 0)
            buffer_hold(whole.buffer);
    }
}

/* Columns start .. start + count - 1 of the tiles, from rows that are loaded and transposed. */
static void transpose_tiles(struct tiles *tiles, uint32_t side, const struct pieces *rows,
                            uint32_t first, uint32_t count, const struct side_tile *to)
{
    struct emit *emit = &tiles->lower->emit;
    const struct dot_state *dot = tiles->dot;
    const struct place *place = &tiles->sides[side];
    struct side_tile natural[BLOCK_TILES];
    load_rows(tiles, side, rows, first, count, natural);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = tile_k(dot, first + i);
        struct buffer *psum = buffer_new(emit, MEMORY_PSUM, PSUM_BANK_BYTES);
        struct instruction transpose = {.opcode = OP_TRANSPOSE};
        transpose.src[0] =
            sub_operand(natural[i].buffer, place->dtype, rows->elements, natural[i].first, size);
        transpose.dst = plain_operand(psum, place->dtype, size, rows->elements);
        struct uses uses = {.read = {natural[i].buffer}, .write = {psum}};
        emit_compute(emit, ENGINE_TENSOR, &transpose, &uses);
        struct operand target =
            sub_operand(to[i].buffer, place->dtype, size, rows->start, rows->elements);
        copy_operand(tiles, &transpose.dst, psum, &target, to[i].buffer);
        buffer_release(emit, psum);
        buffer_release(emit, natural[i].buffer);
    }
}

/* Tiles first .. first + count - 1 along k of one side, for dimensions of a box: k on partitions.
 */
static void side_tiles(struct tiles *tiles, uint32_t side, const struct pieces *columns,
                       uint32_t first, uint32_t count, struct side_tile *to)
{
    const struct dot_state *dot = tiles->dot;
    const struct place *place = &tiles->sides[side];
    uint32_t bytes = columns->elements * dtype_bytes(place->dtype);
    if (dot->sides[side].is_transposed) {
        for (uint32_t i = 0; i < count; i++)
            to[i] = (struct side_tile){buffer_new(&tiles->lower->emit, MEMORY_SBUF, bytes), 0};
        for (uint32_t at = 0; at < count; at += BLOCK_TILES) {
            uint32_t block = count - at < BLOCK_TILES ? count - at : BLOCK_TILES;
            struct pieces rows =
                pieces_begin(&columns->piece, columns->first, columns->end, PARTITIONS);
            do
                transpose_tiles(tiles, side, &rows, first + at, block, to + at);
            while (pieces_next(&rows));
        }
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct transfer transfer = {
            .dtype = place->dtype,
            .buffer_dtype = place->dtype,
            .offset = place_at(tiles, place, &columns->piece) +
                      (int64_t)(first + i) * K_TILE * dot->sides[side].k_step,
        };
        walk_add(&transfer.walk, tile_k(dot, first + i), dot->sides[side].k_step);
        transfer.walk.parts = transfer.walk.rank;
        walk_box(tiles, place, &columns->piece, columns->first, columns->end, &transfer.walk);
        to[i].buffer =
            resident_find(tiles->lower, place->base, transfer.offset, &transfer.walk, &to[i].first);
        if (to[i].buffer)
            continue;
        to[i] = (struct side_tile){buffer_new(&tiles->lower->emit, MEMORY_SBUF, bytes), 0};
        transfer.buffer = to[i].buffer;
        transfer.storage = place_storage(tiles, place);
        transfer_load(tiles->lower, &transfer);
    }
}

/* Updates the kept tiles for the box. */
static void keep_sides(struct tiles *tiles, const struct box *box)
{
    struct dot_state *dot = tiles->dot;
    bool is_first = true; /* box of its rows */
    for (uint32_t i = tiles->first_inner; i < tiles->rank; i++)
        is_first &= box->low[i] == 0;
    if (is_first)
        dot->piece = 0;
    size_t batch_bytes = tiles->first_part * sizeof *box->low;
    if (dot->rhs.count > 0 && memcmp(dot->rhs_low, box->low, batch_bytes) != 0)
        release_rhs(tiles);
    memcpy(dot->rhs_low, box->low, sizeof dot->rhs_low);
    size_t row_bytes = tiles->first_inner * sizeof *box->low;
    if (dot->has_lhs && memcmp(dot->lhs_low, box->low, row_bytes) != 0)
        release_lhs(tiles);
    memcpy(dot->lhs_low, box->low, sizeof dot->lhs_low);
    if (!dot->sides[0].is_kept || dot->has_lhs)
        return;
    struct pieces rows = pieces_begin(box, tiles->first_part, tiles->first_inner, PARTITIONS);
    side_tiles(tiles, 0, &rows, 0, dot->k_tiles, dot->lhs);
    dot->has_lhs = true;
}

static void multiply(struct tiles *tiles, const struct box *box, struct side_tile lhs,
                     struct side_tile rhs, struct buffer *psum, uint32_t tile, uint32_t columns)
{
    struct emit *emit = &tiles->lower->emit;
    uint32_t k = tile_k(tiles->dot, tile);
    struct instruction load = {.opcode = OP_LDWEIGHTS};
    load.src[0] = sub_operand(lhs.buffer, tiles->sides[0].dtype, k, lhs.first, box->partitions);
    struct uses weights = {.read = {lhs.buffer}};
    emit_compute(emit, ENGINE_TENSOR, &load, &weights);
    struct instruction matmul = {
        .opcode = OP_MATMUL,
        .flags = tile > 0 ? FLAG_ACCUMULATE : 0,
        .dst = plain_operand(psum, DTYPE_FP32, box->partitions, columns),
    };
    matmul.src[0] = sub_operand(rhs.buffer, tiles->sides[1].dtype, k, rhs.first, columns);
    /* Up to here the weights are read: loads overtake earlier instructions. */
    struct uses uses = {.read = {rhs.buffer, lhs.buffer}, .write = {psum}};
    emit_compute(emit, ENGINE_TENSOR, &matmul, &uses);
}

/* One piece of columns: all of k, accumulated in PSUM. */
static void dot_piece(struct tiles *tiles, const struct box *box, const struct pieces *columns,
                      struct buffer *psum)
{
    struct dot_state *dot = tiles->dot;
    struct emit *emit = &tiles->lower->emit;
    size_t kept = (size_t)dot->piece * dot->k_tiles;
    bool is_there = dot->sides[1].is_kept && kept < dot->rhs.count;
    struct pieces rows = pieces_begin(box, tiles->first_part, tiles->first_inner, PARTITIONS);
    struct side_tile lhs[BLOCK_TILES], rhs[BLOCK_TILES];
    for (uint32_t at = 0; at < dot->k_tiles && !emit->failed; at += BLOCK_TILES) {
        uint32_t count = dot->k_tiles - at < BLOCK_TILES ? dot->k_tiles - at : BLOCK_TILES;
        if (dot->has_lhs)
            memcpy(lhs, dot->lhs + at, count * sizeof *lhs);
        else
            side_tiles(tiles, 0, &rows, at, count, lhs);
        if (is_there)
            memcpy(rhs, dot->rhs.items + kept + at, count * sizeof *rhs);
        else
            side_tiles(tiles, 1, columns, at, count, rhs);
        for (uint32_t i = 0; i < count; i++) {
            multiply(tiles, box, lhs[i], rhs[i], psum, at + i, columns->elements);
            if (!dot->has_lhs)
                buffer_release(emit, lhs[i].buffer);
            if (!dot->sides[1].is_kept)
                buffer_release(emit, rhs[i].buffer);
            else if (!is_there)
                *array_push(&dot->rhs) = rhs[i];
        }
    }
    dot->piece++;
}

/* A result that the next operation reads and nobody stores stays in PSUM; that saves a copy, but is
 * possible only for FP32 and one piece of columns. */
void dot_box(struct tiles *tiles, const struct box *box, struct tile_member *head)
{
    struct emit *emit = &tiles->lower->emit;
    keep_sides(tiles, box);
    bool stays = head->tile.dtype == DTYPE_FP32 && !head->is_stored && head->uses > 0 &&
                 box->inner <= MOVING_MAX;
    head->tile.free_step = box->inner;
    head->tile.inner_step = 1;
    if (!stays)
        head->tile.buffer =
            buffer_new(emit, MEMORY_SBUF, box->inner * dtype_bytes(head->tile.dtype));
    struct pieces columns = pieces_begin(box, tiles->first_inner, tiles->rank, MOVING_MAX);
    do {
        struct buffer *psum = buffer_new(emit, MEMORY_PSUM, columns.elements * sizeof(float));
        dot_piece(tiles, box, &columns, psum);
        if (stays) {
            head->tile.buffer = psum; /* later operations read it there */
            return;
        }
        struct operand from = plain_operand(psum, DTYPE_FP32, box->partitions, columns.elements);
        struct operand to = sub_operand(head->tile.buffer, head->tile.dtype, box->partitions,
                                        columns.start, columns.elements);
        copy_operand(tiles, &from, psum, &to, head->tile.buffer);
        buffer_release(emit, psum);
    } while (pieces_next(&columns));
}

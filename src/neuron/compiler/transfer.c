/*
 * DMA: walks over HBM become descriptors, of up to five dimensions, as many as keep the DMA engines
 * busy.
 */
#include "neuron/compiler/lower.h"

enum { PIECE_BYTES = 16 << 10 }; /* at least, when a transfer is divided */

void walk_add(struct transfer_walk *walk, uint32_t size, int64_t step)
{
    if (size == 1)
        return;
    walk->size[walk->rank] = size;
    walk->step[walk->rank++] = step;
}

/* A part of a transfer: the rest of its walk, and where it begins. */
struct piece {
    struct transfer_walk walk;
    int64_t offset;
    uint32_t partition;
    uint64_t element; /* of each partition */
};

static uint64_t walk_elements(const struct transfer_walk *walk, uint32_t first, uint32_t end)
{
    uint64_t count = 1;
    for (uint32_t i = first; i < end; i++)
        count *= walk->size[i];
    return count;
}

static struct access collapsed(const struct transfer_walk *walk)
{
    struct access access = {.rank = walk->rank};
    for (uint32_t i = 0; i < walk->rank && i < IR_RANK; i++) {
        access.size[i] = walk->size[i];
        access.step[i] = walk->step[i];
    }
    access_collapse(&access);
    return access;
}

static void hbm_dimensions(struct dma_end *end, const struct access *access)
{
    for (uint32_t i = 0; i < DMA_DIMENSIONS; i++) {
        end->size[i] = i < access->rank ? access->size[i] : 1;
        end->step[i] = i < access->rank ? access->step[i] : 0;
    }
}

static struct dma_end hbm_end(const struct storage *storage, enum dtype dtype, int64_t offset)
{
    return (struct dma_end){
        .memory = MEMORY_HBM,
        .dtype = (uint8_t)dtype,
        .offset_register = NO_REGISTER,
        .variable = storage->variable,
        .offset = storage->base + (uint64_t)offset * dtype_bytes(dtype),
    };
}

/* Whether the program stays within its limit with one more descriptor. */
static bool has_room(struct emit *emit)
{
    if (emit->descriptors.count >= emit->limit)
        emit_fail_large(emit);
    return !emit->failed;
}

/* On the chip, elements are always contiguous in each partition; only the HBM end has steps. An
 * indirect end is replaced as a whole: the indices take the place of its outer dimensions. */
static void add_descriptor(struct emit *emit, const struct transfer *transfer,
                           const struct piece *piece, const struct access *access, bool is_store)
{
    uint64_t partitions = walk_elements(&piece->walk, 0, piece->walk.parts);
    uint64_t elements = walk_elements(&piece->walk, piece->walk.parts, piece->walk.rank);
    struct dma_end chip = {
        .memory = transfer->buffer->memory,
        .dtype = (uint8_t)transfer->buffer_dtype,
        .partition = (uint8_t)piece->partition,
        .offset_register = NO_REGISTER,
        .offset = transfer->buffer->offset + piece->element * dtype_bytes(transfer->buffer_dtype),
        .step = {1, 0, 0, 0, 1},
        .size = {(uint32_t)partitions, 1, 1, 1, (uint32_t)elements},
    };
    struct dma_end memory = hbm_end(transfer->storage, transfer->dtype, piece->offset);
    hbm_dimensions(&memory, access);
    struct dma_descriptor *descriptor = array_push(&emit->descriptors);
    *descriptor = (struct dma_descriptor){
        .operation = transfer->operation,
        .indirect = transfer->indirect,
        .from = is_store ? chip : memory,
        .to = is_store ? memory : chip,
        .index_limit = transfer->index_limit,
    };
    if (transfer->indirect != DMA_DIRECT) {
        struct dma_end *end = is_store ? &descriptor->to : &descriptor->from;
        end->register_step = transfer->index_step;
        /* Rows are contiguous, or one walk: the indices count the outermost dimension. */
        *end = (struct dma_end){.memory = MEMORY_HBM,
                                .dtype = end->dtype,
                                .offset_register = NO_REGISTER,
                                .variable = end->variable,
                                .offset = end->offset,
                                .register_step = transfer->index_step,
                                .step = {0, 0, 0, 0, 1},
                                .size = {(uint32_t)partitions, 1, 1, 1, (uint32_t)elements}};
        descriptor->indices =
            plain_operand(transfer->indices, DTYPE_INT32, (uint32_t)partitions, 1);
        descriptor->indices.partition = (uint8_t)piece->partition;
    }
}

/* The walk's first dimension, from `first` on, `count` of it. */
static struct piece piece_part(const struct piece *piece, uint32_t first, uint32_t count)
{
    struct piece part = *piece;
    struct transfer_walk *walk = &part.walk;
    part.offset += first * walk->step[0];
    if (walk->parts > 0)
        part.partition += (uint32_t)(first * walk_elements(walk, 1, walk->parts));
    else
        part.element += first * walk_elements(walk, 1, walk->rank);
    walk->size[0] = count;
    if (count > 1)
        return part;
    walk->parts -= walk->parts > 0;
    walk->rank--;
    memmove(walk->size, walk->size + 1, walk->rank * sizeof *walk->size);
    memmove(walk->step, walk->step + 1, walk->rank * sizeof *walk->step);
    return part;
}

static void add_piece(struct emit *emit, const struct transfer *transfer, const struct piece *piece,
                      bool is_store)
{
    if (piece->walk.rank <= IR_RANK) {
        struct access access = collapsed(&piece->walk);
        if (access.rank <= DMA_DIMENSIONS) {
            add_descriptor(emit, transfer, piece, &access, is_store);
            return;
        }
    }
    for (uint32_t i = 0; i < piece->walk.size[0] && has_room(emit); i++) {
        struct piece part = piece_part(piece, i, 1);
        add_piece(emit, transfer, &part, is_store);
    }
}

/* Extends the range by the bytes an end touches, with `bytes` for each element. */
static void touch(struct hbm_use *use, int64_t offset, const uint32_t *size, const int64_t *step,
                  uint32_t rank, uint32_t bytes)
{
    int64_t low = offset, high = offset;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t reach = step[i] * ((int64_t)size[i] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    use->first = (uint64_t)low * bytes;
    use->end = (uint64_t)(high + 1) * bytes;
}

static struct hbm_use use_of(const struct transfer *transfer)
{
    struct hbm_use use = {.storage = transfer->storage, .is_ordered = transfer->is_ordered};
    touch(&use, transfer->offset, transfer->walk.size, transfer->walk.step, transfer->walk.rank,
          dtype_bytes(transfer->dtype));
    if (transfer->indirect != DMA_DIRECT) {
        use.first = 0;
        use.end = transfer->storage->bytes;
    }
    return use;
}

static uint32_t add_descriptors(struct lower *lower, const struct transfer *transfer, bool is_store)
{
    uint32_t first = (uint32_t)lower->emit.descriptors.count;
    struct piece whole = {.walk = transfer->walk, .offset = transfer->offset};
    const struct transfer_walk *walk = &whole.walk;
    uint64_t bytes = walk_elements(walk, 0, walk->rank) * dtype_bytes(transfer->dtype);
    uint64_t pieces = bytes / PIECE_BYTES;
    pieces = pieces > DMA_ENGINES ? DMA_ENGINES : pieces;
    if (pieces < 2 || transfer->indirect != DMA_DIRECT) {
        add_piece(&lower->emit, transfer, &whole, is_store);
        return first;
    }
    uint32_t each = (uint32_t)((walk->size[0] + pieces - 1) / pieces);
    for (uint32_t at = 0; at < walk->size[0]; at += each) {
        uint32_t left = walk->size[0] - at;
        struct piece part = piece_part(&whole, at, left < each ? left : each);
        add_piece(&lower->emit, transfer, &part, is_store);
    }
    return first;
}

static const char *queue_kind(const struct lower *lower, const struct storage *storage)
{
    switch (lower->emit.variables.items[storage->variable].kind) {
    case VARIABLE_INPUT:
        return "Input";
    case VARIABLE_OUTPUT:
        return "Output";
    case VARIABLE_WEIGHT:
        return "Weights";
    default:
        return "SpillReload";
    }
}

void transfer_load(struct lower *lower, const struct transfer *transfer)
{
    struct hbm_use from = use_of(transfer), to = {0};
    struct uses uses = {.read = {transfer->indices}, .write = {transfer->buffer}};
    uint32_t first = add_descriptors(lower, transfer, false);
    if (transfer->indirect != DMA_DIRECT)
        emit_dma(&lower->emit, ENGINE_GPSIMD, "Embedding", first, &uses, &from, &to);
    else
        emit_dma(&lower->emit, ENGINE_SYNC, queue_kind(lower, transfer->storage), first, &uses,
                 &from, &to);
}

void transfer_store(struct lower *lower, const struct transfer *transfer)
{
    struct hbm_use from = {0}, to = use_of(transfer);
    struct uses uses = {.read = {transfer->buffer, transfer->indices}};
    uint32_t first = add_descriptors(lower, transfer, true);
    emit_dma(&lower->emit, ENGINE_GPSIMD,
             transfer->indirect != DMA_DIRECT ? "Embedding" : queue_kind(lower, transfer->storage),
             first, &uses, &from, &to);
}

/* Merges dimensions that form one walk on both sides. */
static void copy_collapse(struct copy *copy)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < copy->rank; i++) {
        uint32_t last = rank - 1;
        if (copy->size[i] == 1)
            continue;
        if (rank > 0 && copy->from_step[last] == copy->from_step[i] * copy->size[i] &&
            copy->to_step[last] == copy->to_step[i] * copy->size[i] &&
            (uint64_t)copy->size[last] * copy->size[i] <= UINT32_MAX) {
            copy->size[last] *= copy->size[i];
        } else {
            last = rank++;
            copy->size[last] = copy->size[i];
        }
        copy->from_step[last] = copy->from_step[i];
        copy->to_step[last] = copy->to_step[i];
    }
    copy->rank = rank;
}

static void copy_descriptor(struct lower *lower, const struct copy *copy)
{
    struct dma_descriptor *descriptor = array_push(&lower->emit.descriptors);
    *descriptor = (struct dma_descriptor){
        .from = hbm_end(copy->from, copy->dtype, copy->from_offset),
        .to = hbm_end(copy->to, copy->dtype, copy->to_offset),
    };
    struct access from = {.rank = copy->rank}, to = {.rank = copy->rank};
    memcpy(from.size, copy->size, sizeof from.size);
    memcpy(to.size, copy->size, sizeof to.size);
    memcpy(from.step, copy->from_step, sizeof from.step);
    memcpy(to.step, copy->to_step, sizeof to.step);
    hbm_dimensions(&descriptor->from, &from);
    hbm_dimensions(&descriptor->to, &to);
    descriptor->from.offset_register = copy->from_register;
    descriptor->to.offset_register = copy->to_register;
    descriptor->from.register_step =
        copy->from_register == NO_REGISTER ? 0 : dtype_bytes(copy->dtype);
    descriptor->to.register_step = copy->to_register == NO_REGISTER ? 0 : dtype_bytes(copy->dtype);
}

static struct copy copy_part(const struct copy *copy, uint32_t first, uint32_t count)
{
    struct copy part = *copy;
    part.from_offset += first * copy->from_step[0];
    part.to_offset += first * copy->to_step[0];
    part.size[0] = count;
    if (count == 1)
        copy_collapse(&part);
    return part;
}

static void copy_pieces(struct lower *lower, const struct copy *copy)
{
    if (copy->rank <= DMA_DIMENSIONS) {
        copy_descriptor(lower, copy);
        return;
    }
    for (uint32_t i = 0; i < copy->size[0] && has_room(&lower->emit); i++) {
        struct copy part = copy_part(copy, i, 1);
        copy_pieces(lower, &part);
    }
}

/* Large copies are divided among the DMA engines, along the outermost dimension. An end whose
 * offset comes from a register may be anywhere in its storage, so all of it counts as used. */
void transfer_copy(struct lower *lower, const struct copy *copy)
{
    struct copy whole = *copy;
    copy_collapse(&whole);
    uint32_t first = (uint32_t)lower->emit.descriptors.count, bytes = dtype_bytes(copy->dtype);
    struct hbm_use from = {.storage = copy->from}, to = {.storage = copy->to};
    to.is_ordered = copy->is_ordered;
    touch(&from, whole.from_offset, whole.size, whole.from_step, whole.rank, bytes);
    touch(&to, whole.to_offset, whole.size, whole.to_step, whole.rank, bytes);
    bool is_dynamic = copy->from_register != NO_REGISTER || copy->to_register != NO_REGISTER;
    if (copy->from_register != NO_REGISTER)
        from = (struct hbm_use){copy->from, 0, copy->from->bytes, false};
    if (copy->to_register != NO_REGISTER)
        to = (struct hbm_use){copy->to, 0, copy->to->bytes, copy->is_ordered};
    uint64_t total = bytes;
    for (uint32_t i = 0; i < whole.rank; i++)
        total *= whole.size[i];
    uint64_t pieces = total / PIECE_BYTES;
    pieces = pieces > DMA_ENGINES ? DMA_ENGINES : pieces;
    uint32_t each = whole.rank ? (uint32_t)((whole.size[0] + pieces) / (pieces + 1)) : 1;
    for (uint32_t at = 0; at < (whole.rank ? whole.size[0] : 1); at += each) {
        uint32_t left = whole.rank ? whole.size[0] - at : 1;
        struct copy part = whole.rank ? copy_part(&whole, at, left < each ? left : each) : whole;
        copy_pieces(lower, &part);
    }
    struct uses uses = {0};
    emit_dma(&lower->emit, ENGINE_GPSIMD, is_dynamic ? "Dynamic" : queue_kind(lower, copy->to),
             first, &uses, &from, &to);
}

/* Constants whose elements are all equal are stored as one, so more of them need a copy too. */
struct storage *materialize(struct lower *lower, const struct access *access, bool *is_copy)
{
    const struct ir_node *base = &lower->ir->nodes.items[access->base];
    uint64_t elements = 1;
    for (uint32_t i = 0; i < access->rank; i++)
        elements *= access->size[i];
    struct storage *from = storage_of(lower, access->base);
    *is_copy = !access_is_dense(access) || access->offset != 0 ||
               elements != ir_elements(&base->type) || (base->is_splat && elements > 1);
    if (!*is_copy)
        return from;
    struct ir_type type = ir_make_type(base->type.dtype, access->rank, access->size);
    struct access dense = access_dense(0, &type);
    struct copy copy = {
        .from = from,
        .to = storage_new(lower, NULL, &type),
        .dtype = type.dtype,
        .from_offset = access->offset,
        .rank = access->rank,
        .from_register = NO_REGISTER,
        .to_register = NO_REGISTER,
    };
    memcpy(copy.size, access->size, sizeof copy.size);
    memcpy(copy.from_step, access->step, sizeof copy.from_step);
    memcpy(copy.to_step, dense.step, sizeof copy.to_step);
    transfer_copy(lower, &copy);
    return copy.to;
}

/*
 * Instruction: one row per run of an instruction, written column by column.
 */
#include "store/tables/device_tables.h"

enum { TOGETHER = 4096 };

/* Some instructions of an engine. */
struct piece {
    struct filler *filler;
    const struct device_at *at;
    enum engine engine;
    const struct device_instruction *items;
    const int64_t *ids;
    const uint32_t *block_of; /* by instruction: the run it triggered, or NO_INDEX */
    size_t count;
    uint8_t present[TOGETHER];
    int64_t values[TOGETHER];
};

static const struct instruction *code_of(const struct piece *piece, size_t i)
{
    return &piece->at->program->code[piece->engine][piece->items[i].pc];
}

static const struct instruction_facts *facts_of(const struct piece *piece, size_t i)
{
    return &piece->at->core->profile->facts[piece->engine][piece->items[i].pc];
}

static void put_times(struct piece *piece)
{
    struct rows *rows = &piece->filler->rows;
    int64_t *start = rows_numbers(rows, INSTRUCTION_START_TS, piece->count);
    int64_t *end = rows_numbers(rows, INSTRUCTION_END_TS, piece->count);
    int64_t *duration = rows_numbers(rows, INSTRUCTION_DURATION_NS, piece->count);
    int64_t *waited = rows_numbers(rows, INSTRUCTION_EVT_WAIT_TIME_NS, piece->count);
    for (size_t i = 0; i < piece->count; i++) {
        const struct device_instruction *item = &piece->items[i];
        start[i] = whole_ns(item->start_ps);
        end[i] = whole_ns(item->end_ps);
        duration[i] = end[i] - start[i];
        waited[i] = whole_ns(item->wait_ps);
    }
    memcpy(rows_numbers(rows, INSTRUCTION_ID, piece->count), piece->ids,
           piece->count * sizeof *piece->ids);
    rows_fill(rows, INSTRUCTION_EXECUTION_INDEX,
              piece->at->core->profile->spans[piece->at->number].index, piece->count);
}

static const struct device_block *block_of(const struct piece *piece, size_t i)
{
    uint32_t run = piece->block_of[i];
    return run == NO_INDEX ? NULL : &piece->at->execution->blocks.items[run];
}

/* When what an instruction triggered began and ended. */
static void put_triggered(struct piece *piece)
{
    static const size_t columns[] = {INSTRUCTION_DMA_TRIGGER_START_TS,
                                     INSTRUCTION_DMA_TRIGGER_END_TS, INSTRUCTION_DMA_WAIT_TIME_NS};
    for (unsigned k = 0; k < 3; k++) {
        for (size_t i = 0; i < piece->count; i++) {
            const struct device_block *block = block_of(piece, i);
            piece->present[i] = block != NULL;
            if (block)
                piece->values[i] = whole_ns(k == 0   ? block->start_ps
                                            : k == 1 ? block->end_ps
                                                     : block->start_ps - piece->items[i].end_ps);
        }
        rows_maybe(&piece->filler->rows, columns[k], piece->values, piece->present, piece->count);
    }
}

static void put_numbers(struct piece *piece)
{
    struct rows *rows = &piece->filler->rows;
    int64_t *pc = rows_numbers(rows, INSTRUCTION_PC, piece->count);
    int64_t *compiler_pc = rows_numbers(rows, INSTRUCTION_COMPILER_PC, piece->count);
    int64_t *raw = rows_numbers(rows, INSTRUCTION_RAW_BIR_ID, piece->count);
    int64_t *iteration = rows_numbers(rows, INSTRUCTION_ITERATION, piece->count);
    int64_t subgraph = piece->at->physical_core << 48;
    for (size_t i = 0; i < piece->count; i++) {
        const struct device_instruction *item = &piece->items[i];
        pc[i] = compiler_pc[i] = item->pc;
        raw[i] = subgraph | (piece->at->names->first_of_engine[piece->engine] + item->pc);
        iteration[i] = item->iteration;
    }
}

static void put_names(struct piece *piece)
{
    struct rows *rows = &piece->filler->rows;
    const struct device_names *names = piece->at->names;
    uint32_t *track = rows_names(rows, INSTRUCTION_TIMELINE_TRACK, piece->count);
    uint32_t *opcode = rows_names(rows, INSTRUCTION_OPCODE, piece->count);
    uint32_t *compiled = rows_names(rows, INSTRUCTION_COMPILER_OPCODE, piece->count);
    uint32_t *operands = rows_names(rows, INSTRUCTION_OPERANDS, piece->count);
    uint32_t *ids = rows_names(rows, INSTRUCTION_BIR_ID, piece->count);
    for (size_t i = 0; i < piece->count; i++) {
        track[i] = facts_of(piece, i)->is_matmul ? names->matrix : names->engines[piece->engine];
        opcode[i] = compiled[i] = names->opcodes[code_of(piece, i)->opcode];
        operands[i] = names->operands[piece->engine][piece->items[i].pc];
        ids[i] = names->compiled[piece->engine][piece->items[i].pc];
    }
    rows_fill_name(rows, INSTRUCTION_ENGINE, names->engines[piece->engine], piece->count);
}

/* A name of its origin, which it may not have. */
static void put_origin_name(struct piece *piece, size_t column, const uint32_t *by_origin)
{
    for (size_t i = 0; i < piece->count; i++) {
        uint32_t origin = code_of(piece, i)->origin;
        fill_maybe_name(piece->filler, column, origin == NO_INDEX ? 0 : by_origin[origin]);
    }
}

/* A node without a name has none here. */
static void put_nodes(struct piece *piece, size_t column, const uint32_t *nodes)
{
    for (size_t i = 0; i < piece->count; i++) {
        uint32_t origin = code_of(piece, i)->origin;
        piece->present[i] = origin != NO_INDEX && nodes[origin] != 0;
        piece->values[i] = piece->present[i] ? nodes[origin] : 0;
    }
    rows_maybe(&piece->filler->rows, column, piece->values, piece->present, piece->count);
}

static void put_origins(struct piece *piece)
{
    const struct device_names *names = piece->at->names;
    put_origin_name(piece, INSTRUCTION_HLO_ATTRS, names->hlo_opcodes);
    put_origin_name(piece, INSTRUCTION_HLO_NAME, names->operations);
    put_origin_name(piece, INSTRUCTION_LAYER, names->layers);
    put_origin_name(piece, INSTRUCTION_STACK_FRAME_IDS, names->frames);
    put_origin_name(piece, INSTRUCTION_NKI_SOURCE_LOCATION, names->nki_places);
    put_origin_name(piece, INSTRUCTION_BIR_DEBUG_INFO_SOURCE_LOCATION, names->places);
    put_nodes(piece, INSTRUCTION_RAW_HLO_ID, names->hlo_nodes);
    put_nodes(piece, INSTRUCTION_RAW_FRAMEWORK_ID, names->framework_nodes);
}

/* Few instructions start DMA, so the columns of blocks lag behind and are filled up with nulls
 * in runs. */
static void put_bytes(struct piece *piece)
{
    static const size_t of_blocks[] = {
        INSTRUCTION_HBM_READ_BYTES,    INSTRUCTION_HBM_WRITE_BYTES,
        INSTRUCTION_SPILL_SAVE_BYTES,  INSTRUCTION_SPILL_RELOAD_BYTES,
        INSTRUCTION_INPUT_QUEUE_BYTES, INSTRUCTION_OUTPUT_QUEUE_BYTES,
        INSTRUCTION_WEIGHT_QUEUE_BYTES};
    enum { OF_BLOCKS = sizeof of_blocks / sizeof *of_blocks };
    static const struct block_facts nothing = {0};
    struct filler *filler = piece->filler;
    for (size_t i = 0; i < piece->count; i++) {
        const struct instruction_facts *facts = facts_of(piece, i);
        const struct device_block *block = block_of(piece, i);
        const struct block_facts *moved =
            block ? &piece->at->core->profile->block_facts[block->block] : &nothing;
        bool evacuates = facts->psum_read > 0 && facts->sbuf_write > 0;
        fill_int(filler, INSTRUCTION_SBUF_READ_BYTES,
                 (int64_t)(facts->sbuf_read + moved->sbuf_read));
        fill_int(filler, INSTRUCTION_SBUF_WRITE_BYTES,
                 (int64_t)(facts->sbuf_write + moved->sbuf_write));
        fill_int(filler, INSTRUCTION_PSUM_READ_BYTES, (int64_t)facts->psum_read);
        fill_int(filler, INSTRUCTION_PSUM_WRITE_BYTES, (int64_t)facts->psum_write);
        fill_int(filler, INSTRUCTION_PSUM_READ_SBUF_WRITE_BYTES,
                 evacuates ? (int64_t)facts->sbuf_write : 0);
        if (!block)
            continue;
        enum dma_queue_type type =
            device_queue_type(piece->at->program, piece->at->program->blocks[block->block].queue);
        const int64_t values[OF_BLOCKS] = {(int64_t)moved->hbm_read,
                                           (int64_t)moved->hbm_write,
                                           (int64_t)moved->spill_save,
                                           (int64_t)moved->spill_reload,
                                           type == DMA_TYPE_INPUT ? (int64_t)moved->bytes : 0,
                                           type == DMA_TYPE_OUTPUT ? (int64_t)moved->bytes : 0,
                                           (int64_t)moved->weight_read};
        for (size_t k = 0; k < OF_BLOCKS; k++) {
            size_t behind = filler->rows.columns[INSTRUCTION_SBUF_READ_BYTES].rows - 1 -
                            filler->rows.columns[of_blocks[k]].rows;
            if (behind > 0)
                rows_nulls(&filler->rows, of_blocks[k], behind);
            fill_int(filler, of_blocks[k], values[k]);
        }
    }
    for (size_t k = 0; k < OF_BLOCKS; k++) {
        size_t behind = filler->rows.columns[INSTRUCTION_SBUF_READ_BYTES].rows -
                        filler->rows.columns[of_blocks[k]].rows;
        if (behind > 0)
            rows_nulls(&filler->rows, of_blocks[k], behind);
    }
}

/* Other engines get nulls for the whole piece at once. */
static void put_tensor_work(struct piece *piece)
{
    static const size_t columns[] = {
        INSTRUCTION_TENSOR_ELEMENTS,        INSTRUCTION_RAW_FLOPS,
        INSTRUCTION_ADJUSTED_FLOPS,         INSTRUCTION_TENSOR_ELEMENTS_TRANSPOSE,
        INSTRUCTION_FLOPS_TRANSPOSE,        INSTRUCTION_ADJUSTED_FLOPS_TRANSPOSE,
        INSTRUCTION_TENSOR_INSTRUCTION_TYPE};
    struct filler *filler = piece->filler;
    if (piece->engine != ENGINE_TENSOR) {
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
            rows_nulls(&filler->rows, columns[k], piece->count);
        return;
    }
    for (size_t i = 0; i < piece->count; i++) {
        const struct instruction_facts *facts = facts_of(piece, i);
        uint8_t opcode = code_of(piece, i)->opcode;
        bool moves = facts->is_matmul || opcode == OP_LDWEIGHTS;
        fill_int(filler, INSTRUCTION_TENSOR_ELEMENTS, (int64_t)(moves ? facts->elements : 0));
        fill_int(filler, INSTRUCTION_RAW_FLOPS, (int64_t)facts->flops);
        fill_int(filler, INSTRUCTION_ADJUSTED_FLOPS, (int64_t)facts->adjusted_flops);
        fill_int(filler, INSTRUCTION_TENSOR_ELEMENTS_TRANSPOSE,
                 (int64_t)(facts->is_transpose ? facts->elements : 0));
        fill_int(filler, INSTRUCTION_FLOPS_TRANSPOSE,
                 (int64_t)(facts->is_transpose ? facts->flops : 0));
        fill_int(filler, INSTRUCTION_ADJUSTED_FLOPS_TRANSPOSE,
                 (int64_t)(facts->is_transpose ? facts->adjusted_flops : 0));
        fill_maybe_name(filler, INSTRUCTION_TENSOR_INSTRUCTION_TYPE,
                        moves ? piece->at->names->opcodes[opcode] : 0);
    }
}

static void put_functions(struct piece *piece)
{
    for (size_t i = 0; i < piece->count; i++) {
        const struct instruction *code = code_of(piece, i);
        fill_maybe_name(piece->filler, INSTRUCTION_SCALAR_ACTIVATION_FN,
                        code->opcode == OP_ACTIVATE ? piece->at->names->functions[code->alu] : 0);
    }
}

static void put_rest(struct piece *piece)
{
    static const size_t unknown[] = {INSTRUCTION_COMPILER_OPERANDS,
                                     INSTRUCTION_PENGUIN_ID,
                                     INSTRUCTION_RAW_PENGUIN_ID,
                                     INSTRUCTION_BIR_INSTRUCTION_NAME,
                                     INSTRUCTION_KERNEL_INSTRUCTION_NAME,
                                     INSTRUCTION_CRC_IN,
                                     INSTRUCTION_CRC_OUT,
                                     INSTRUCTION_INSTRUCTION_CHAIN,
                                     INSTRUCTION_PERFORMANCE_MODE};
    struct rows *rows = &piece->filler->rows;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        rows_nulls(rows, unknown[i], piece->count);
    rows_fill(rows, INSTRUCTION_PCORE_IDX, piece->at->physical_core, piece->count);
    rows_fill(rows, INSTRUCTION_RANK, piece->at->rank, piece->count);
}

/* By instruction of an engine: the run it triggered. */
static uint32_t *blocks_of(const struct device_at *at, enum engine engine)
{
    size_t count = at->execution->instructions[engine].count;
    uint32_t *block_of = mem_alloc(count * sizeof *block_of);
    for (size_t i = 0; i < count; i++)
        block_of[i] = NO_INDEX;
    for (size_t i = 0; i < at->execution->blocks.count; i++) {
        const struct device_block *block = &at->execution->blocks.items[i];
        if (block->trigger != NO_INDEX && block->trigger_engine == (uint32_t)engine)
            block_of[block->trigger] = (uint32_t)i;
    }
    return block_of;
}

static void put_piece(struct piece *piece, bool is_whole)
{
    put_times(piece);
    put_triggered(piece);
    if (is_whole) {
        put_numbers(piece);
        put_names(piece);
        put_origins(piece);
        put_bytes(piece);
        put_tensor_work(piece);
        put_functions(piece);
        put_rest(piece);
    }
    mem_touched(piece->count * sizeof *piece->items);
}

/* All columns, or those that differ between executions that are alike. */
static void put_engine(struct filler *filler, const struct device_at *at, enum engine engine,
                       bool is_whole)
{
    size_t count = at->execution->instructions[engine].count;
    uint32_t *block_of = blocks_of(at, engine);
    struct piece *piece = mem_alloc(sizeof *piece);
    *piece = (struct piece){.filler = filler, .at = at, .engine = engine};
    for (size_t first = 0; first < count && (!is_whole || fill_continue(filler));
         first += piece->count) {
        piece->items = at->execution->instructions[engine].items + first;
        piece->ids = at->ids.instructions[engine] + first;
        piece->block_of = block_of + first;
        piece->count = count - first < TOGETHER ? count - first : TOGETHER;
        put_piece(piece, is_whole);
    }
    mem_free(piece);
    mem_free(block_of);
}

static bool differs(size_t column)
{
    static const size_t columns[] = {INSTRUCTION_START_TS,
                                     INSTRUCTION_END_TS,
                                     INSTRUCTION_DURATION_NS,
                                     INSTRUCTION_EVT_WAIT_TIME_NS,
                                     INSTRUCTION_ID,
                                     INSTRUCTION_EXECUTION_INDEX,
                                     INSTRUCTION_DMA_TRIGGER_END_TS,
                                     INSTRUCTION_DMA_TRIGGER_START_TS,
                                     INSTRUCTION_DMA_WAIT_TIME_NS};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i] == column)
            return true;
    return false;
}

void put_instructions(struct filler *filler, const struct device_at *at)
{
    bool is_whole = !at->is_alike || fill_repeatable(filler) == 0;
    if (is_whole)
        fill_mark_begin(filler);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        put_engine(filler, at, (enum engine)e, is_whole);
    for (size_t i = 0; !is_whole && i < INSTRUCTION_COLUMNS; i++)
        if (!differs(i))
            fill_repeat(filler, i);
    if (is_whole)
        fill_mark_end(filler);
}

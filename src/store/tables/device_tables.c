/*
 * What the tables of device profiles share: names, ids, going through executions.
 */
#include "store/tables/device_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static uint32_t string_of(struct profile_maker *maker, const char *text)
{
    return catalog_string(&maker->source->catalog, text_of(text));
}

static void name_semaphores(struct profile_maker *maker, struct device_names *names)
{
    static const char *const kinds[] = {"sem_add_imm", "sem_sub_imm", "sem_wr_imm"};
    static const char *const times[] = {"complete", "read"};
    for (unsigned i = 0; i <= UPDATE_SET; i++)
        names->update_kinds[i] = string_of(maker, kinds[i]);
    for (unsigned i = 0; i <= UPDATE_AT_READ; i++)
        names->update_times[i] = string_of(maker, times[i]);
    for (unsigned i = 0; i < SEMAPHORES; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        names->semaphores[i] = string_of(maker, text);
    }
}

/* Tables that edges of Flow refer to. */
static void name_tables(struct profile_maker *maker, struct device_names *names)
{
    names->instruction_table = string_of(maker, table_schemas[TABLE_INSTRUCTION].name);
    names->transfer_table = string_of(maker, table_schemas[TABLE_TRANSFER].name);
    names->collective_table = string_of(maker, table_schemas[TABLE_CC_OP].name);
}

/* Interned before the threads start: afterward rows refer to strings by number, without a
 * lock. */
static void name_words(struct profile_maker *maker, struct device_names *names)
{
    static const char *const dma_operations[] = {"copy", "add", "min", "max"};
    static const char *const memories[] = {"none", "SB", "PSUM", "HBM"};
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        names->engines[i] = string_of(maker, hardware_engine_name((enum engine)i));
    names->matrix = string_of(maker, "TensorMatrix");
    for (unsigned i = 0; i < OP_COUNT; i++)
        names->opcodes[i] = string_of(maker, opcode_name((enum opcode)i));
    for (unsigned i = 0; i < FUNCTION_COUNT; i++)
        names->functions[i] = string_of(maker, function_name((enum function)i));
    for (unsigned i = 0; i < DMA_TYPES; i++)
        names->queue_types[i] = string_of(maker, device_queue_type_name((enum dma_queue_type)i));
    for (unsigned i = 0; i <= DMA_MAX; i++)
        names->dma_operations[i] = string_of(maker, dma_operations[i]);
    for (unsigned i = 0; i <= MEMORY_HBM; i++)
        names->memories[i] = string_of(maker, memories[i]);
    for (unsigned i = 0; i < DEVICE_UNITS; i++)
        names->units[i] = string_of(maker, device_unit_name((enum device_unit)i));
    for (unsigned i = 0; i < EDGE_KINDS; i++)
        names->edges[i] = string_of(maker, device_edge_name((enum device_edge_kind)i));
    for (unsigned i = 0; i < DEVICE_WAITS; i++)
        names->waits[i] = string_of(maker, device_wait_name((enum device_wait)i));
    names->dma = string_of(maker, "DMA");
    names->collectives = string_of(maker, "Collectives");
    names->by_dma = string_of(maker, "dma");
    names->by_instruction = string_of(maker, "instruction");
    names->cast = string_of(maker, "cast");
    names->collective = string_of(maker, "collective");
    names->none = string_of(maker, "none");
}

/* Texts of instructions: the same each time one runs. */
static void name_instructions(struct profile_maker *maker, struct device_names *names,
                              const struct core_program *program)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        uint32_t count = program->code_count[e];
        names->operands[e] = mem_alloc((size_t)count * sizeof(uint32_t));
        names->compiled[e] = mem_alloc((size_t)count * sizeof(uint32_t));
        for (uint32_t i = 0; i < count; i++) {
            char text[1024];
            size_t size = device_operands(program, (enum engine)e, i, text, sizeof text);
            names->operands[e][i] =
                catalog_string(&maker->source->catalog, (struct text){text, size});
            snprintf(text, sizeof text, "I-%u", names->first_of_engine[e] + i);
            names->compiled[e][i] = string_of(maker, text);
        }
    }
}

/* "[128, 512]": dimensions in use. */
static uint32_t name_dimensions(struct profile_maker *maker, const struct dma_end *end, bool steps)
{
    char text[256];
    size_t size = 0;
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++) {
        if (end->size[i] == 1 && (i + 1 < DMA_DIMENSIONS || size > 0))
            continue;
        int64_t value = steps ? end->step[i] : (int64_t)end->size[i];
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%" PRId64,
                                 size > 0 ? ", " : "[", value);
    }
    snprintf(text + size, sizeof text - size, "]");
    return string_of(maker, text);
}

static struct side_names name_side(struct profile_maker *maker, const struct dma_end *end)
{
    char partitions[64] = "", offset[32];
    if (end->memory == MEMORY_SBUF)
        snprintf(partitions, sizeof partitions, "%u-%u", end->partition,
                 end->partition + end->size[0] - 1);
    snprintf(offset, sizeof offset, "%" PRIu64, end->offset);
    return (struct side_names){.partitions = string_of(maker, partitions),
                               .shape = name_dimensions(maker, end, false),
                               .offset = string_of(maker, offset),
                               .steps = name_dimensions(maker, end, true)};
}

/* Of a block's first transfer; the others go on behind it. */
static void name_blocks(struct profile_maker *maker, struct device_names *names,
                        const struct device_profile *profile)
{
    const struct core_program *program = profile->program;
    names->blocks = mem_alloc((size_t)program->block_count * sizeof *names->blocks);
    for (uint32_t i = 0; i < program->block_count; i++) {
        const struct dma_block *block = &program->blocks[i];
        const struct dma_descriptor *descriptor = &program->descriptors[block->first];
        uint32_t variable = profile->descriptors[block->first].variable;
        bool is_cast =
            descriptor->operation == DMA_COPY && descriptor->from.dtype != descriptor->to.dtype;
        names->blocks[i] = (struct block_names){
            .read = name_side(maker, &descriptor->from),
            .write = name_side(maker, &descriptor->to),
            .semaphore = block->semaphore == NO_SEMAPHORE ? 0 : names->semaphores[block->semaphore],
            .operation = is_cast ? names->cast : names->dma_operations[descriptor->operation],
            .source = names->memories[descriptor->from.memory],
            .target = names->memories[descriptor->to.memory],
            .variable = variable == NO_INDEX ? 0 : names->variables[variable]};
    }
}

/* Stack frames of all cores share one table; first_frame is the number of frames of the cores
 * before this one. */
static void name_origins(struct profile_maker *maker, struct device_names *names,
                         const struct core_program *program, uint64_t first_frame)
{
    size_t count = program->origin_count;
    names->layers = mem_zeroed(count, sizeof(uint32_t));
    names->operations = mem_zeroed(count, sizeof(uint32_t));
    names->hlo_opcodes = mem_zeroed(count, sizeof(uint32_t));
    names->places = mem_zeroed(count, sizeof(uint32_t));
    names->nki_places = mem_zeroed(count, sizeof(uint32_t));
    names->frames = mem_zeroed(count, sizeof(uint32_t));
    bool *is_nki = device_nki_origins(program, maker->options->nki_source_root);
    for (size_t i = 0; i < count; i++) {
        const struct origin *origin = &program->origins[i];
        char text[1024];
        names->layers[i] = string_of(maker, origin->layer);
        names->operations[i] = string_of(maker, origin->operation);
        names->hlo_opcodes[i] = string_of(maker, origin->opcode);
        if (origin->file[0]) {
            snprintf(text, sizeof text, "%.1000s:%u", origin->file, origin->line);
            names->places[i] = string_of(maker, text);
            names->nki_places[i] = is_nki && is_nki[i] ? names->places[i] : 0;
        }
        if (origin->stack_frame) {
            snprintf(text, sizeof text, "%" PRIu64, first_frame + origin->stack_frame);
            names->frames[i] = string_of(maker, text);
        }
    }
    mem_free(is_nki);
}

/* Numbers of the origins' nodes in a roll-up. */
static uint32_t *nodes_of(const struct core_program *program, enum device_rollup_kind kind)
{
    struct device_rollup rollup;
    device_rollup_begin(&rollup, program, kind);
    uint32_t *nodes = mem_alloc(program->origin_count * sizeof *nodes);
    for (uint32_t i = 0; i < program->origin_count; i++)
        nodes[i] = rollup.of_origin[i];
    device_rollup_free(&rollup);
    return nodes;
}

/* Interns all text that rows of devices need, on one thread: filling tables in parallel then
 * only reads. Free with device_names_free. */
void device_names_make(struct profile_maker *maker)
{
    uint64_t first_frame = 0;
    if (!maker->devices)
        return;
    maker->device_names = mem_zeroed(maker->devices->count, sizeof *maker->device_names);
    for (size_t i = 0; i < maker->devices->count; i++) {
        const struct core_program *program = maker->devices->items[i].profile->program;
        struct device_names *names = &maker->device_names[i];
        name_words(maker, names);
        name_semaphores(maker, names);
        name_tables(maker, names);
        name_origins(maker, names, program, first_frame);
        first_frame += program->frame_count;
        names->variables = mem_zeroed(program->variable_count, sizeof(uint32_t));
        names->queues = mem_zeroed(program->queue_count, sizeof(uint32_t));
        for (uint32_t k = 0; k < program->variable_count; k++)
            names->variables[k] = string_of(maker, program->variables[k].name);
        for (uint32_t k = 0; k < program->queue_count; k++)
            names->queues[k] = string_of(maker, program->queues[k].name);
        names->hlo_nodes = nodes_of(program, ROLLUP_OPERATIONS);
        names->framework_nodes = nodes_of(program, ROLLUP_FRAMEWORK);
        for (unsigned e = 1; e < ENGINE_COUNT; e++)
            names->first_of_engine[e] = names->first_of_engine[e - 1] + program->code_count[e - 1];
        name_instructions(maker, names, program);
        name_blocks(maker, names, maker->devices->items[i].profile);
    }
}

void device_names_free(struct profile_maker *maker)
{
    for (size_t i = 0; maker->device_names && i < maker->devices->count; i++) {
        struct device_names *names = &maker->device_names[i];
        for (unsigned e = 0; e < ENGINE_COUNT; e++) {
            mem_free(names->operands[e]);
            mem_free(names->compiled[e]);
        }
        mem_free(names->blocks);
        mem_free(names->layers);
        mem_free(names->operations);
        mem_free(names->hlo_opcodes);
        mem_free(names->places);
        mem_free(names->nki_places);
        mem_free(names->frames);
        mem_free(names->variables);
        mem_free(names->queues);
        mem_free(names->hlo_nodes);
        mem_free(names->framework_nodes);
    }
    mem_free(maker->device_names);
}

struct device_at device_at_core(const struct profile_maker *maker, size_t number)
{
    const struct device_core *core = &maker->devices->items[number];
    const struct ntff_header *header = ntff_header(core->profile->ntff);
    return (struct device_at){.maker = maker,
                              .core = core,
                              .names = &maker->device_names[number],
                              .program = core->profile->program,
                              .rank = header->rank,
                              .physical_core = header->core_in_logical};
}

int64_t device_first_id(const struct device_at *at, uint32_t lane)
{
    return (int64_t)(at->maker->first_event[at->core->first_track + lane] +
                     device_lane_first(at->core, at->number, lane));
}

/* Packets have no ids of their own here: a transfer refers to the row of its block. False if
 * there is no item. */
bool device_item_id(const struct device_at *at, struct device_item item, int64_t *id,
                    uint32_t *table)
{
    const struct device_item_ids *ids = &at->ids;
    const struct device_names *names = at->names;
    switch ((enum device_item_kind)item.kind) {
    case ITEM_INSTRUCTION:
        *id = ids->instructions[item.engine][item.index];
        *table = names->instruction_table;
        return true;
    case ITEM_TRANSFER:
        *id = ids->blocks[at->execution->transfers.items[item.index].run];
        *table = names->transfer_table;
        return true;
    case ITEM_BLOCK:
        *id = ids->blocks[item.index];
        *table = names->transfer_table;
        return true;
    case ITEM_COLLECTIVE:
        *id = ids->collectives[item.index];
        *table = names->collective_table;
        return true;
    case ITEM_ERROR:
    case ITEM_NONE:
        break;
    }
    return false;
}

bool fill_cores(struct profile_maker *maker, enum table_number table, device_put *put,
                struct error *err)
{
    if (!maker->devices)
        return true;
    struct filler filler = fill_begin(maker, table, err);
    for (size_t i = 0; i < maker->devices->count && fill_continue(&filler); i++) {
        struct device_at at = device_at_core(maker, i);
        put(&filler, &at);
    }
    return fill_end(&filler);
}

void record_put_real(struct record *record, size_t column, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    record_put(record, column, bits);
}

void fill_ends(struct filler *filler, size_t column, int64_t start_ps, int64_t end_ps)
{
    int64_t start = whole_ns(start_ps), end = whole_ns(end_ps);
    fill_int(filler, column, start);
    fill_int(filler, column + 1, end);
    fill_int(filler, column + 2, end - start);
}

void record_put_ends(struct record *record, size_t column, int64_t start_ps, int64_t end_ps)
{
    int64_t start = whole_ns(start_ps), end = whole_ns(end_ps);
    record_put(record, column, start);
    record_put(record, column + 1, end);
    record_put(record, column + 2, end - start);
}

void fill_int(struct filler *filler, size_t column, int64_t value)
{
    rows_int(&filler->rows, column, value);
}

void fill_null(struct filler *filler, size_t column)
{
    rows_nulls(&filler->rows, column, 1);
}

void fill_real(struct filler *filler, size_t column, double value)
{
    if (isfinite(value))
        rows_double(&filler->rows, column, value);
    else
        rows_nulls(&filler->rows, column, 1);
}

void fill_name(struct filler *filler, size_t column, uint32_t name)
{
    rows_name(&filler->rows, column, name);
}

void fill_maybe_name(struct filler *filler, size_t column, uint32_t name)
{
    fill_string(filler, column, name);
}

void fill_format(struct filler *filler, size_t column, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct text made = {text, size < 0                     ? 0
                              : (size_t)size < sizeof text ? (size_t)size
                                                           : sizeof text - 1};
    fill_word(filler, column, made);
}

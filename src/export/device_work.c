/*
 * The work of instructions and transfers in device profiles: operands, operations, bytes. Named
 * like the columns of their tables.
 */
#include "export/device_work.h"

static const char *const keys[DEVICE_KEYS] = {[KEY_OPERANDS] = "operands",
                                              [KEY_RAW_FLOPS] = "raw_flops",
                                              [KEY_SBUF_READ] = "sbuf_read_bytes",
                                              [KEY_SBUF_WRITE] = "sbuf_write_bytes",
                                              [KEY_PSUM_READ] = "psum_read_bytes",
                                              [KEY_PSUM_WRITE] = "psum_write_bytes",
                                              [KEY_TRANSFER_BYTES] = "transfer_bytes",
                                              [KEY_PACKETS] = "packets"};

const char *device_key_name(enum device_key key)
{
    return keys[key];
}

/* A lane's events in order; one of the lists. */
struct lane_work {
    const struct device_core *core;
    enum engine engine;
    const struct device_instruction **instructions;
    const struct device_block **blocks;
    uint64_t count;
    const uint32_t *operands; /* by instruction of the engine: texts */
};

/* Texts of the operands of instructions that ran. */
static uint32_t *find_operands(struct device_work_list *list, const struct device_core *core,
                               enum engine engine)
{
    const struct core_program *program = core->profile->program;
    uint32_t *operands = mem_zeroed(program->code_count[engine], sizeof *operands);
    for (uint32_t i = 0; i < program->code_count[engine]; i++) {
        char text[1024];
        if (core->analysis->runs[engine][i] == 0)
            continue;
        size_t size = device_operands(program, engine, i, text, sizeof text);
        operands[i] = intern_add(&list->texts, (struct text){text, size});
    }
    *array_push(&list->operands) = operands;
    return operands;
}

static void add_instructions(struct device_work_list *list, const struct device_core *core,
                             enum engine engine)
{
    const uint32_t *operands = find_operands(list, core, engine);
    for (uint32_t n = 0; n < core->execution_count; n++) {
        const struct device_instruction *item;
        array_each (item, &core->executions[n].instructions[engine]) {
            uint32_t lane = device_instruction_lane(core, engine, item->pc);
            struct lane_work *work = &list->lanes[core->first_track + lane];
            if (!work->instructions) {
                *work = (struct lane_work){.core = core, .engine = engine, .operands = operands};
                work->instructions =
                    mem_alloc(core->lanes.items[lane].events * sizeof *work->instructions);
            }
            work->instructions[work->count++] = item;
        }
    }
}

static void add_blocks(struct device_work_list *list, const struct device_core *core)
{
    const struct core_program *program = core->profile->program;
    for (uint32_t n = 0; n < core->execution_count; n++) {
        const struct device_block *item;
        array_each (item, &core->executions[n].blocks) {
            uint32_t lane =
                device_lane_of(core, DEVICE_LANE_QUEUE, program->blocks[item->block].queue, 0);
            struct lane_work *work = &list->lanes[core->first_track + lane];
            if (!work->blocks)
                work->blocks = mem_alloc(core->lanes.items[lane].events * sizeof *work->blocks);
            work->blocks[work->count++] = item;
        }
    }
}

void device_work_find(struct device_work_list *list, const struct device_cores *cores,
                      size_t tracks)
{
    *list = (struct device_work_list){.lanes = mem_zeroed(tracks, sizeof *list->lanes),
                                      .lane_count = tracks};
    intern_init(&list->texts);
    for (size_t i = 0; i < cores->count; i++) {
        for (unsigned e = 0; e < ENGINE_COUNT; e++)
            add_instructions(list, &cores->items[i], (enum engine)e);
        add_blocks(list, &cores->items[i]);
    }
}

void device_work_free(struct device_work_list *list)
{
    for (size_t i = 0; i < list->lane_count; i++) {
        mem_free(list->lanes[i].instructions);
        mem_free(list->lanes[i].blocks);
    }
    for (size_t i = 0; i < list->operands.count; i++)
        mem_free(list->operands.items[i]);
    array_free(&list->operands);
    mem_free(list->lanes);
    intern_free(&list->texts);
}

static size_t keep_values(const uint64_t all[static DEVICE_KEYS],
                          struct device_value values[static DEVICE_KEYS])
{
    size_t count = 0;
    for (unsigned key = 0; key < DEVICE_KEYS; key++)
        if (all[key] != 0)
            values[count++] = (struct device_value){(enum device_key)key, all[key]};
    return count;
}

size_t device_work_values(const struct device_work_list *list, uint32_t track, uint64_t event,
                          struct device_value values[static DEVICE_KEYS])
{
    const struct lane_work *work = track < list->lane_count ? &list->lanes[track] : NULL;
    if (!work || event >= work->count)
        return 0;
    if (work->blocks) {
        const struct device_block *block = work->blocks[event];
        return keep_values(
            (uint64_t[DEVICE_KEYS]){
                [KEY_TRANSFER_BYTES] = block->bytes, [KEY_PACKETS] = block->transfers},
            values);
    }
    uint32_t pc = work->instructions[event]->pc;
    const struct instruction_facts *facts = &work->core->profile->facts[work->engine][pc];
    return keep_values((uint64_t[DEVICE_KEYS]){[KEY_OPERANDS] = work->operands[pc],
                                               [KEY_RAW_FLOPS] = facts->flops,
                                               [KEY_SBUF_READ] = facts->sbuf_read,
                                               [KEY_SBUF_WRITE] = facts->sbuf_write,
                                               [KEY_PSUM_READ] = facts->psum_read,
                                               [KEY_PSUM_WRITE] = facts->psum_write},
                       values);
}

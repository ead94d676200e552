/*
 * Time, operations and bytes of layers, framework operators and HLO operations.
 */
#include "analyze/device/device.h"

/* Ids of paths are numbers of nodes, as each path that is new gets both at once. */
static uint32_t node_at(struct device_rollup *rollup, struct text path, size_t name,
                        uint32_t parent)
{
    uint32_t known = intern_find(&rollup->paths, path);
    if (known != INTERN_NONE)
        return known;
    uint32_t id = intern_add(&rollup->paths, path);
    struct text kept = intern_text(&rollup->paths, id);
    *array_push(&rollup->nodes) = (struct device_rollup_node){
        .path = kept, .name = {kept.data + name, kept.size - name}, .parent = parent};
    return id;
}

/* The node of a path like "/gpt/block0", and all above it. */
static uint32_t tree_node(struct device_rollup *rollup, struct text path)
{
    uint32_t node = 0;
    for (size_t end = 1, name = 0; end <= path.size; end++) {
        if (path.data[end - 1] == '/')
            name = end;
        if (name < end && (end == path.size || path.data[end] == '/'))
            node = node_at(rollup, (struct text){path.data, end}, name, node);
    }
    return node;
}

static struct text path_of(const struct origin *origin, enum device_rollup_kind kind)
{
    struct text path = text_of(kind == ROLLUP_LAYERS      ? origin->layer
                               : kind == ROLLUP_FRAMEWORK ? origin->framework
                                                          : origin->operation);
    while (path.size > 0 && path.data[path.size - 1] == '/')
        path.size--;
    return path;
}

void device_rollup_begin(struct device_rollup *rollup, const struct core_program *program,
                         enum device_rollup_kind kind)
{
    *rollup = (struct device_rollup){0};
    intern_init(&rollup->paths);
    *array_push(&rollup->nodes) =
        (struct device_rollup_node){.path = TEXT(""), .name = TEXT(""), .parent = NO_INDEX};
    rollup->of_origin = mem_zeroed(program->origin_count, sizeof *rollup->of_origin);
    for (uint32_t i = 0; i < program->origin_count; i++) {
        struct text path = path_of(&program->origins[i], kind);
        rollup->of_origin[i] =
            kind == ROLLUP_LAYERS ? tree_node(rollup, path) : node_at(rollup, path, 0, 0);
    }
}

void device_rollup_free(struct device_rollup *rollup)
{
    struct device_rollup_node *node;
    array_each (node, &rollup->nodes)
        array_free(&node->intervals);
    array_free(&rollup->nodes);
    mem_free(rollup->of_origin);
    intern_free(&rollup->paths);
}

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_work *)a)->start_ps < ((const struct device_work *)b)->start_ps;
}

/* A DMA block belongs to the source line of the instruction that triggered it. Sorted by start,
 * as device_rollup_add merges intervals in one pass. */
void device_works_find(device_works *works, const struct device_profile *profile,
                       const struct device_execution *execution)
{
    const struct core_program *program = profile->program;
    size_t count = execution->blocks.count;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        count += execution->instructions[e].count;
    works->count = 0;
    array_reserve(works, count);
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        const struct device_instruction *item;
        array_each (item, &execution->instructions[e])
            works->items[works->count++] =
                (struct device_work){item->start_ps, item->end_ps,
                                     program->code[e][item->pc].origin, item->pc, (uint8_t)e};
    }
    const struct device_block *item;
    array_each (item, &execution->blocks) {
        uint32_t origin = NO_INDEX;
        if (item->trigger != NO_INDEX) {
            enum engine engine = (enum engine)item->trigger_engine;
            uint32_t pc = execution->instructions[engine].items[item->trigger].pc;
            origin = program->code[engine][pc].origin;
        }
        works->items[works->count++] =
            (struct device_work){item->start_ps, item->end_ps, origin, item->block, ENGINE_COUNT};
    }
    sort_items(works->items, works->count, sizeof *works->items, by_start, NULL);
}

static void add_interval(struct device_rollup_node *node, const struct device_rollup_interval *add)
{
    size_t count = node->intervals.count;
    if (count == 0 || add->start_ps > node->intervals.items[count - 1].end_ps) {
        *array_push(&node->intervals) = *add;
        return;
    }
    struct device_rollup_interval *last = &node->intervals.items[count - 1];
    last->end_ps = add->end_ps > last->end_ps ? add->end_ps : last->end_ps;
    last->elements += add->elements;
    last->transpose_elements += add->transpose_elements;
    last->flops += add->flops;
    last->transpose_flops += add->transpose_flops;
    last->hbm_bytes += add->hbm_bytes;
}

static void add_block(struct device_rollup_node *node, const struct block_facts *facts)
{
    node->hbm_read += facts->hbm_read;
    node->hbm_write += facts->hbm_write;
    node->sbuf_read += facts->sbuf_read;
    node->sbuf_write += facts->sbuf_write;
    node->load_weight_bytes += facts->weight_read;
}

static void add_instruction(struct device_rollup_node *node, const struct device_work *work,
                            const struct instruction_facts *facts)
{
    node->flops += facts->flops;
    node->transpose_flops += facts->is_transpose ? facts->flops : 0;
    node->sbuf_read += facts->sbuf_read;
    node->sbuf_write += facts->sbuf_write;
    node->instructions[work->engine]++;
    node->time_ps[work->engine] += work->end_ps - work->start_ps;
}

/* Works must be sorted by start. Each one adds to its node and all ancestors, so a node's time
 * is a union of intervals and not a sum over children. */
void device_rollup_add(struct device_rollup *rollup, const struct device_profile *profile,
                       const device_works *works)
{
    const struct core_program *program = profile->program;
    const struct device_work *work;
    array_each (work, works) {
        struct device_rollup_interval interval = {.start_ps = work->start_ps,
                                                  .end_ps = work->end_ps};
        const struct block_facts *block = NULL;
        const struct instruction_facts *facts = NULL;
        if (work->engine == ENGINE_COUNT) {
            block = &profile->block_facts[work->part];
            interval.hbm_bytes = block->hbm_read + block->hbm_write;
        } else {
            facts = &profile->facts[work->engine][work->part];
            interval.elements = facts->is_matmul ? facts->elements : 0;
            interval.transpose_elements = facts->is_transpose ? facts->elements : 0;
            interval.flops = facts->flops;
            interval.transpose_flops = facts->is_transpose ? facts->flops : 0;
        }
        uint32_t at = work->origin < program->origin_count ? rollup->of_origin[work->origin] : 0;
        for (; at != NO_INDEX; at = rollup->nodes.items[at].parent) {
            struct device_rollup_node *node = &rollup->nodes.items[at];
            add_interval(node, &interval);
            if (block)
                add_block(node, block);
            else
                add_instruction(node, work, facts);
        }
    }
    for (uint32_t i = 0; i < program->origin_count; i++)
        for (uint32_t at = rollup->of_origin[i]; at != NO_INDEX;
             at = rollup->nodes.items[at].parent)
            rollup->nodes.items[at].model_flops += program->origins[i].model_flops;
}

int64_t device_rollup_active_ps(const struct device_rollup_node *node)
{
    int64_t sum = 0;
    const struct device_rollup_interval *interval;
    array_each (interval, &node->intervals)
        sum = add_saturated(sum, sub_saturated(interval->end_ps, interval->start_ps));
    return sum;
}

/*
 * Time, operations and bytes of layers, framework operators and HLO operations.
 */
#include "device/device.h"

/* A piece of work, on its way to its node. */
struct work {
    int64_t start_ps, end_ps;
    uint32_t node;
    uint32_t index;
    uint8_t engine; /* ENGINE_COUNT: a block */
};
typedef ARRAY(struct work) work_list;

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
    return ((const struct work *)a)->start_ps < ((const struct work *)b)->start_ps;
}

static uint32_t node_of_instruction(const struct device_rollup *rollup,
                                    const struct core_program *program, unsigned engine,
                                    uint32_t pc)
{
    uint32_t origin = program->code[engine][pc].origin;
    return origin < program->origin_count ? rollup->of_origin[origin] : 0;
}

static void gather(const struct device_rollup *rollup, const struct core_program *program,
                   const struct device_execution *execution, work_list *works)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < execution->instructions[e].count; i++) {
            const struct device_instruction *item = &execution->instructions[e].items[i];
            *array_push(works) =
                (struct work){item->start_ps, item->end_ps,
                              node_of_instruction(rollup, program, e, item->pc), i, (uint8_t)e};
        }
    for (uint32_t i = 0; i < execution->blocks.count; i++) {
        const struct device_block *item = &execution->blocks.items[i];
        uint32_t node = 0;
        if (item->trigger != NO_INDEX)
            node = node_of_instruction(
                rollup, program, item->trigger_engine,
                execution->instructions[item->trigger_engine].items[item->trigger].pc);
        *array_push(works) = (struct work){item->start_ps, item->end_ps, node, i, ENGINE_COUNT};
    }
    sort_items(works->items, works->count, sizeof *works->items, by_start, NULL);
}

/* What one piece of work adds to its node and to those above it. */
struct addition {
    struct device_rollup_interval interval;
    struct instruction_facts facts;
    struct descriptor_facts bytes;
    uint64_t weight_bytes;
};

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
    last->hbm_bytes += add->hbm_bytes;
}

static void add_to_node(struct device_rollup_node *node, const struct work *work,
                        const struct addition *add)
{
    add_interval(node, &add->interval);
    node->flops += add->facts.flops;
    node->transpose_flops += add->facts.is_transpose ? add->facts.flops : 0;
    node->hbm_read += add->bytes.hbm_read;
    node->hbm_write += add->bytes.hbm_write;
    node->sbuf_read += add->facts.sbuf_read + add->bytes.sbuf_read;
    node->sbuf_write += add->facts.sbuf_write + add->bytes.sbuf_write;
    node->load_weight_bytes += add->weight_bytes;
    if (work->engine < ENGINE_COUNT) {
        node->instructions[work->engine]++;
        node->time_ps[work->engine] += work->end_ps - work->start_ps;
    }
}

static void take_block(struct addition *add, const struct device_profile *profile,
                       const struct device_block *item)
{
    const struct core_program *program = profile->program;
    const struct dma_block *block = &program->blocks[item->block];
    for (uint32_t i = 0; i < block->count; i++) {
        uint32_t index = block->first + i;
        const struct descriptor_facts *facts = &profile->descriptors[index];
        const struct dma_end *from = &program->descriptors[index].from;
        add->bytes.hbm_read += facts->hbm_read;
        add->bytes.hbm_write += facts->hbm_write;
        add->bytes.sbuf_read += facts->sbuf_read;
        add->bytes.sbuf_write += facts->sbuf_write;
        if (from->memory == MEMORY_HBM &&
            program->variables[from->variable].kind == VARIABLE_WEIGHT)
            add->weight_bytes += facts->hbm_read;
    }
    add->interval.hbm_bytes = add->bytes.hbm_read + add->bytes.hbm_write;
}

static void take_instruction(struct addition *add, const struct instruction_facts *facts)
{
    add->facts = *facts;
    if (facts->is_matmul) {
        add->interval.elements = facts->elements;
        add->interval.transpose_elements = facts->is_transpose ? facts->elements : 0;
    }
}

void device_rollup_add(struct device_rollup *rollup, const struct device_profile *profile,
                       const struct device_execution *execution)
{
    const struct core_program *program = profile->program;
    work_list works = {0};
    gather(rollup, program, execution, &works);
    const struct work *work;
    array_each (work, &works) {
        struct addition add = {.interval = {.start_ps = work->start_ps, .end_ps = work->end_ps}};
        if (work->engine == ENGINE_COUNT)
            take_block(&add, profile, &execution->blocks.items[work->index]);
        else
            take_instruction(
                &add, &profile->facts[work->engine]
                                     [execution->instructions[work->engine].items[work->index].pc]);
        for (uint32_t at = work->node; at != NO_INDEX; at = rollup->nodes.items[at].parent)
            add_to_node(&rollup->nodes.items[at], work, &add);
    }
    for (uint32_t i = 0; i < program->origin_count; i++)
        for (uint32_t at = rollup->of_origin[i]; at != NO_INDEX;
             at = rollup->nodes.items[at].parent)
            rollup->nodes.items[at].model_flops += program->origins[i].model_flops;
    array_free(&works);
}

int64_t device_rollup_active_ps(const struct device_rollup_node *node)
{
    int64_t sum = 0;
    const struct device_rollup_interval *interval;
    array_each (interval, &node->intervals)
        sum = add_saturated(sum, sub_saturated(interval->end_ps, interval->start_ps));
    return sum;
}

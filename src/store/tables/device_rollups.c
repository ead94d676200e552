/*
 * Roll-ups over all executions of a core: FrameworkNode, FrameworkInstruction, HloInstruction,
 * OpcodeSummary, TensorInfo.
 */
#include "store/tables/device_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void put_output(struct filler *filler, size_t column, struct output *text)
{
    fill_word(filler, column, (struct text){text->data, text->size});
    text->size = 0;
}

static void put_number(struct output *out, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        digits[--at] = '-';
    output_write(out, digits + at, sizeof digits - at);
}

/* Two digits behind the point, none for 0. */
static void put_percent(struct output *out, double value)
{
    int64_t hundredths = value > 0 && value < 1e12 ? (int64_t)(value * 100 + 0.5) : 0;
    put_number(out, hundredths / 100);
    if (hundredths % 100 == 0)
        return;
    output_char(out, '.');
    output_char(out, (char)('0' + hundredths / 10 % 10));
    output_char(out, (char)('0' + hundredths % 10));
}

/* Start, end and [[start, end], ...]. */
static void put_intervals(struct filler *filler, size_t start, size_t end, size_t list,
                          const struct device_rollup_node *node, struct output *text)
{
    size_t count = node->intervals.count;
    fill_int(filler, start, count ? whole_ns(node->intervals.items[0].start_ps) : 0);
    fill_int(filler, end, count ? whole_ns(node->intervals.items[count - 1].end_ps) : 0);
    output_char(text, '[');
    for (size_t i = 0; i < count; i++) {
        const struct device_rollup_interval *interval = &node->intervals.items[i];
        mem_touched(sizeof *interval);
        output_text(text, i ? ",[" : "[");
        put_number(text, whole_ns(interval->start_ps));
        output_char(text, ',');
        put_number(text, whole_ns(interval->end_ps));
        output_char(text, ']');
    }
    output_char(text, ']');
    put_output(filler, list, text);
}

enum interval_part { PART_ELEMENTS, PART_TRANSPOSES, PART_BYTES };

static uint64_t part_of(const struct device_rollup_interval *interval, enum interval_part part)
{
    return part == PART_ELEMENTS     ? interval->elements
           : part == PART_TRANSPOSES ? interval->transpose_elements
                                     : interval->hbm_bytes;
}

static void put_parts_text(struct filler *filler, size_t column,
                           const struct device_rollup_node *node, enum interval_part part,
                           struct output *text)
{
    output_char(text, '[');
    for (size_t i = 0; i < node->intervals.count; i++) {
        if (i > 0)
            output_char(text, ',');
        put_number(text, (int64_t)part_of(&node->intervals.items[i], part));
    }
    output_char(text, ']');
    put_output(filler, column, text);
}

static void put_parts(struct filler *filler, size_t column, const struct device_rollup_node *node,
                      enum interval_part part)
{
    uint32_t count = (uint32_t)node->intervals.count;
    for (uint32_t i = 0; i < count; i++)
        rows_number_item(&filler->rows, column, (int64_t)part_of(&node->intervals.items[i], part));
    rows_end_lists(&filler->rows, column, &count, 1);
}

/* --- FrameworkNode --- */

/* Children of each node: numbers, 0 for none. */
struct tree {
    uint32_t *first_child, *next_sibling;
};

static struct tree make_tree(const struct device_rollup *rollup)
{
    size_t count = rollup->nodes.count;
    struct tree tree = {mem_zeroed(count, sizeof(uint32_t)), mem_zeroed(count, sizeof(uint32_t))};
    for (size_t i = count; i-- > 1;) {
        uint32_t parent = rollup->nodes.items[i].parent;
        tree.next_sibling[i] = tree.first_child[parent];
        tree.first_child[parent] = (uint32_t)i;
    }
    return tree;
}

static void put_children(struct filler *filler, const struct device_rollup *rollup,
                         const struct tree *tree, uint32_t number, struct output *text)
{
    struct json json;
    for (int ids = 0; ids < 2; ids++) {
        json_begin(&json, text, false);
        json_open(&json, '[');
        for (uint32_t i = tree->first_child[number]; i != 0; i = tree->next_sibling[i]) {
            if (ids)
                json_uint(&json, i);
            else
                json_text(&json, rollup->nodes.items[i].path);
        }
        json_close(&json, ']');
        text->size -= text->size > 0 && text->data[text->size - 1] == '\n';
        put_output(filler, ids ? NODE_CHILDREN_IDS : NODE_CHILDREN_NAMES, text);
    }
}

/* What a unit could do in the time of an interval, and did, in percent. */
static double percent_of(const struct device_rollup_interval *interval, double amount, double rate)
{
    double length_s = (double)(interval->end_ps - interval->start_ps) / 1e12;
    return length_s > 0 ? 100 * amount / (rate * length_s) : 0;
}

static void put_rates(struct filler *filler, const struct device_at *at,
                      const struct device_rollup_node *node, struct output *text)
{
    static const size_t columns[] = {NODE_HFU_PER_INTERVAL, NODE_MFU_PER_INTERVAL,
                                     NODE_MBU_PER_INTERVAL};
    double peak = device_peak_flops(at->core->profile->hardware);
    double hbm = device_hbm_rate(at->core->profile->hardware);
    for (unsigned kind = 0; kind < 3; kind++) {
        output_char(text, '[');
        for (size_t i = 0; i < node->intervals.count; i++) {
            const struct device_rollup_interval *interval = &node->intervals.items[i];
            double flops = (double)(interval->flops - (kind ? interval->transpose_flops : 0));
            if (i > 0)
                output_char(text, ',');
            put_percent(text, kind == 2 ? percent_of(interval, (double)interval->hbm_bytes, hbm)
                                        : percent_of(interval, flops, peak));
        }
        output_char(text, ']');
        put_output(filler, columns[kind], text);
    }
}

static void put_node_totals(struct filler *filler, const struct device_rollup_node *node)
{
    static const struct {
        size_t count, time;
    } engines[ENGINE_COUNT] = {
        [ENGINE_TENSOR] = {NODE_TENSOR_ENGINE_INSTRUCTION_COUNT, NODE_TOTAL_TIME_TENSOR},
        [ENGINE_VECTOR] = {NODE_VECTOR_ENGINE_INSTRUCTION_COUNT, NODE_TOTAL_TIME_VECTOR},
        [ENGINE_SCALAR] = {NODE_SCALAR_ENGINE_INSTRUCTION_COUNT, NODE_TOTAL_TIME_SCALAR},
        [ENGINE_GPSIMD] = {NODE_GPSIMD_ENGINE_INSTRUCTION_COUNT, NODE_TOTAL_TIME_GPSIMD},
        [ENGINE_SYNC] = {NODE_SYNC_ENGINE_INSTRUCTION_COUNT, NODE_TOTAL_TIME_SYNC}};
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        fill_int(filler, engines[e].count, (int64_t)node->instructions[e]);
        fill_format(filler, engines[e].time, "%" PRId64, whole_ns(node->time_ps[e]));
    }
    fill_int(filler, NODE_HBM_READ_BYTES, (int64_t)node->hbm_read);
    fill_int(filler, NODE_HBM_WRITE_BYTES, (int64_t)node->hbm_write);
    fill_int(filler, NODE_SBUF_READ_BYTES, (int64_t)node->sbuf_read);
    fill_int(filler, NODE_SBUF_WRITE_BYTES, (int64_t)node->sbuf_write);
    fill_int(filler, NODE_LOAD_WEIGHT_BYTES, (int64_t)node->load_weight_bytes);
    fill_null(filler, NODE_TOTAL_CHANNELS_SCALAR);
    fill_null(filler, NODE_TOTAL_CHANNELS_VECTOR);
}

/* One output buffer serves all texts of all rows. The root has an empty path, which is shown as
 * "/". */
static void put_layers(struct filler *filler, const struct device_at *at)
{
    const struct device_rollup *rollup = &at->core->analysis->rollups[ROLLUP_LAYERS];
    struct output text;
    double peak = device_peak_flops(at->core->profile->hardware);
    struct tree tree = make_tree(rollup);
    output_memory(&text);
    for (uint32_t i = 0; i < rollup->nodes.count && fill_continue(filler); i++) {
        const struct device_rollup_node *node = &rollup->nodes.items[i];
        double seconds = (double)device_rollup_active_ps(node) / 1e12;
        fill_word(filler, NODE_NODE_NAME, node->path.size ? node->path : TEXT("/"));
        put_children(filler, rollup, &tree, i, &text);
        struct text parent =
            node->parent == NO_INDEX ? TEXT("") : rollup->nodes.items[node->parent].path;
        fill_word(filler, NODE_PARENT_NAME,
                  node->parent != NO_INDEX && parent.size == 0 ? TEXT("/") : parent);
        put_intervals(filler, NODE_START_TS, NODE_END_TS, NODE_TIME_INTERVALS, node, &text);
        put_parts_text(filler, NODE_ELEMENT_COUNT_PER_INTERVAL, node, PART_ELEMENTS, &text);
        put_parts_text(filler, NODE_TRANSPOSE_ELEMENT_COUNT_PER_INTERVAL, node, PART_TRANSPOSES,
                       &text);
        put_parts_text(filler, NODE_HBM_TRANSFER_SIZE_PER_INTERVAL, node, PART_BYTES, &text);
        fill_real(filler, NODE_HFU, 100 * (double)node->flops / (peak * seconds));
        fill_real(filler, NODE_MFU,
                  100 * (double)(node->flops - node->transpose_flops) / (peak * seconds));
        put_rates(filler, at, node, &text);
        put_node_totals(filler, node);
        fill_int(filler, NODE_RANK, at->rank);
    }
    mem_free(tree.first_child);
    mem_free(tree.next_sibling);
    output_discard(&text);
}

bool make_layers(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_NODE, put_layers, err);
}

/* --- FrameworkInstruction, HloInstruction --- */

/* Number of the first instruction of each node, over all engines; NO_INDEX: none. */
static uint32_t *first_instructions(const struct device_at *at, const struct device_rollup *rollup)
{
    uint32_t *first = mem_alloc(rollup->nodes.count * sizeof *first);
    for (size_t i = 0; i < rollup->nodes.count; i++)
        first[i] = NO_INDEX;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t pc = 0; pc < at->program->code_count[e]; pc++) {
            uint32_t origin = at->program->code[e][pc].origin;
            if (origin != NO_INDEX && first[rollup->of_origin[origin]] == NO_INDEX)
                first[rollup->of_origin[origin]] = at->names->first_of_engine[e] + pc;
        }
    return first;
}

/* The origin that a node of operations has first: tells its framework operator. */
static uint32_t *first_origins(const struct device_at *at, const struct device_rollup *rollup)
{
    uint32_t *first = mem_alloc(rollup->nodes.count * sizeof *first);
    for (size_t i = 0; i < rollup->nodes.count; i++)
        first[i] = NO_INDEX;
    for (uint32_t i = at->program->origin_count; i-- > 0;)
        first[rollup->of_origin[i]] = i;
    return first;
}

/* Columns that both tables have, by table. */
struct operator_columns {
    size_t id, bir, penguin, hlo, framework, name, invocation, start, end, intervals, elements,
        transposes, bytes, hbm_read, hbm_write, sbuf_read, sbuf_write, weights, rank;
};
#define OPERATOR_COLUMNS(prefix, name_column)                                                      \
    {prefix##_ID,                                                                                  \
     prefix##_RAW_BIR_ID,                                                                          \
     prefix##_RAW_PENGUIN_ID,                                                                      \
     prefix##_RAW_HLO_ID,                                                                          \
     prefix##_RAW_FRAMEWORK_ID,                                                                    \
     name_column,                                                                                  \
     prefix##_MODULAR_FLOW_INVOCATION_IDX,                                                         \
     prefix##_START_TS,                                                                            \
     prefix##_END_TS,                                                                              \
     prefix##_TIME_INTERVALS,                                                                      \
     prefix##_ELEMENT_COUNT_PER_INTERVAL,                                                          \
     prefix##_TRANSPOSE_ELEMENT_COUNT_PER_INTERVAL,                                                \
     prefix##_HBM_TRANSFER_SIZE_PER_INTERVAL,                                                      \
     prefix##_HBM_READ_BYTES,                                                                      \
     prefix##_HBM_WRITE_BYTES,                                                                     \
     prefix##_SBUF_READ_BYTES,                                                                     \
     prefix##_SBUF_WRITE_BYTES,                                                                    \
     prefix##_LOAD_WEIGHT_BYTES,                                                                   \
     prefix##_RANK}
static const struct operator_columns framework_columns =
    OPERATOR_COLUMNS(FRAMEWORK, FRAMEWORK_FRAMEWORK_NAME);
static const struct operator_columns hlo_columns = OPERATOR_COLUMNS(HLO, HLO_HLO_NAME);

static void put_operator(struct filler *filler, const struct device_at *at,
                         const struct operator_columns *columns,
                         const struct device_rollup_node *node, struct output *text)
{
    fill_word(filler, columns->name, node->path);
    fill_null(filler, columns->invocation);
    put_intervals(filler, columns->start, columns->end, columns->intervals, node, text);
    put_parts(filler, columns->elements, node, PART_ELEMENTS);
    put_parts(filler, columns->transposes, node, PART_TRANSPOSES);
    put_parts(filler, columns->bytes, node, PART_BYTES);
    fill_int(filler, columns->hbm_read, (int64_t)node->hbm_read);
    fill_int(filler, columns->hbm_write, (int64_t)node->hbm_write);
    fill_int(filler, columns->sbuf_read, (int64_t)node->sbuf_read);
    fill_int(filler, columns->sbuf_write, (int64_t)node->sbuf_write);
    fill_int(filler, columns->weights, (int64_t)node->load_weight_bytes);
    fill_int(filler, columns->rank, at->rank);
}

static void put_framework_counts(struct filler *filler, const struct device_rollup_node *node)
{
    static const size_t counts[ENGINE_COUNT] = {
        FRAMEWORK_TENSOR_ENGINE_INSTRUCTION_COUNT, FRAMEWORK_VECTOR_ENGINE_INSTRUCTION_COUNT,
        FRAMEWORK_SCALAR_ENGINE_INSTRUCTION_COUNT, FRAMEWORK_GPSIMD_ENGINE_INSTRUCTION_COUNT,
        FRAMEWORK_SYNC_ENGINE_INSTRUCTION_COUNT};
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        fill_int(filler, counts[e], (int64_t)node->instructions[e]);
}

/* Node 0 is the root and has no row, so 0 also means "none" in references. Nodes that never ran
 * are left out. */
static void put_operators(struct filler *filler, const struct device_at *at,
                          enum device_rollup_kind kind)
{
    bool is_framework = kind == ROLLUP_FRAMEWORK;
    const struct operator_columns *columns = is_framework ? &framework_columns : &hlo_columns;
    const struct device_rollup *rollup = &at->core->analysis->rollups[kind];
    struct output text;
    output_memory(&text);
    uint32_t *first = first_instructions(at, rollup), *origins = first_origins(at, rollup);
    for (uint32_t i = 1; i < rollup->nodes.count && fill_continue(filler); i++) {
        const struct device_rollup_node *node = &rollup->nodes.items[i];
        if (node->intervals.count == 0)
            continue;
        int64_t bir = at->physical_core << 48 | (first[i] == NO_INDEX ? 0 : first[i]);
        uint32_t framework = is_framework             ? i
                             : origins[i] == NO_INDEX ? 0
                                                      : at->names->framework_nodes[origins[i]];
        uint32_t hlo = !is_framework            ? i
                       : origins[i] == NO_INDEX ? 0
                                                : at->names->hlo_nodes[origins[i]];
        fill_int(filler, columns->id, i);
        fill_int(filler, columns->bir, bir);
        fill_int(filler, columns->penguin, 0);
        fill_int(filler, columns->hlo, hlo);
        fill_int(filler, columns->framework, framework);
        put_operator(filler, at, columns, node, &text);
        if (is_framework)
            put_framework_counts(filler, node);
    }
    mem_free(first);
    mem_free(origins);
    output_discard(&text);
}

static void put_framework_operators(struct filler *filler, const struct device_at *at)
{
    put_operators(filler, at, ROLLUP_FRAMEWORK);
}

static void put_hlo_operations(struct filler *filler, const struct device_at *at)
{
    put_operators(filler, at, ROLLUP_OPERATIONS);
}

bool make_framework_operators(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_FRAMEWORK, put_framework_operators, err);
}

bool make_hlo_operations(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_HLO, put_hlo_operations, err);
}

/* --- OpcodeSummary, TensorInfo --- */

static int64_t total_of(const struct device_core *core)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < core->execution_count; i++)
        total = add_saturated(total, core->executions[i].end_ps - core->executions[i].start_ps);
    return total;
}

static void put_opcodes(struct filler *filler, const struct device_at *at)
{
    const struct device_opcodes *opcodes = at->core->analysis->opcodes;
    double total = (double)total_of(at->core);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (unsigned op = 0; op < OP_COUNT && fill_continue(filler); op++) {
            const struct device_opcode *item = &opcodes->items[e][op];
            if (item->count == 0)
                continue;
            fill_name(filler, OPCODE_ENGINE, at->names->engines[e]);
            fill_name(filler, OPCODE_OPCODE, at->names->opcodes[op]);
            fill_int(filler, OPCODE_INSTRUCTION_COUNT, (int64_t)item->count);
            fill_int(filler, OPCODE_INSTRUCTION_TIME_NS, whole_ns(item->time_ps));
            fill_int(filler, OPCODE_ACTIVE_TIME_NS, whole_ns(item->active_ps));
            rows_double(&filler->rows, OPCODE_ACTIVE_TIME_PERCENT,
                        total > 0 ? (double)item->active_ps / total : 0);
            fill_int(filler, OPCODE_RANK, at->rank);
        }
}

bool make_opcodes(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_OPCODE, put_opcodes, err);
}

static void put_shape(struct filler *filler, const struct variable *variable)
{
    char text[128];
    size_t size = (size_t)snprintf(text, sizeof text, "[");
    for (unsigned i = 0; i < variable->rank; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%" PRIu32, i ? " " : "",
                                 variable->shape[i]);
    fill_format(filler, TENSOR_SHAPE, "%s]", text);
}

static void put_tensors(struct filler *filler, const struct device_at *at)
{
    static const char *const kinds[] = {"IN", "OUT", "WEIGHT", "VIRTUAL"};
    const struct device_tensor *tensors = at->core->analysis->tensors;
    for (uint32_t i = 0; i < at->program->variable_count && fill_continue(filler); i++) {
        const struct variable *variable = &at->program->variables[i];
        const struct device_tensor *tensor = &tensors[i];
        fill_name(filler, TENSOR_VARIABLE_NAME, at->names->variables[i]);
        fill_word(filler, TENSOR_TYPE, text_of(kinds[variable->kind]));
        fill_word(filler, TENSOR_FORMAT, text_of(dtype_name((enum dtype)variable->dtype)));
        put_shape(filler, variable);
        fill_int(filler, TENSOR_SIZE, (int64_t)variable->size);
        fill_int(filler, TENSOR_NODE, 0);
        fill_int(filler, TENSOR_PCORE_IDX, at->physical_core);
        fill_int(filler, TENSOR_LOAD_TO_SBUF_AVG_SIZE_BYTES,
                 (int64_t)(tensor->loads ? tensor->load_bytes / tensor->loads : 0));
        fill_int(filler, TENSOR_LOAD_TO_SBUF_TOTAL_SIZE_BYTES, (int64_t)tensor->load_bytes);
        fill_int(filler, TENSOR_LOAD_TO_SBUF_DMA_COUNT, (int64_t)tensor->loads);
        fill_real(filler, TENSOR_LOAD_TO_SBUF_REPEAT_FACTOR,
                  device_repeat_factor(tensor, variable, at->core->execution_count));
        fill_int(filler, TENSOR_RANK, at->rank);
    }
}

bool make_tensors(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_TENSOR, put_tensors, err);
}

/*
 * The overview of a device profile, as text for a terminal: findings, the work of each unit, the
 * critical path, utilization, layers and instructions.
 */
#include "export/describe.h"
#include "export/lines.h"

#include <math.h>
#include <stdio.h>

static void put_title(const struct analysis *analysis, const struct device_analysis *device,
                      const struct text_style *style, struct output *out)
{
    const struct ntff_header *header = ntff_header(device->profile->ntff);
    int64_t epoch_ns = analysis->catalog->start_epoch_ns;
    uint32_t executions = device->sums.executions;
    char total[QUANTITY_SIZE], when[QUANTITY_SIZE];
    output_text(out, style->colored ? "\033[1m" : "");
    put_printable(out, text_of(device_neff(device->profile)->name));
    output_format(out, " on ND%u NC%u: %s%s in %u execution%s", header->device_index,
                  header->core_index, format_ps((double)device->sums.total_ps, total),
                  style->colored ? "\033[0m" : "", executions, executions == 1 ? "" : "s");
    if (header->rank_count > 1)
        output_format(out, ", rank %u of %u", header->rank, header->rank_count);
    if (header->instance_type[0]) {
        output_text(out, ", ");
        put_printable(out, text_of(header->instance_type));
    }
    if (header->is_simulation)
        output_text(out, ", simulated");
    if (epoch_ns != TIME_UNSET)
        output_format(out, ", from %s", format_epoch(epoch_ns, when));
    output_char(out, '\n');
}

static void add_part(struct table *table, int64_t ps, int64_t total_ps)
{
    table_ps(table, (double)ps);
    table_share(table, (double)ps / (double)total_ps);
}

/* Units without work have no row. Waits have a time on the critical path only, as nothing is active
 * then. */
static void put_units(const struct device_analysis *device, const struct text_style *style,
                      struct output *out)
{
    static const struct column columns[] = {
        {"unit", true, false},           {"active", false, false}, {"share", false, false},
        {"critical path", false, false}, {"share", false, false},  {"count", false, false}};
    const struct device_sums *sums = &device->sums;
    const struct device_path *path = &device->path;
    put_heading(out, style,
                "Engines, DMA and collectives: active time, and share of the critical path");
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i <= DEVICE_UNIT_COLLECTIVES; i++) {
        bool is_engine = i < ENGINE_COUNT, is_dma = i == DEVICE_UNIT_DMA;
        uint64_t count = is_engine ? sums->instructions[i]
                         : is_dma  ? sums->transfers
                                   : sums->cc_ops;
        if (count == 0)
            continue;
        table_text(&table, text_of(is_engine ? hardware_engine_name((enum engine)i)
                                   : is_dma  ? "DMA"
                                             : "collectives"));
        add_part(&table, sums->unit_active_ps[i], sums->total_ps);
        add_part(&table,
                 is_engine ? path->engine_ps[i]
                 : is_dma  ? path->dma_ps
                           : path->collective_ps,
                 sums->total_ps);
        table_count(&table, count);
    }
    for (unsigned i = WAIT_BEGIN; i < DEVICE_WAITS; i++) {
        if (path->wait_ps[i] == 0)
            continue;
        table_format(&table, "waiting: %s", device_wait_name((enum device_wait)i));
        table_text(&table, TEXT(""));
        table_text(&table, TEXT(""));
        add_part(&table, path->wait_ps[i], sums->total_ps);
        table_text(&table, TEXT(""));
    }
    table_end(&table, style, out);
}

static void put_rate(struct output *out, const char *name, double share, const char *of,
                     double ideal_s, const char *ideal)
{
    char time[QUANTITY_SIZE];
    if (!isnan(share))
        output_format(out, "  %s  %4.1f %% of %s; %s takes %s\n", name, 100 * share, of, ideal,
                      format_ps(ideal_s * 1e12, time));
}

static void put_utilization(const struct device_analysis *device, const struct text_style *style,
                            struct output *out)
{
    const struct device_metrics *metrics = &device->metrics;
    const struct device_bounds *bounds = &device->bounds;
    put_heading(out, style, "Utilization");
    put_rate(out, "MFU", metrics->mfu_estimated_percent, "the Tensor engine's peak",
             bounds->compute_ideal_useful, "at the peak, the model's arithmetic");
    put_rate(out, "HFU", metrics->hfu_estimated_percent, "that, transposes included",
             bounds->compute_ideal, "all arithmetic");
    put_rate(out, "MBU", metrics->mbu_estimated_percent, "the HBM bandwidth", bounds->memory_ideal,
             "at the DMA engines' full rate, its traffic");
}

/* Layers of the same path in repeated blocks, added up. */
struct layer_row {
    struct text path; /* block numbers are asterisks if there are several */
    uint64_t count;
    int64_t active_ps, time_ps[ENGINE_COUNT];
    uint64_t flops, hbm_read, hbm_write;
};
typedef ARRAY(struct layer_row) layer_rows;

static bool layer_before(const void *a, const void *b, const void *context)
{
    const struct layer_row *left = a, *right = b;
    (void)context;
    return left->active_ps != right->active_ps ? left->active_ps > right->active_ps
                                               : text_compare(left->path, right->path) < 0;
}

/* The path with an asterisk for the numbers of the blocks it lies in. */
static uint32_t intern_repeated(struct intern *paths, struct text path)
{
    size_t name = path.size, size = 0;
    while (name > 0 && path.data[name - 1] != '/')
        name--;
    char *text = mem_alloc(path.size + 1);
    for (size_t i = 0; i < path.size; i++) {
        bool is_number = i < name && path.data[i] >= '0' && path.data[i] <= '9';
        if (!is_number)
            text[size++] = path.data[i];
        else if (size == 0 || text[size - 1] != '*')
            text[size++] = '*';
    }
    uint32_t id = intern_add(paths, (struct text){text, size});
    mem_free(text);
    return id;
}

static void add_layer(layer_rows *rows, uint32_t id, struct text path,
                      const struct device_rollup_node *node)
{
    while (rows->count <= id)
        *array_push(rows) = (struct layer_row){0};
    struct layer_row *row = &rows->items[id];
    row->path = row->count == 0 ? node->path : path;
    row->count++;
    row->active_ps += device_rollup_active_ps(node);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        row->time_ps[e] += node->time_ps[e];
    row->flops += node->model_flops;
    row->hbm_read += node->hbm_read;
    row->hbm_write += node->hbm_write;
}

/* Layers without others inside, by the ids of their paths. */
static void add_layers(layer_rows *rows, const struct device_rollup *layers, struct intern *paths)
{
    bool *has_children = mem_zeroed(layers->nodes.count + 1, sizeof *has_children);
    for (size_t i = 1; i < layers->nodes.count; i++)
        has_children[layers->nodes.items[i].parent] = true;
    for (size_t i = 1; i < layers->nodes.count; i++) {
        const struct device_rollup_node *node = &layers->nodes.items[i];
        uint32_t id = has_children[i] ? 0 : intern_repeated(paths, node->path);
        if (!has_children[i])
            add_layer(rows, id, intern_text(paths, id), node);
    }
    mem_free(has_children);
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].count > 0)
            rows->items[kept++] = rows->items[i];
    rows->count = kept;
}

static void add_layer_row(struct table *table, const struct layer_row *row, int64_t total_ps)
{
    static const enum engine engines[] = {ENGINE_TENSOR, ENGINE_VECTOR, ENGINE_SCALAR,
                                          ENGINE_GPSIMD};
    char bytes[QUANTITY_SIZE];
    table_text(table, row->path);
    table_count(table, row->count);
    add_part(table, row->active_ps, total_ps);
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++)
        table_ps(table, (double)row->time_ps[engines[e]]);
    table_format(table, "%.3g", (double)row->flops);
    table_text(table, text_of(format_bytes(row->hbm_read, bytes)));
    table_text(table, text_of(format_bytes(row->hbm_write, bytes)));
}

/* Repeated blocks are added up: a model of many equal blocks would otherwise fill the table with
 * copies of the same layers. */
static void put_layers(const struct device_analysis *device, const struct text_style *style,
                       struct output *out)
{
    static const struct column columns[] = {
        {"layer", true, true},      {"count", false, false},   {"active", false, false},
        {"share", false, false},    {"Tensor", false, false},  {"Vector", false, false},
        {"Scalar", false, false},   {"GpSimd", false, false},  {"FLOPs", false, false},
        {"HBM read", false, false}, {"written", false, false},
    };
    layer_rows rows = {0};
    struct intern paths;
    intern_init(&paths);
    add_layers(&rows, &device->rollups[ROLLUP_LAYERS], &paths);
    sort_items(rows.items, rows.count, sizeof *rows.items, layer_before, NULL);
    size_t shown = rows_shown(rows.count, style);
    put_heading(out, style, "Layers, by active time");
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    const struct layer_row *row;
    array_each (row, &rows)
        if (row < rows.items + shown)
            add_layer_row(&table, row, device->sums.total_ps);
    table_end(&table, style, out);
    put_omitted(shown, rows.count, out);
    intern_free(&paths);
    array_free(&rows);
}

struct opcode_row {
    enum engine engine;
    enum opcode op;
    const struct device_opcode *sums;
};

static bool opcode_before(const void *a, const void *b, const void *context)
{
    const struct opcode_row *left = a, *right = b;
    (void)context;
    if (left->sums->active_ps != right->sums->active_ps)
        return left->sums->active_ps > right->sums->active_ps;
    return left->sums < right->sums; /* sums are in one array */
}

/* One row per engine and opcode, as the same opcode costs differently on each engine. */
static void put_opcodes(const struct device_analysis *device, const struct text_style *style,
                        struct output *out)
{
    static const struct column columns[] = {{"instruction", true, false}, {"engine", true, false},
                                            {"active", false, false},     {"share", false, false},
                                            {"count", false, false},      {"mean", false, false}};
    ARRAY(struct opcode_row) rows = {0};
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (unsigned op = 0; op < OP_COUNT; op++)
            if (device->opcodes->items[e][op].count > 0)
                *array_push(&rows) = (struct opcode_row){(enum engine)e, (enum opcode)op,
                                                         &device->opcodes->items[e][op]};
    sort_items(rows.items, rows.count, sizeof *rows.items, opcode_before, NULL);
    size_t shown = rows_shown(rows.count, style);
    put_heading(out, style, "Instructions, by active time on their engine");
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct opcode_row *row = &rows.items[i];
        table_text(&table, text_of(opcode_name(row->op)));
        table_text(&table, text_of(hardware_engine_name(row->engine)));
        add_part(&table, row->sums->active_ps, device->sums.total_ps);
        table_count(&table, row->sums->count);
        table_ps(&table, (double)row->sums->time_ps / (double)row->sums->count);
    }
    table_end(&table, style, out);
    put_omitted(shown, rows.count, out);
    array_free(&rows);
}

void export_device_overview(const struct analysis *analysis, const struct device_analysis *device,
                            const struct text_style *style, struct output *out)
{
    put_title(analysis, device, style, out);
    put_messages_text(analysis->catalog, style,
                      out); /* first: figures of a partial profile mislead */
    put_findings_text(analysis, style, out);
    if (device->sums.total_ps > 0) {
        put_units(device, style, out);
        put_utilization(device, style, out);
        put_layers(device, style, out);
        put_opcodes(device, style, out);
    }
}

void export_ranks_overview(const struct analysis *analysis, const struct device_ranks *ranks,
                           const struct text_style *style, struct output *out)
{
    char span[QUANTITY_SIZE];
    output_format(out, "%s%zu ranks, %s%s\n", style->colored ? "\033[1m" : "", ranks->ranks.count,
                  format_ps(analysis->summary.span_ps, span), style->colored ? "\033[0m" : "");
    put_messages_text(analysis->catalog, style, out);
    put_findings_text(analysis, style, out);
    export_device_ranks_text(ranks, style, out);
}

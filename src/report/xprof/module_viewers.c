/*
 * memory_viewer and graph_viewer: the memory that a module needs, and its operations as a graph.
 */
#include "report/xprof/modules.h"

#include "base/wire/wire.h"

#include <inttypes.h>
#include <stdlib.h>

#define NO_MODULES                                                                                 \
    "the profile has no HLO modules; JAX records them with its host tracer, kymo inspect --hlo"
#define NEEDS_MODULES "SELECT 1 FROM HloModule WHERE file IS NOT NULL"

static const struct hlo_instruction *maker(const struct hlo_module *module,
                                           const struct hlo_buffer *buffer)
{
    return buffer->instruction == HLO_NONE ? NULL
                                           : &module->instructions.items[buffer->instruction];
}

static void put_line(struct output *out, const char *label, int64_t bytes)
{
    char text[QUANTITY_SIZE];
    output_format(out, "  %-40s %10s\n", label,
                  format_bytes((uint64_t)(bytes > 0 ? bytes : 0), text));
}

static void put_sums(struct output *out, const struct hlo_memory *memory)
{
    put_line(out, "peak", memory->peak_bytes + memory->permanent_bytes);
    put_line(out, "  of the heap", memory->peak_bytes);
    put_line(out, "  alive all the time", memory->permanent_bytes);
    put_line(out, "all allocations", memory->total_bytes);
    put_line(out, "parameters", memory->parameter_bytes);
    put_line(out, "results", memory->output_bytes);
    int64_t temporary = memory->total_bytes - memory->permanent_bytes;
    if (temporary > 0)
        output_format(out, "  %-40s %9.1f %%\n", "fragmentation of the heap",
                      100.0 * (double)(temporary - memory->peak_bytes) / (double)temporary);
}

/* The shape goes through memory, as both forms need it as one text: to quote it, or to pad it. */
static void put_buffer(struct output *out, const struct hlo_module *module,
                       const struct hlo_memory *memory, const struct hlo_buffer *buffer,
                       bool as_csv)
{
    const struct hlo_instruction *at = maker(module, buffer);
    const char *group = hlo_memory_group_name(memory->allocations.items[buffer->allocation].group);
    char size[QUANTITY_SIZE];
    struct output shape;
    output_memory(&shape);
    if (buffer->shape)
        hlo_put_shape(&shape, buffer->shape, false);
    struct text name = at ? at->name : (struct text){0};
    if (as_csv) {
        output_format(out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,", buffer->id, buffer->size,
                      buffer->unpadded_size, group);
        export_csv_value(out, (struct text){shape.data, shape.size}, CSV_QUOTED);
        output_char(out, ',');
        export_csv_value(out, name.size > 0 ? name : (struct text){0}, CSV_QUOTED_IF_NEEDED);
        output_char(out, '\n');
    } else {
        output_char(&shape, '\0');
        output_format(out, "  %10s  %-12s  %-36s %.*s\n",
                      format_bytes((uint64_t)buffer->size, size), group, shape.data, (int)name.size,
                      name.size > 0 ? name.data : "");
    }
    output_discard(&shape);
}

static int by_size(const void *left, const void *right, void *context)
{
    const struct hlo_memory *memory = context;
    const uint32_t *a = left, *b = right;
    int64_t one = memory->buffers.items[*a].size, other = memory->buffers.items[*b].size;
    return one != other ? (one < other) - (one > other) : (*a > *b) - (*a < *b);
}

/* Buffers at the peak, the largest first. */
static void put_peak(struct tool_run *run, const struct hlo_module *module,
                     const struct hlo_memory *memory, bool as_csv)
{
    size_t count = memory->peak.count;
    uint32_t *order = mem_zeroed(count + 1, sizeof *order);
    if (count > 0)
        memcpy(order, memory->peak.items, count * sizeof *order);
    qsort_r(order, count, sizeof *order, by_size, (void *)(uintptr_t)memory);
    size_t shown =
        run->options->limit && run->options->limit < count ? (size_t)run->options->limit : count;
    for (size_t i = 0; i < shown; i++)
        put_buffer(run->out, module, memory, &memory->buffers.items[order[i]], as_csv);
    if (shown < count && !as_csv)
        output_format(run->out, "  … and %zu more; --limit 0 shows all\n", count - shown);
    mem_free(order);
}

static void write_memory(struct tool_run *run, const struct kept_module *kept,
                         const struct hlo_memory *memory)
{
    switch (run->options->format) {
    case TOOL_TEXT:
        put_tool_title(run, kept->label);
        put_sums(run->out, memory);
        output_char(run->out, '\n');
        put_tool_title(run, "Buffers at the peak");
        put_peak(run, &kept->module, memory, false);
        break;
    case TOOL_CSV:
        output_text(run->out, "buffer_id,bytes,unpadded_bytes,group,shape,instruction\n");
        put_peak(run, &kept->module, memory, true);
        break;
    case TOOL_JSON:
    case TOOL_GVIZ:
        hlo_memory_json(run->out, &kept->module, memory);
    }
}

/* JSON of no module is an object without members. */
static void write_nothing(struct tool_run *run)
{
    if (run->options->format == TOOL_JSON || run->options->format == TOOL_GVIZ)
        output_text(run->out, "{}");
}

static bool view_memory(struct tool_run *run, bool *is_empty, struct error *err)
{
    struct kept_module kept;
    struct hlo_memory memory = {0};
    bool is_there, ok = module_load(&kept, run, &is_there, err);
    *is_empty = !is_there;
    if (ok && is_there) {
        ok = hlo_memory_read(&memory, &kept.module, (int64_t)run->options->memory_space, err);
        if (ok)
            write_memory(run, &kept, &memory);
        hlo_memory_free(&memory);
    } else if (ok) {
        write_nothing(run);
    }
    module_free(&kept);
    return ok;
}

const struct xprof_tool memory_viewer = {
    .name = "memory_viewer",
    .about = "memory that a module needs, and its buffers at the peak",
    .why = NO_MODULES,
    .needs = NEEDS_MODULES,
    .options = TOOL_MODULE | TOOL_MEMORY_SPACE,
    .write = view_memory,
};

static void put_instruction(struct output *out, const struct hlo_module *module, uint32_t number,
                            const char *before)
{
    struct output expression; /* in memory, as it is cut where it is too long */
    output_memory(&expression);
    hlo_put_expression(&expression, module, &module->instructions.items[number]);
    output_text(out, before);
    output_write(out, expression.data, expression.size);
    output_char(out, '\n');
    output_discard(&expression);
}

/* In memory first, as expressions that are too long are cut there. */
static void put_module(struct tool_run *run, const struct hlo_module *module)
{
    struct output text;
    output_memory(&text);
    hlo_put_module(&text, module, !run->options->has_long_text);
    output_write(run->out, text.data, text.size);
    output_discard(&text);
}

/* An instruction, those it uses and those that use it. */
static void put_near(struct output *out, const struct hlo_module *module,
                     const struct hlo_graph *graph)
{
    uint32_t center = graph->nodes.items[graph->center].instruction;
    const struct hlo_graph_edge *edge;
    put_instruction(out, module, center, "");
    output_text(out, "\nuses\n");
    array_each (edge, &graph->edges)
        if (edge->to == graph->center)
            put_instruction(out, module, graph->nodes.items[edge->from].instruction, "  ");
    output_text(out, "\nused by\n");
    array_each (edge, &graph->edges)
        if (edge->from == graph->center)
            put_instruction(out, module, graph->nodes.items[edge->to].instruction, "  ");
}

/* Formats decide more than the form here: text without an operation is the whole module, and only
 * the web page, which asks for JSON, starts near the root. */
static bool write_graph(struct tool_run *run, const struct kept_module *kept, struct error *err)
{
    const struct tool_options *options = run->options;
    struct hlo_graph_options wanted = {.name = text_of(options->op ? options->op : ""),
                                       .radius = options->width ? options->width : 1,
                                       .first = options->first,
                                       .is_near_root =
                                           options->format == TOOL_JSON && !options->has_first,
                                       .with_bodies = options->has_bodies,
                                       .with_metadata = options->has_metadata};
    struct hlo_graph graph = {0};
    if (options->format == TOOL_CSV)
        return error_set(err, "a graph is not a table: --format must be text, json or gviz");
    if (options->format == TOOL_TEXT && !options->op) {
        put_module(run, &kept->module);
        return true;
    }
    if (options->graph == TOOL_GRAPH_NEIGHBORS)
        return hlo_neighbors_json(run->out, &kept->module, wanted.name, err);
    if (options->graph == TOOL_GRAPH_PROTO) {
        output_write(run->out, (const char *)kept->bytes, kept->size);
        return true;
    }
    bool ok = hlo_graph_make(&graph, &kept->module, &wanted, err);
    if (ok && options->format == TOOL_JSON)
        hlo_graph_json(run->out, &kept->module, &graph);
    else if (ok && (options->format == TOOL_GVIZ || graph.center == HLO_NONE))
        hlo_graph_dot(run->out, &kept->module, &graph, &wanted);
    else if (ok)
        put_near(run->out, &kept->module, &graph);
    hlo_graph_free(&graph);
    return ok;
}

static bool view_graph(struct tool_run *run, bool *is_empty, struct error *err)
{
    struct kept_module kept;
    bool is_there, ok = module_load(&kept, run, &is_there, err);
    *is_empty = !is_there;
    if (ok && is_there)
        ok = write_graph(run, &kept, err);
    else if (ok && run->options->format == TOOL_JSON)
        write_nothing(run);
    module_free(&kept);
    return ok;
}

const struct xprof_tool graph_viewer = {
    .name = "graph_viewer",
    .about =
        "the operations of a module as a graph: a computation, or one operation and those near it",
    .why = NO_MODULES,
    .needs = NEEDS_MODULES,
    .options = TOOL_MODULE | TOOL_OP,
    .write = view_graph,
};

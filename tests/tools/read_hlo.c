/*
 * Prints what is made of an HLO module, for tests: read-hlo WHAT FILE [NAME [RADIUS [NODES
 * [root]]]]. WHAT is expressions, short, long, costs, memory, graph, dot or neighbors; of memory,
 * NAME is the space.
 */
#include "hlo/hlo.h"

#include <stdio.h>
#include <stdlib.h>

static void put_costs(struct output *out, const struct hlo_module *module)
{
    struct hlo_cost *costs = hlo_costs(module);
    struct json json;
    json_begin(&json, out, false);
    json_open(&json, '[');
    for (size_t i = 0; i < module->instructions.count; i++) {
        const struct hlo_instruction *at = &module->instructions.items[i];
        json_open(&json, '{');
        json_put_text(&json, "name", at->name);
        json_put_text(&json, "computation", module->computations.items[at->computation].name);
        json_put_double(&json, "flops", costs[i].flops);
        json_put_double(&json, "matrix_flops", costs[i].matrix_flops);
        json_put_double(&json, "xla_flops", costs[i].xla_flops);
        json_put_int(&json, "bytes_read", costs[i].bytes_read);
        json_put_int(&json, "bytes_written", costs[i].bytes_written);
        json_put_text(&json, "compute_type",
                      text_of(costs[i].compute_type ? costs[i].compute_type : ""));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    mem_free(costs);
}

static void put_expressions(struct output *out, const struct hlo_module *module)
{
    const struct hlo_instruction *at;
    array_each (at, &module->instructions) {
        hlo_put_expression(out, module, at);
        output_char(out, '\n');
    }
}

static bool put_memory(struct output *out, const struct hlo_module *module, int64_t space,
                       struct error *err)
{
    struct hlo_memory memory;
    bool ok = hlo_memory_read(&memory, module, space, err);
    if (ok)
        hlo_memory_json(out, module, &memory);
    hlo_memory_free(&memory);
    return ok;
}

static bool put_graph(struct output *out, const struct hlo_module *module, bool is_dot,
                      struct hlo_graph_options options, struct error *err)
{
    struct hlo_graph graph;
    bool ok = hlo_graph_make(&graph, module, &options, err);
    if (ok && is_dot)
        hlo_graph_dot(out, module, &graph, &options);
    else if (ok)
        hlo_graph_json(out, module, &graph);
    hlo_graph_free(&graph);
    return ok;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct file file;
    struct hlo_module module = {0};
    struct output out;
    char line[ERROR_LINE_SIZE];
    if (argc < 3)
        return 2;
    const char *what = argv[1], *name = argc > 3 ? argv[3] : "";
    struct hlo_graph_options options = {.name = text_of(name), .with_bodies = true};
    options.radius = argc > 4 ? (uint32_t)atoi(argv[4]) : 1;
    options.most_nodes = argc > 5 ? (uint32_t)atoi(argv[5]) : 0;
    options.is_near_root = argc > 6;
    output_memory(&out);
    bool ok =
        file_open(&file, argv[2], &err) && hlo_module_read(&module, file.data, file.size, &err);
    if (ok && strcmp(what, "costs") == 0)
        put_costs(&out, &module);
    else if (ok && strcmp(what, "expressions") == 0)
        put_expressions(&out, &module);
    else if (ok && (strcmp(what, "short") == 0 || strcmp(what, "long") == 0))
        hlo_put_module(&out, &module, strcmp(what, "short") == 0);
    else if (ok && strcmp(what, "memory") == 0)
        ok = put_memory(&out, &module, atoi(name), &err);
    else if (ok && strcmp(what, "neighbors") == 0)
        ok = hlo_neighbors_json(&out, &module, text_of(name), &err);
    else if (ok)
        ok = put_graph(&out, &module, strcmp(what, "dot") == 0, options, &err);
    if (ok)
        fwrite(out.data, 1, out.size, stdout);
    else
        fprintf(stderr, "%s\n", error_line(&err, line));
    return ok ? 0 : 1;
}

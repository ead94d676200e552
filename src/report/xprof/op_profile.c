/*
 * op_profile: where the time of devices goes, as a tree: by program, category, scope of the
 * framework or line of source; how well each part uses the device, and what that wastes.
 */
#include "report/xprof/embedded_queries.h"
#include "report/xprof/tool.h"

#include "base/wire/wire.h"

#include <math.h>

static const struct tool_column columns[] = {
    NUMBER("depth", "Depth", FOR_SCRIPTS, 0),
    STRING("name", "Name", FOR_SCRIPTS),
    STRING("kind", "Kind", FOR_SCRIPTS),
    {"path", "Path", CELL_TEXT, FOR_SCRIPTS, 0, false, NULL, NULL},
    NUMBER("time_ns", "Time (ns)", FOR_SCRIPTS, 0),
    NUMBER("time_percent", "Time (%)", FOR_SCRIPTS, 1),
    NUMBER("wasted_percent", "Wasted (%)", FOR_SCRIPTS, 1),
    NUMBER("flops_percent", "FLOPS (%)", FOR_SCRIPTS, 1),
    NUMBER("hbm_percent", "HBM (%)", FOR_SCRIPTS, 1),
    NUMBER("occurrences", "Count", FOR_SCRIPTS, 0),
    NUMBER("flops", "FLOPs", FOR_SCRIPTS, 0),
    NUMBER("hbm_bytes", "HBM bytes", FOR_SCRIPTS, 0),
    NUMBER("devices", "Devices", FOR_SCRIPTS, 0),
};

static const struct tool_table tables[] = {
    {.name = "nodes",
     .title = "Where the time of devices goes",
     .forms = FOR_SCRIPTS,
     COLUMNS_OF(columns),
     .sql = xprof_sql_op_profile_nodes},
};

/* Columns of op_profile_tree.sql. */
enum node_field {
    NODE_PARENT,
    NODE_NAME,
    NODE_NS,
    NODE_OCCURRENCES,
    NODE_FLOPS,
    NODE_NORMALIZED,
    NODE_BYTES,
    NODE_COMPUTE_USE,
    NODE_HBM_USE,
    NODE_KIND,
    NODE_IS_IDLE,
    NODE_WHOLE,
    NODE_WHOLE_IDLE,
    NODE_EXPRESSION,
    NODE_FRAMEWORK_OP,
    NODE_CATEGORY,
    NODE_PROGRAM,
    NODE_FILE,
    NODE_LINE,
};
#define NO_NODE UINT32_MAX

enum node_kind {
    KIND_SCOPE, /* of operations */
    KIND_OPERATION,
    KIND_DUPLICATES,  /* operations that are the same */
    KIND_INSTRUCTION, /* inside of a fusion */
};

struct node {
    uint32_t parent, first, last, next; /* children in the order of their time */
    uint32_t depth, child_count;
    uint32_t place; /* among the children of its parent, from 0 */
    double ns, occurrences, flops, normalized, bytes;
    double compute_use, hbm_use; /* shares of the device's peaks; NAN: not known */
    enum node_kind kind;
    bool is_idle;
    struct text name, expression, framework_op, category, program, file, line;
};

struct tree {
    ARRAY(struct node) nodes; /* parents first */
    struct arena arena;       /* of texts */
    double whole_ns, idle_ns;
};

static double number_at(const struct sql_result *result, size_t row, enum node_field field)
{
    return cell_number(sql_value(result, row, field));
}

static double share_at(const struct sql_result *result, size_t row, enum node_field field)
{
    return sql_value(result, row, field).data ? number_at(result, row, field) : NAN;
}

static struct text text_at(struct tree *tree, const struct sql_result *result, size_t row,
                           enum node_field field)
{
    struct text value = sql_value(result, row, field);
    return (struct text){arena_copy_text(&tree->arena, value.data, value.size), value.size};
}

static void link_node(struct tree *tree, uint32_t number)
{
    struct node *node = &tree->nodes.items[number];
    if (node->parent >= number)
        return; /* the root */
    struct node *parent = &tree->nodes.items[node->parent];
    node->depth = parent->depth + 1;
    node->place = parent->child_count++;
    if (parent->last == NO_NODE)
        parent->first = number;
    else
        tree->nodes.items[parent->last].next = number;
    parent->last = number;
}

static enum node_kind kind_of(struct text name)
{
    if (!name.data)
        return KIND_SCOPE;
    return text_equal(name, TEXT("operation"))    ? KIND_OPERATION
           : text_equal(name, TEXT("duplicates")) ? KIND_DUPLICATES
                                                  : KIND_INSTRUCTION;
}

/* Rows come parents first, numbered by position, so a parent is in the tree before it is linked.
 * Totals of the whole tree are repeated in every row. */
static void add_node(struct tree *tree, const struct sql_result *result, size_t row)
{
    struct text parent = sql_value(result, row, NODE_PARENT);
    *array_push(&tree->nodes) = (struct node){
        .parent = parent.data ? (uint32_t)number_at(result, row, NODE_PARENT) : NO_NODE,
        .first = NO_NODE,
        .last = NO_NODE,
        .next = NO_NODE,
        .ns = number_at(result, row, NODE_NS),
        .occurrences = number_at(result, row, NODE_OCCURRENCES),
        .flops = number_at(result, row, NODE_FLOPS),
        .normalized = number_at(result, row, NODE_NORMALIZED),
        .bytes = number_at(result, row, NODE_BYTES),
        .compute_use = share_at(result, row, NODE_COMPUTE_USE),
        .hbm_use = share_at(result, row, NODE_HBM_USE),
        .kind = kind_of(sql_value(result, row, NODE_KIND)),
        .is_idle = text_equal(sql_value(result, row, NODE_IS_IDLE), TEXT("true")),
        .name = text_at(tree, result, row, NODE_NAME),
        .expression = text_at(tree, result, row, NODE_EXPRESSION),
        .framework_op = text_at(tree, result, row, NODE_FRAMEWORK_OP),
        .category = text_at(tree, result, row, NODE_CATEGORY),
        .program = text_at(tree, result, row, NODE_PROGRAM),
        .file = text_at(tree, result, row, NODE_FILE),
        .line = text_at(tree, result, row, NODE_LINE),
    };
    tree->whole_ns = number_at(result, row, NODE_WHOLE);
    tree->idle_ns = number_at(result, row, NODE_WHOLE_IDLE);
    link_node(tree, (uint32_t)tree->nodes.count - 1);
}

static bool read_tree(struct tree *tree, struct tool_run *run, struct error *err)
{
    struct sql_result *result = NULL;
    bool ok = tool_query(&result, run,
                         run->options->format == TOOL_TEXT ? xprof_sql_op_profile_short_tree
                                                           : xprof_sql_op_profile_tree,
                         err);
    for (size_t rows = 1; ok && rows > 0;) {
        ok = sql_next(result, &rows, err);
        for (size_t row = 0; ok && row < rows; row++)
            add_node(tree, result, row);
    }
    sql_free(result);
    return ok;
}

static void free_tree(struct tree *tree)
{
    array_free(&tree->nodes);
    arena_free(&tree->arena);
}

/* What is shown of a tree: with idle time or without. */
struct view {
    struct tool_run *run;
    const struct tree *tree;
    bool has_idle;
    bool cuts_all; /* not only operations */
    double total_ns;
    uint64_t max_children; /* 0: all */
};

static bool is_shown(const struct view *view, const struct node *node)
{
    if (node->is_idle && !view->has_idle)
        return false;
    bool may_cut = node->kind != KIND_SCOPE || view->cuts_all;
    return !may_cut || view->max_children == 0 || node->place < view->max_children;
}

static uint32_t first_shown(const struct view *view, uint32_t number)
{
    const struct node *nodes = view->tree->nodes.items;
    while (number != NO_NODE && !is_shown(view, &nodes[number]))
        number = nodes[number].next;
    return number;
}

struct visitor {
    void (*open)(const struct view *view, uint32_t number, bool is_first);
    void (*close)(const struct view *view, uint32_t number);
};

/* Visits what is shown, a node before and after its children. */
static void walk(const struct view *view, const struct visitor *visitor)
{
    const struct node *nodes = view->tree->nodes.items;
    uint32_t at = 0;
    visitor->open(view, at, true);
    for (;;) {
        uint32_t next = first_shown(view, nodes[at].first);
        bool is_first = next != NO_NODE;
        while (next == NO_NODE) {
            visitor->close(view, at);
            if (at == 0)
                return;
            next = first_shown(view, nodes[at].next);
            if (next == NO_NODE)
                at = nodes[at].parent;
        }
        at = next;
        visitor->open(view, at, is_first);
    }
}

static double time_of(const struct view *view, uint32_t number)
{
    return number == 0 ? view->total_ns : view->tree->nodes.items[number].ns;
}

/* A share of a peak over the time that the view gives a node: the root's is without idle time in
 * some. */
static double over_time(const struct view *view, uint32_t number, double use)
{
    double ns = time_of(view, number);
    return ns > 0 ? use * view->tree->nodes.items[number].ns / ns : NAN;
}

/* XProf's form has 0 for what is not known. */
static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

/* The on-chip memories' are not known. */
static void put_memories(struct json *json, const char *key, double hbm)
{
    json_key(json, key);
    json_open(json, '[');
    json_double(json, hbm);
    json_int(json, 0);
    json_int(json, 0);
    json_close(json, ']');
}

/* In XProf's units: picoseconds, and shares of the whole for "flops". */
static void put_metrics(const struct view *view, uint32_t number)
{
    const struct node *nodes = view->tree->nodes.items, *node = &nodes[number];
    double ns = time_of(view, number);
    double use = or_zero(over_time(view, number, node->compute_use));
    double hbm = or_zero(over_time(view, number, node->hbm_use));
    double work = 1000 * (number == 0 ? view->tree->whole_ns - view->tree->idle_ns : ns);
    double share = view->total_ns > 0 ? ns / view->total_ns : 0;
    bool has_count = node->kind != KIND_SCOPE ||
                     (node->first != NO_NODE && nodes[node->first].kind != KIND_SCOPE);
    double count = has_count && number > 0 ? node->occurrences : 0;
    struct json json;
    json_begin(&json, view->run->out, false);
    json_open(&json, '{');
    json_put_double(&json, "flops", fmin(use, 1) * share);
    json_put_double(&json, "uncappedFlops", use * share);
    put_memories(&json, "bandwidthUtils", fmin(hbm, 1));
    json_put_double(&json, "rawTime", ns * 1000);
    json_put_double(&json, "rawFlops", node->flops);
    json_put_double(&json, "bf16Flops", node->normalized);
    json_put_double(&json, "normalizedTimePs", view->run->has_tpus && !node->is_idle ? work : 0);
    put_memories(&json, "rawBytesAccessedArray", node->bytes);
    json_put_double(&json, "occurrences", count);
    json_put_double(&json, "avgTimePs", count > 0 ? ns * 1000 / count : 0);
    json_close(&json, '}');
}

static void put_operation(const struct view *view, const struct node *node)
{
    struct json json;
    json_begin(&json, view->run->out, false);
    json_open(&json, '{');
    json_put_text(&json, "op", TEXT(""));
    json_put_text(&json, "expression", node->expression);
    json_put_text(&json, "provenance",
                  node->kind == KIND_DUPLICATES ? TEXT("") : node->framework_op);
    json_put_text(&json, "category", node->category);
    json_put_int(&json, "computationPrimitiveSize", 0);
    json_put_text(&json, "fingerprint", TEXT("0"));
    json_put_text(&json, "programId", node->program.size > 0 ? node->program : TEXT("0"));
    json_key(&json, "sourceInfo");
    json_open(&json, '{');
    json_put_text(&json, "fileName", node->file);
    json_key(&json, "lineNumber");
    json_raw(&json, node->line.size > 0 ? node->line : TEXT("0"));
    json_put_text(&json, "stackFrame", TEXT(""));
    json_close(&json, '}');
    json_put_text(&json, "xprofKernelMetadata", TEXT(""));
    json_close(&json, '}');
}

/* Scopes can be deeper than the JSON writer allows, hence brackets by hand. */
static void open_json(const struct view *view, uint32_t number, bool is_first)
{
    const struct node *node = &view->tree->nodes.items[number];
    struct output *out = view->run->out;
    struct json json;
    output_text(out, is_first ? "{\"name\":" : ",{\"name\":");
    json_begin(&json, out, false);
    if (number == 0)
        output_format(out, "\"by_%s\"", view->run->options->group_by);
    else
        json_text(&json, node->name);
    output_text(out, ",\"metrics\":");
    put_metrics(view, number);
    if (node->kind != KIND_SCOPE) {
        output_text(out, ",\"xla\":");
        put_operation(view, node);
    }
    bool is_hidden = number == 0 && !view->has_idle && view->tree->idle_ns > 0;
    output_format(out, ",\"numChildren\":%u,\"children\":[", node->child_count - is_hidden);
}

static void close_json(const struct view *view, uint32_t number)
{
    (void)number;
    output_text(view->run->out, "]}");
}

enum { XPROF_CHILDREN = 100 };

static void put_view(struct tool_run *run, const struct tree *tree, bool has_idle)
{
    static const struct visitor visitor = {open_json, close_json};
    const char *group = run->options->group_by;
    struct view view = {.run = run,
                        .tree = tree,
                        .has_idle = has_idle,
                        .total_ns = tree->whole_ns - (has_idle ? 0 : tree->idle_ns),
                        .max_children = strcmp(group, "provenance") == 0 ? 0 : XPROF_CHILDREN};
    output_format(run->out, "\"by%c%s%s\":", group[0] - 'a' + 'A', group + 1,
                  has_idle ? "" : "ExcludeIdle");
    walk(&view, &visitor);
}

static bool write_tree(struct tool_run *run, struct error *err)
{
    struct tree tree = {0};
    bool ok = read_tree(&tree, run, err);
    output_char(run->out, '{');
    if (ok && tree.nodes.count > 0) {
        put_view(run, &tree, true);
        output_char(run->out, ',');
        put_view(run, &tree, false);
        output_char(run->out, ',');
    }
    output_format(run->out, "\"deviceType\":\"%s\",\"aggDvfsTimeScaleMultiplier\":1}", run->kind);
    free_tree(&tree);
    return ok;
}

/* Blank where it is not known. */
static void put_percent(struct output *out, int width, double share)
{
    if (isnan(share))
        output_format(out, "  %*s", width, "");
    else
        output_format(out, "  %*.1f", width, 100 * share);
}

/* A line for people; what is not known is blank. */
static void open_line(const struct view *view, uint32_t number, bool is_first)
{
    const struct node *node = &view->tree->nodes.items[number];
    struct output *out = view->run->out;
    double share = view->total_ns > 0 ? time_of(view, number) / view->total_ns : 0;
    double compute = over_time(view, number, node->compute_use);
    double memory = over_time(view, number, node->hbm_use);
    bool is_known = !isnan(compute) && !isnan(memory);
    char time[QUANTITY_SIZE];
    (void)is_first;
    put_percent(out, 8, share);
    put_percent(out, 10, is_known ? share * (1 - fmin(fmax(compute, memory), 1)) : NAN);
    put_percent(out, 9, isnan(compute) ? NAN : fmin(compute, 1)); /* fmin drops NAN */
    put_percent(out, 7, isnan(memory) ? NAN : fmin(memory, 1));
    output_format(out, "  %9s  %*s", format_ps(time_of(view, number) * 1000, time),
                  (int)node->depth * 2, "");
    if (number == 0)
        output_text(out, "total");
    else
        export_printable(node->name.data, out);
    output_char(out, '\n');
}

static void close_line(const struct view *view, uint32_t number)
{
    const struct node *nodes = view->tree->nodes.items, *node = &nodes[number];
    uint32_t hidden = 0;
    for (uint32_t child = node->first; child != NO_NODE; child = nodes[child].next)
        hidden += !is_shown(view, &nodes[child]);
    if (hidden > 0)
        output_format(view->run->out, "%*s… and %u more\n", 54 + (int)node->depth * 2 + 2, "",
                      hidden);
}

static bool write_lines(struct tool_run *run, bool *is_empty, struct error *err)
{
    static const struct visitor visitor = {open_line, close_line};
    struct tree tree = {0};
    bool ok = read_tree(&tree, run, err);
    struct view view = {.run = run,
                        .tree = &tree,
                        .has_idle = true,
                        .cuts_all = true,
                        .total_ns = tree.whole_ns,
                        .max_children = run->options->limit};
    *is_empty = tree.nodes.count == 0;
    if (ok && !*is_empty) {
        put_tool_title(run, "Where the time of devices goes, from their first work to their last");
        output_text(run->out, "  Time (%)  Wasted (%)  FLOPS (%)  HBM (%)       Time  Name\n");
        walk(&view, &visitor);
    }
    free_tree(&tree);
    return ok;
}

const struct xprof_tool op_profile = {
    .name = "op_profile",
    .about = "a tree of where the time of devices goes, and how well it is used",
    .why = NO_OPERATIONS,
    .needs = xprof_sql_needs_op_profile,
    TABLES_OF(tables),
    .options = TOOL_GROUP_BY,
    .write_document = write_tree,
    .write_text = write_lines,
};

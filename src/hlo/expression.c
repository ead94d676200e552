/*
 * The text of an instruction, and its category.
 */
#include "hlo/text.h"

#include <assert.h>
#include <inttypes.h>

enum {
    LONGEST_EXPRESSION = 1000000, /* where XProf cuts them */
    ANNOTATED = 5,                /* in long lists, every fifth operand is numbered */
};

/* The instruction in a computation that only passes its parameters to it: the text shows that
 * one. */
static const struct hlo_instruction *wrapped(const struct hlo_module *module,
                                             const struct hlo_instruction *at)
{
    while (at && (at->opcode == HLO_OP_ASYNC_DONE || at->opcode == HLO_OP_ASYNC_UPDATE) &&
           at->callee_count == 0)
        at = hlo_operand(module, at, 0);
    if (!at || (at->opcode != HLO_OP_ASYNC_START && at->opcode != HLO_OP_ASYNC_UPDATE &&
                at->opcode != HLO_OP_ASYNC_DONE))
        return NULL;
    const struct hlo_computation *callee = hlo_callee(module, at, 0);
    const struct hlo_instruction *root = hlo_root(module, callee);
    if (!root || root->operand_count + 1 != callee->count)
        return NULL;
    for (uint32_t i = 0; i < root->operand_count; i++) {
        const struct hlo_instruction *operand = hlo_operand(module, root, i);
        if (!operand || operand->opcode != HLO_OP_PARAMETER || operand->parameter != i)
            return NULL;
    }
    return root;
}

/* How instructions are written. */
struct style {
    const char *sign;  /* before names */
    bool with_shapes;  /* of operands */
    bool with_indices; /* of operands in long lists */
    bool with_configuration;
    int64_t most_elements; /* of constants */
    size_t longest;
};

static void put_operands(struct output *out, const struct hlo_module *module,
                         const struct hlo_instruction *at, const struct style *style)
{
    for (uint32_t i = 0; i < at->operand_count; i++) {
        const struct hlo_instruction *operand = hlo_operand(module, at, i);
        if (i > 0)
            output_text(out, ", ");
        if (style->with_indices && i > 0 && i % ANNOTATED == 0)
            output_format(out, "/*index=%u*/", i);
        if (!operand)
            continue;
        if (style->with_shapes) {
            hlo_put_shape(out, &operand->shape, true);
            output_char(out, ' ');
        }
        output_text(out, style->sign);
        put_text(out, operand->name);
        if (out->size > style->longest)
            return;
    }
}

static void put_configuration(struct output *out, const struct hlo_instruction *at)
{
    struct text config = hlo_text(at->bytes, HLO_BACKEND_CONFIG);
    if (config.size == 0)
        return;
    output_text(out, ", backend_config=");
    if (is_json(config)) {
        put_text(out, config);
        return;
    }
    output_char(out, '"');
    put_escaped(out, config);
    output_char(out, '"');
}

/* An asynchronous instruction around a single operation is written as that operation with a suffix,
 * as XLA writes it: "all-gather-start", with the attributes at the start only. */
static void put_instruction(struct output *out, const struct hlo_module *module,
                            const struct hlo_instruction *at, const struct style *style)
{
    const struct hlo_instruction *told = wrapped(module, at);
    output_text(out, style->sign);
    put_text(out, at->name);
    output_text(out, " = ");
    hlo_put_shape(out, &at->shape, true);
    output_char(out, ' ');
    put_text(out, told ? told->opcode_name : at->opcode_name);
    if (told)
        output_text(out, at->opcode == HLO_OP_ASYNC_START    ? "-start"
                         : at->opcode == HLO_OP_ASYNC_UPDATE ? "-update"
                                                             : "-done");
    output_char(out, '(');
    if (at->opcode == HLO_OP_PARAMETER)
        output_format(out, "%" PRId64, at->parameter);
    else if (at->opcode == HLO_OP_CONSTANT)
        put_literal(out, at, style->most_elements);
    else
        put_operands(out, module, at, style);
    output_char(out, ')');
    if (!told)
        put_attributes(out, module, at, style->sign);
    else if (at->opcode == HLO_OP_ASYNC_START)
        put_attributes(out, module, told, style->sign);
    if (style->with_configuration)
        put_configuration(out, at);
}

void hlo_put_expression(struct output *out, const struct hlo_module *module,
                        const struct hlo_instruction *at)
{
    assert(out->fd < 0); /* otherwise the text to be cut may already have been written */
    size_t start = out->size;
    put_instruction(out, module, at,
                    &(struct style){.sign = "%",
                                    .with_shapes = true,
                                    .with_indices = true,
                                    .most_elements = SHOWN_ELEMENTS,
                                    .longest = start + LONGEST_EXPRESSION});
    if (out->size - start > LONGEST_EXPRESSION)
        out->size = start + LONGEST_EXPRESSION;
}

/* --- a whole module --- */

static bool number_before(const void *a, const void *b, const void *context)
{
    const struct hlo_instruction *items = context;
    return items[*(const uint32_t *)a].schedule_index < items[*(const uint32_t *)b].schedule_index;
}

static bool parameter_before(const void *a, const void *b, const void *context)
{
    const struct hlo_instruction *items = context;
    return items[*(const uint32_t *)a].parameter < items[*(const uint32_t *)b].parameter;
}

/* "(x: f32[2], y: f32[]) -> f32[2]", or with layouts and without names. */
static void put_signature(struct output *out, const struct hlo_module *module,
                          const struct hlo_computation *computation, bool with_names)
{
    const struct hlo_instruction *items = module->instructions.items;
    const struct hlo_instruction *root = hlo_root(module, computation);
    ARRAY(uint32_t) parameters = {0};
    for (uint32_t i = computation->first; i < computation->first + computation->count; i++)
        if (items[i].opcode == HLO_OP_PARAMETER)
            *array_push(&parameters) = i;
    sort_items(parameters.items, parameters.count, sizeof *parameters.items, parameter_before,
               items);
    output_char(out, '(');
    for (uint32_t i = 0; i < parameters.count; i++) {
        const struct hlo_instruction *at = &items[parameters.items[i]];
        if (i > 0)
            output_text(out, ", ");
        if (with_names) {
            put_text(out, at->name);
            output_text(out, ": ");
        } else if (parameters.count > ANNOTATED && i > 0 && i % ANNOTATED == 0) {
            output_format(out, "/*index=%u*/", i);
        }
        hlo_put_shape(out, &at->shape, !with_names);
    }
    output_text(out, with_names ? ") -> " : ")->");
    if (root)
        hlo_put_shape(out, &root->shape, !with_names);
    array_free(&parameters);
}

/* Instructions in the order of the schedule, which may differ from that of the file. */
static void put_computation(struct output *out, const struct hlo_module *module, uint32_t number,
                            const struct style *style, bool is_short)
{
    const struct hlo_computation *computation = &module->computations.items[number];
    uint32_t *order = mem_alloc((computation->count + 1) * sizeof *order);
    for (uint32_t i = 0; i < computation->count; i++)
        order[i] = computation->first + i;
    sort_items(order, computation->count, sizeof *order, number_before, module->instructions.items);
    if (number == module->entry)
        output_text(out, "ENTRY ");
    output_text(out, style->sign);
    put_text(out, computation->name);
    output_char(out, ' ');
    if (!is_short) {
        put_signature(out, module, computation, true);
        output_char(out, ' ');
    }
    output_text(out, "{\n");
    for (uint32_t i = 0; i < computation->count; i++) {
        output_text(out, order[i] == computation->root ? "  ROOT " : "  ");
        put_instruction(out, module, &module->instructions.items[order[i]], style);
        output_char(out, '\n');
    }
    output_text(out, "}\n\n");
    mem_free(order);
}

void hlo_put_module(struct output *out, const struct hlo_module *module, bool is_short)
{
    struct style style = {.sign = is_short ? "" : "%",
                          .with_indices = !is_short,
                          .with_configuration = true,
                          .most_elements = is_short ? SHOWN_ELEMENTS : INT64_MAX,
                          .longest = SIZE_MAX};
    output_text(out, "HloModule ");
    put_text(out, module->name);
    if (module->is_scheduled)
        output_text(out, ", is_scheduled=true");
    if (module->entry != HLO_NONE) {
        output_text(out, ", entry_computation_layout={");
        put_signature(out, module, &module->computations.items[module->entry], false);
        output_char(out, '}');
    }
    put_frontend(out, hlo_message(module->bytes, 19), ", frontend_attributes={");
    output_text(out, "\n\n");
    for (uint32_t i = 0; i < module->ordered_count; i++)
        put_computation(out, module, module->callees_first[i], &style, is_short);
}

static struct text fusion_category(struct text kind)
{
    static const struct {
        struct text kind, category;
    } kinds[] = {
        {{"kLoop", 5}, {"loop fusion", 11}},
        {{"kInput", 6}, {"input fusion", 12}},
        {{"kOutput", 7}, {"output fusion", 13}},
        {{"kCustom", 7}, {"custom fusion", 13}},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(kind, kinds[i].kind))
            return kinds[i].category;
    return TEXT("fusion");
}

static bool has_dilation(const struct hlo_instruction *at, uint32_t field)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_WINDOW);
    struct pb_field each;
    while (pb_next(&in, &each))
        if (each.tag == PB_TAG(1, PB_BYTES) && hlo_number(pb_enter(&each), field) > 1)
            return true;
    return false;
}

static struct text convolution_category(const struct hlo_instruction *at)
{
    bool base = has_dilation(at, 6), window = has_dilation(at, 5);
    if (base && window)
        return TEXT("convolution base-dilated window-dilated");
    if (base)
        return TEXT("convolution base-dilated");
    return window ? TEXT("convolution window-dilated") : TEXT("convolution");
}

struct text hlo_category(const struct hlo_instruction *at)
{
    switch (at->opcode) {
    case HLO_OP_TRANSPOSE:
    case HLO_OP_COPY:
    case HLO_OP_RESHAPE:
    case HLO_OP_DYNAMIC_RESHAPE:
        return TEXT("data formatting");
    case HLO_OP_FUSION:
        return fusion_category(hlo_text(at->bytes, HLO_FUSION_KIND));
    case HLO_OP_CONVOLUTION:
        return convolution_category(at);
    default:
        break;
    }
    return hlo_is_elementwise(at) ? TEXT("non-fusion elementwise") : at->opcode_name;
}

bool hlo_is_elementwise(const struct hlo_instruction *at)
{
    enum hlo_kind kind = hlo_kind_of(at->opcode);
    return kind == HLO_ELEMENTWISE || kind == HLO_TRANSCENDENTAL || at->opcode == HLO_OP_MAP ||
           at->opcode == HLO_OP_RNG || at->opcode == HLO_OP_CONSTANT;
}

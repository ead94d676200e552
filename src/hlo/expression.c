/*
 * The text of an instruction, and its category.
 */
#include "hlo/text.h"

#include <inttypes.h>

enum {
    LONGEST_EXPRESSION = 1000000, /* where XProf cuts them */
    ANNOTATED = 5,                /* every so many operands of a long list, their number */
};

/* A computation that only wraps one instruction around its parameters: the text tells of that. */
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

static void put_operands(struct output *out, const struct hlo_module *module,
                         const struct hlo_instruction *at)
{
    for (uint32_t i = 0; i < at->operand_count; i++) {
        const struct hlo_instruction *operand = hlo_operand(module, at, i);
        if (i > 0)
            output_text(out, ", ");
        if (at->operand_count > ANNOTATED && i > 0 && i % ANNOTATED == 0)
            output_format(out, "/*index=%u*/", i);
        if (!operand)
            continue;
        hlo_put_shape(out, &operand->shape, true);
        output_text(out, " %");
        put_text(out, operand->name);
        if (out->size > LONGEST_EXPRESSION)
            return;
    }
}

void hlo_put_expression(struct output *out, const struct hlo_module *module,
                        const struct hlo_instruction *at)
{
    size_t start = out->size;
    const struct hlo_instruction *told = wrapped(module, at);
    output_char(out, '%');
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
        put_literal(out, at);
    else
        put_operands(out, module, at);
    output_char(out, ')');
    if (!told)
        put_attributes(out, module, at);
    else if (at->opcode == HLO_OP_ASYNC_START)
        put_attributes(out, module, told);
    if (out->size - start > LONGEST_EXPRESSION)
        out->size = start + LONGEST_EXPRESSION;
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

/*
 * Attributes of instructions as in HLO's text, in its order: those of the opcode, callees,
 * sharding, frontend attributes, predecessors.
 */
#include "hlo/text.h"

static void put_callee(struct output *out, const struct hlo_module *module,
                       const struct hlo_instruction *at, uint32_t index, const char *name,
                       const char *sign)
{
    const struct hlo_computation *callee = hlo_callee(module, at, index);
    output_text(out, name);
    output_text(out, sign);
    if (callee)
        put_text(out, callee->name);
}

static void put_conditional(struct output *out, const struct hlo_module *module,
                            const struct hlo_instruction *at, const char *sign)
{
    const struct hlo_instruction *selector = hlo_operand(module, at, 0);
    if (selector && selector->shape.type == HLO_PRED && at->callee_count == 2) {
        put_callee(out, module, at, 0, ", true_computation=", sign);
        put_callee(out, module, at, 1, ", false_computation=", sign);
        return;
    }
    for (uint32_t i = 0; i < at->callee_count; i++)
        put_callee(out, module, at, i, i ? ", " : ", branch_computations={", sign);
    output_char(out, '}');
}

/* The attribute's name depends on the opcode, as in XLA: a loop names its condition first, though
 * the file lists the body first. */
static void put_callees(struct output *out, const struct hlo_module *module,
                        const struct hlo_instruction *at, const char *sign)
{
    if (at->callee_count == 0)
        return;
    switch (at->opcode) {
    case HLO_OP_WHILE:
        put_callee(out, module, at, 1, ", condition=", sign);
        put_callee(out, module, at, 0, ", body=", sign);
        return;
    case HLO_OP_SELECT_AND_SCATTER:
        put_callee(out, module, at, 0, ", select=", sign);
        put_callee(out, module, at, 1, ", scatter=", sign);
        return;
    case HLO_OP_CONDITIONAL:
        put_conditional(out, module, at, sign);
        return;
    case HLO_OP_CALL:
    case HLO_OP_MAP:
    case HLO_OP_REDUCE_WINDOW:
    case HLO_OP_REDUCE:
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_ALL_REDUCE_START:
    case HLO_OP_REDUCE_SCATTER:
    case HLO_OP_SCATTER:
    case HLO_OP_SORT:
    case HLO_OP_TOPK:
        put_callee(out, module, at, 0, ", to_apply=", sign);
        if (at->opcode == HLO_OP_CALL)
            put_flag(out, at, HLO_COMPOSITE, "is_composite");
        return;
    case HLO_OP_CUSTOM_CALL:
        for (uint32_t i = 0; i < at->callee_count; i++)
            put_callee(out, module, at, i, i ? ", " : ", called_computations={", sign);
        output_char(out, '}');
        return;
    default:
        for (uint32_t i = 0; i < at->callee_count; i++)
            put_callee(out, module, at, i, i ? ", " : ", calls=", sign);
        return;
    }
}

bool is_json(struct text value)
{
    return value.size >= 2 && value.data[0] == '{' && value.data[value.size - 1] == '}';
}

static bool attribute_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return text_compare(hlo_text(*(const struct pb_reader *)a, 1),
                        hlo_text(*(const struct pb_reader *)b, 1)) < 0;
}

/* Sorted by name, as a protobuf map has no order of its own and the text must be the same every
 * time. Values that are JSON are not quoted, as in XLA. */
void put_frontend(struct output *out, struct pb_reader in, const char *before)
{
    struct pb_field field;
    ARRAY(struct pb_reader) entries = {0};
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(1, PB_BYTES))
            *array_push(&entries) = pb_enter(&field);
    sort_items(entries.items, entries.count, sizeof *entries.items, attribute_before, NULL);
    for (size_t i = 0; i < entries.count; i++) {
        struct text value = hlo_text(entries.items[i], 2);
        output_text(out, i ? "," : before);
        put_text(out, hlo_text(entries.items[i], 1));
        output_char(out, '=');
        if (is_json(value)) {
            put_text(out, value);
        } else {
            output_char(out, '"');
            put_escaped(out, value);
            output_char(out, '"');
        }
    }
    if (entries.count > 0)
        output_char(out, '}');
    array_free(&entries);
}

static void put_predecessors(struct output *out, const struct hlo_module *module,
                             const struct hlo_instruction *at, const char *sign)
{
    struct pb_reader in = at->bytes;
    struct pb_field field;
    hlo_numbers ids = {0};
    while (pb_next(&in, &field))
        if (field.tag >> 3 == HLO_CONTROL)
            hlo_numbers_add(&ids, &field);
    for (size_t i = 0; i < ids.count; i++) {
        uint32_t index = idmap_get(&module->by_id, (uint64_t)ids.items[i]);
        output_text(out, i ? ", " : ", control-predecessors={");
        output_text(out, sign);
        if (index != IDMAP_NONE)
            put_text(out, module->instructions.items[index].name);
    }
    if (ids.count > 0)
        output_char(out, '}');
    array_free(&ids);
}

/* A replicated one is empty. */
static void put_shardings(struct output *out, const struct hlo_instruction *at)
{
    struct pb_reader in = at->bytes;
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(HLO_SHARDING, PB_BYTES))
            continue;
        output_text(out, ", sharding=");
        put_sharding(out, pb_enter(&field));
    }
}

void put_attributes(struct output *out, const struct hlo_module *module,
                    const struct hlo_instruction *at, const char *sign)
{
    put_opcode_attributes(out, at);
    put_callees(out, module, at, sign);
    struct pb_reader in = at->bytes;
    struct pb_field field;
    bool has_sharding = false, has_frontend = false, has_predecessors = false;
    while (pb_next(&in, &field)) {
        has_sharding |= field.tag >> 3 == HLO_SHARDING;
        has_frontend |= field.tag >> 3 == HLO_FRONTEND;
        has_predecessors |= field.tag >> 3 == HLO_CONTROL;
    }
    if (has_sharding)
        put_shardings(out, at);
    if (has_frontend)
        put_frontend(out, hlo_message(at->bytes, HLO_FRONTEND), ", frontend_attributes={");
    if (has_predecessors)
        put_predecessors(out, module, at, sign);
}

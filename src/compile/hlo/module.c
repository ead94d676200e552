/*
 * Reads an HLO module: computations, instructions, source positions.
 */
#include "compile/hlo/module.h"
#include "compile/hlo/hlo.h"

enum {
    HLO_MODULE = PB_TAG(1, PB_BYTES),

    MODULE_NAME = PB_TAG(1, PB_BYTES),
    MODULE_COMPUTATIONS = PB_TAG(3, PB_BYTES),
    MODULE_ENTRY_ID = PB_TAG(6, PB_VARINT),
    MODULE_STACK_FRAMES = PB_TAG(17, PB_BYTES),

    COMPUTATION_NAME = PB_TAG(1, PB_BYTES),
    COMPUTATION_INSTRUCTIONS = PB_TAG(2, PB_BYTES),
    COMPUTATION_ID = PB_TAG(5, PB_VARINT),
    COMPUTATION_ROOT_ID = PB_TAG(6, PB_VARINT),

    INSTRUCTION_NAME = PB_TAG(1, PB_BYTES),
    INSTRUCTION_OPCODE = PB_TAG(2, PB_BYTES),
    INSTRUCTION_SHAPE = PB_TAG(3, PB_BYTES),
    INSTRUCTION_METADATA = PB_TAG(7, PB_BYTES),
    INSTRUCTION_PARAMETER = PB_TAG(9, PB_VARINT),
    INSTRUCTION_TUPLE_INDEX = PB_TAG(13, PB_VARINT),
    INSTRUCTION_DIMENSIONS = 14,
    INSTRUCTION_ID = PB_TAG(35, PB_VARINT),
    INSTRUCTION_OPERANDS = 36,
    INSTRUCTION_CALLEES = 38,

    METADATA_OP_NAME = PB_TAG(2, PB_BYTES),
    METADATA_FILE = PB_TAG(3, PB_BYTES),
    METADATA_LINE = PB_TAG(4, PB_VARINT),
    METADATA_FRAME = PB_TAG(15, PB_VARINT),

    INDEX_FILE_NAMES = PB_TAG(1, PB_BYTES),
    INDEX_FUNCTION_NAMES = PB_TAG(2, PB_BYTES),
    INDEX_LOCATIONS = PB_TAG(3, PB_BYTES),
    INDEX_FRAMES = PB_TAG(4, PB_BYTES),
};

static bool malformed(struct error *err, const struct pb_reader *in)
{
    return error_set(err, "not a sound HLO module: %s",
                     in->problem ? in->problem : "a list of numbers is malformed");
}

static bool read_metadata(struct pb_reader in, struct hlo_instruction *to)
{
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == METADATA_OP_NAME)
            to->op_name = pb_text(&field);
        else if (field.tag == METADATA_FILE)
            to->file = pb_text(&field);
        else if (field.tag == METADATA_LINE)
            to->line = (uint32_t)field.value;
        else if (field.tag == METADATA_FRAME)
            to->frame = (uint32_t)field.value;
    return in.problem == NULL;
}

/* Ids of operands and callees, until they are resolved. */
struct references {
    hlo_numbers operands, callees, dimensions;
};

static bool read_field(struct hlo_module *module, const struct pb_field *field,
                       struct hlo_instruction *to, struct references *references)
{
    switch (field->tag) {
    case INSTRUCTION_NAME:
        to->name = pb_text(field);
        return true;
    case INSTRUCTION_OPCODE:
        to->opcode = pb_text(field);
        return true;
    case INSTRUCTION_SHAPE:
        return hlo_shape_read(&module->memory, pb_enter(field), 0, &to->shape);
    case INSTRUCTION_METADATA:
        return read_metadata(pb_enter(field), to);
    case INSTRUCTION_PARAMETER:
        to->parameter = (int64_t)field->value;
        return true;
    case INSTRUCTION_TUPLE_INDEX:
        to->tuple_index = (int64_t)field->value;
        return true;
    case INSTRUCTION_ID:
        to->id = field->value;
        return true;
    default:
        break;
    }
    uint32_t number = field->tag >> 3;
    if (number == INSTRUCTION_DIMENSIONS)
        return hlo_numbers_add(&references->dimensions, field);
    if (number == INSTRUCTION_OPERANDS)
        return hlo_numbers_add(&references->operands, field);
    return number != INSTRUCTION_CALLEES || hlo_numbers_add(&references->callees, field);
}

static void *copied(struct arena *memory, const void *items, size_t bytes)
{
    return bytes ? memcpy(arena_alloc(memory, bytes), items, bytes) : NULL;
}

/* Operands are told by ids, of which newer files have the low half in common with older ones. */
static bool resolve_operands(struct hlo_module *module, struct hlo_instruction *to,
                             const hlo_numbers *ids, const struct idmap *by_id, struct error *err)
{
    to->operand_count = (uint32_t)ids->count;
    if (ids->count > 0)
        to->operands = arena_alloc(&module->memory, ids->count * sizeof *to->operands);
    for (size_t i = 0; i < ids->count; i++) {
        to->operands[i] = idmap_get(by_id, (uint64_t)ids->items[i]);
        if (to->operands[i] == IDMAP_NONE)
            return error_set(err,
                             "instruction %.*s: operand %zu is no earlier instruction of its "
                             "computation",
                             (int)to->name.size, to->name.data, i);
    }
    return true;
}

static bool read_instruction(struct hlo_module *module, struct pb_reader in,
                             const struct idmap *by_id, struct hlo_instruction *to,
                             struct error *err)
{
    struct references references = {0};
    struct pb_field field;
    struct pb_reader at = in;
    bool ok = true;
    *to = (struct hlo_instruction){
        .bytes = in,
        .operation = IR_NONE,
        .index = module->instruction_count++,
    };
    to->shape.kind = SHAPE_UNSUPPORTED;
    while (ok && pb_next(&at, &field))
        ok = read_field(module, &field, to, &references);
    if (!ok || at.problem)
        ok = malformed(err, &at);
    if (ok) {
        to->dimension_count = (uint32_t)references.dimensions.count;
        to->dimensions = copied(&module->memory, references.dimensions.items,
                                references.dimensions.count * sizeof *to->dimensions);
        /* Ids of computations are kept as they are until all computations are known. */
        to->callee_count = (uint32_t)references.callees.count;
        to->callees =
            references.callees.count
                ? arena_alloc(&module->memory, references.callees.count * sizeof *to->callees)
                : NULL;
        for (uint32_t i = 0; i < to->callee_count; i++)
            to->callees[i] = (uint32_t)references.callees.items[i];
        ok = resolve_operands(module, to, &references.operands, by_id, err);
    }
    array_free(&references.dimensions);
    array_free(&references.operands);
    array_free(&references.callees);
    return ok;
}

static bool collect_parameters(struct hlo_module *module, struct hlo_computation *computation,
                               struct error *err)
{
    const struct hlo_instruction *at;
    uint32_t count = 0;
    array_each (at, &computation->instructions)
        count += hlo_is(at, "parameter");
    computation->parameter_count = count;
    computation->parameters =
        arena_alloc(&module->memory, (count + 1) * sizeof *computation->parameters);
    for (uint32_t i = 0; i < count; i++)
        computation->parameters[i] = IR_NONE;
    array_each (at, &computation->instructions) {
        if (!hlo_is(at, "parameter"))
            continue;
        if (at->parameter < 0 || at->parameter >= count ||
            computation->parameters[at->parameter] != IR_NONE)
            return error_set(err, "computation %.*s: its parameters are not numbered from 0 on",
                             (int)computation->name.size, computation->name.data);
        computation->parameters[at->parameter] = (uint32_t)(at - computation->instructions.items);
    }
    return true;
}

static void mark_needed(struct hlo_computation *computation)
{
    struct hlo_instruction *items = computation->instructions.items;
    items[computation->root].is_needed = true;
    for (size_t i = computation->root + 1; i-- > 0;)
        for (uint32_t k = 0; items[i].is_needed && k < items[i].operand_count; k++)
            items[items[i].operands[k]].is_needed = true;
}

static bool read_computation(struct hlo_module *module, struct pb_reader in, struct error *err)
{
    struct hlo_computation *to = array_push(&module->computations);
    memset(to, 0, sizeof *to);
    struct idmap by_id = {0};
    struct pb_field field;
    bool ok = true;
    while (ok && pb_next(&in, &field)) {
        if (field.tag == COMPUTATION_NAME)
            to->name = pb_text(&field);
        else if (field.tag == COMPUTATION_ID)
            to->id = field.value;
        else if (field.tag == COMPUTATION_ROOT_ID)
            to->root_id = field.value;
        if (field.tag != COMPUTATION_INSTRUCTIONS)
            continue;
        struct hlo_instruction *instruction = array_push(&to->instructions);
        ok = read_instruction(module, pb_enter(&field), &by_id, instruction, err);
        if (ok)
            idmap_put(&by_id, instruction->id, (uint32_t)to->instructions.count - 1);
    }
    if (ok && in.problem)
        ok = malformed(err, &in);
    uint32_t root = idmap_get(&by_id, to->root_id);
    idmap_free(&by_id);
    if (ok && root == IDMAP_NONE)
        ok = error_set(err, "computation %.*s has no result", (int)to->name.size, to->name.data);
    if (!ok || !collect_parameters(module, to, err))
        return false;
    to->root = root;
    mark_needed(to);
    return true;
}

static bool resolve_callees(struct hlo_module *module, struct error *err)
{
    struct idmap by_id = {0};
    for (uint32_t i = 0; i < module->computations.count; i++)
        idmap_put(&by_id, module->computations.items[i].id, i);
    module->entry = idmap_get(&by_id, module->entry_id);
    bool ok = module->entry != IDMAP_NONE || error_set(err, "the module has no entry computation");
    struct hlo_computation *computation;
    array_each (computation, &module->computations) {
        struct hlo_instruction *at;
        array_each (at, &computation->instructions)
            for (uint32_t i = 0; ok && i < at->callee_count; i++) {
                at->callees[i] = idmap_get(&by_id, at->callees[i]);
                if (at->callees[i] == IDMAP_NONE)
                    ok = error_set(err, "instruction %.*s calls a computation that is not there",
                                   (int)at->name.size, at->name.data);
            }
    }
    idmap_free(&by_id);
    return ok;
}

/* Ids in the index count from 1; 0 and ids out of range mean "none". */
struct frame_index {
    ARRAY(const char *) files, functions;
    ARRAY(struct pb_reader) locations, frames;
};

static const char *text_at(const char *const *texts, size_t count, int64_t id)
{
    return id >= 1 && (uint64_t)id <= count ? texts[id - 1] : "";
}

static void resolve_frames(const struct frame_index *index, struct ir *ir)
{
    for (size_t i = 0; i < index->frames.count; i++) {
        struct pb_reader frame = index->frames.items[i], location = {0};
        int64_t id = hlo_number(frame, 1), parent = hlo_number(frame, 2);
        if (id >= 1 && (uint64_t)id <= index->locations.count)
            location = index->locations.items[id - 1];
        /* A parent comes before its children, so that there are no cycles. */
        *array_push(&ir->frames) = (struct source_frame){
            .file = text_at(index->files.items, index->files.count, hlo_number(location, 1)),
            .function =
                text_at(index->functions.items, index->functions.count, hlo_number(location, 2)),
            .line = (uint32_t)hlo_number(location, 3),
            .column = (uint32_t)hlo_number(location, 4),
            .parent = parent >= 1 && (uint64_t)parent <= i ? (uint32_t)parent : 0,
        };
    }
}

static bool read_frames(struct pb_reader in, struct ir *ir, struct error *err)
{
    struct frame_index index = {0};
    struct pb_field field;
    while (pb_next(&in, &field)) {
        struct text text = pb_text(&field);
        if (field.tag == INDEX_FILE_NAMES)
            *array_push(&index.files) = arena_copy_text(&ir->memory, text.data, text.size);
        else if (field.tag == INDEX_FUNCTION_NAMES)
            *array_push(&index.functions) = arena_copy_text(&ir->memory, text.data, text.size);
        else if (field.tag == INDEX_LOCATIONS)
            *array_push(&index.locations) = pb_enter(&field);
        else if (field.tag == INDEX_FRAMES)
            *array_push(&index.frames) = pb_enter(&field);
    }
    resolve_frames(&index, ir);
    array_free(&index.files);
    array_free(&index.functions);
    array_free(&index.locations);
    array_free(&index.frames);
    return in.problem == NULL || malformed(err, &in);
}

/* In an HloProto the module is field 1, which is the name in a module. */
static struct pb_reader find_module(struct pb_reader in)
{
    struct pb_reader outer = in, inner = {0};
    struct pb_field field;
    bool has_computations = false;
    while (pb_next(&outer, &field)) {
        has_computations |=
            field.tag == MODULE_COMPUTATIONS &&
            hlo_message(pb_enter(&field), COMPUTATION_INSTRUCTIONS >> 3).at < pb_enter(&field).end;
        if (field.tag == HLO_MODULE)
            inner = pb_enter(&field);
    }
    return has_computations ? in : inner;
}

bool hlo_recognise(const uint8_t *bytes, size_t size)
{
    struct pb_reader in = find_module(pb_read(bytes, size));
    struct pb_field field, inner;
    while (pb_next(&in, &field)) {
        if (field.tag != MODULE_COMPUTATIONS)
            continue;
        struct pb_reader computation = pb_enter(&field);
        while (pb_next(&computation, &inner))
            if (inner.tag == COMPUTATION_INSTRUCTIONS)
                return hlo_text(pb_enter(&inner), INSTRUCTION_OPCODE >> 3).size > 0;
    }
    return false;
}

bool hlo_module_read(struct hlo_module *module, const uint8_t *bytes, size_t size, struct ir *ir,
                     struct error *err)
{
    struct pb_reader in = find_module(pb_read(bytes, size));
    struct pb_field field;
    bool ok = true;
    memset(module, 0, sizeof *module);
    while (ok && pb_next(&in, &field)) {
        if (field.tag == MODULE_NAME)
            module->name = pb_text(&field);
        else if (field.tag == MODULE_ENTRY_ID)
            module->entry_id = field.value;
        else if (field.tag == MODULE_COMPUTATIONS)
            ok = read_computation(module, pb_enter(&field), err);
        else if (field.tag == MODULE_STACK_FRAMES)
            ok = read_frames(pb_enter(&field), ir, err);
    }
    if (ok && in.problem)
        ok = malformed(err, &in);
    return ok && resolve_callees(module, err);
}

void hlo_module_free(struct hlo_module *module)
{
    struct hlo_computation *computation;
    array_each (computation, &module->computations)
        array_free(&computation->instructions);
    array_free(&module->computations);
    arena_free(&module->memory);
}

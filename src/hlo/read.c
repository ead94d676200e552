/*
 * Reads a module: computations, their instructions, the schedule and the source positions.
 */
#include "hlo/module.h"

#include <assert.h>

enum {
    PROTO_MODULE = PB_TAG(1, PB_BYTES),
    PROTO_BUFFERS = 3,

    MODULE_NAME = PB_TAG(1, PB_BYTES),
    MODULE_COMPUTATIONS = PB_TAG(3, PB_BYTES),
    MODULE_ENTRY_ID = PB_TAG(6, PB_VARINT),
    MODULE_SCHEDULE = PB_TAG(7, PB_BYTES),
    MODULE_DEVICE_ASSIGNMENT = PB_TAG(15, PB_BYTES),
    MODULE_STACK_FRAMES = PB_TAG(17, PB_BYTES),

    COMPUTATION_NAME = PB_TAG(1, PB_BYTES),
    COMPUTATION_INSTRUCTIONS = PB_TAG(2, PB_BYTES),
    COMPUTATION_ID = PB_TAG(5, PB_VARINT),
    COMPUTATION_ROOT_ID = PB_TAG(6, PB_VARINT),

    METADATA_OP_NAME = PB_TAG(2, PB_BYTES),
    METADATA_FILE = PB_TAG(3, PB_BYTES),
    METADATA_LINE = PB_TAG(4, PB_VARINT),
    METADATA_FRAME = PB_TAG(15, PB_VARINT),

    INDEX_FILE_NAMES = PB_TAG(1, PB_BYTES),
    INDEX_FUNCTION_NAMES = PB_TAG(2, PB_BYTES),
    INDEX_LOCATIONS = PB_TAG(3, PB_BYTES),
    INDEX_FRAMES = PB_TAG(4, PB_BYTES),

    SCHEDULE_SEQUENCES = PB_TAG(1, PB_BYTES),
};

static const struct {
    struct text name;
    enum hlo_kind kind;
} opcodes[] = {
#define OPCODE(symbol, name, kind) {{name, sizeof name - 1}, HLO_##kind},
#include "hlo/opcodes.def"
#undef OPCODE
};

static enum hlo_opcode opcode_of(struct text name)
{
    size_t low = 0, high = HLO_OP_UNKNOWN;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = text_compare(name, opcodes[middle].name);
        if (order == 0)
            return (enum hlo_opcode)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return HLO_OP_UNKNOWN;
}

enum hlo_kind hlo_kind_of(enum hlo_opcode opcode)
{
    return opcode < HLO_OP_UNKNOWN ? opcodes[opcode].kind : HLO_OTHER;
}

static bool malformed(struct error *err, const struct pb_reader *in)
{
    return error_set(err, "not a valid HLO module: %s",
                     in->problem ? in->problem : "a list of numbers or a shape is malformed");
}

/* Lists of the instruction that is being read. */
struct lists {
    hlo_numbers operands, callees, dimensions;
};

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

/* Reads only the fields that most instructions have; the others are read from the instruction's
 * bytes where they are used. */
static bool read_field(struct hlo_module *module, const struct pb_field *field,
                       struct hlo_instruction *to, struct lists *lists)
{
    switch (field->tag) {
    case PB_TAG(HLO_NAME, PB_BYTES):
        to->name = pb_text(field);
        return true;
    case PB_TAG(HLO_OPCODE, PB_BYTES):
        to->opcode_name = pb_text(field);
        return true;
    case PB_TAG(HLO_SHAPE, PB_BYTES):
        return hlo_shape_read(&module->memory, pb_enter(field), &to->shape);
    case PB_TAG(HLO_METADATA, PB_BYTES):
        return read_metadata(pb_enter(field), to);
    case PB_TAG(HLO_PARAMETER, PB_VARINT):
        to->parameter = (int64_t)field->value;
        return true;
    case PB_TAG(HLO_TUPLE_INDEX, PB_VARINT):
        to->tuple_index = (int64_t)field->value;
        return true;
    case PB_TAG(HLO_ID, PB_VARINT):
        to->id = field->value;
        return true;
    default:
        break;
    }
    uint32_t number = field->tag >> 3;
    if (number == HLO_DIMENSIONS)
        return hlo_numbers_add(&lists->dimensions, field);
    if (number == HLO_OPERANDS)
        return hlo_numbers_add(&lists->operands, field);
    return number != HLO_CALLEES || hlo_numbers_add(&lists->callees, field);
}

/* Operands are given as ids, and come before their uses. */
static void keep_lists(struct hlo_module *module, const struct hlo_computation *computation,
                       struct hlo_instruction *to, const struct lists *lists)
{
    to->operand_count = (uint32_t)lists->operands.count;
    to->callee_count = (uint32_t)lists->callees.count;
    to->dimension_count = (uint32_t)lists->dimensions.count;
    size_t bytes = to->dimension_count * sizeof *to->dimensions +
                   (to->operand_count + to->callee_count) * sizeof *to->operands;
    if (bytes == 0)
        return;
    to->dimensions = arena_alloc(&module->memory, bytes);
    to->operands = (uint32_t *)(to->dimensions + to->dimension_count);
    to->callees = to->operands + to->operand_count;
    if (to->dimension_count > 0)
        memcpy(to->dimensions, lists->dimensions.items,
               to->dimension_count * sizeof *to->dimensions);
    for (uint32_t i = 0; i < to->operand_count; i++) {
        uint32_t operand = idmap_get(&module->by_id, (uint64_t)lists->operands.items[i]);
        to->operands[i] = operand >= computation->first ? operand : HLO_NONE;
    }
    /* Ids of computations, until all of them are known. */
    for (uint32_t i = 0; i < to->callee_count; i++)
        to->callees[i] = (uint32_t)lists->callees.items[i];
}
static_assert(HLO_NONE == IDMAP_NONE, "an id that is not found is a missing reference");

static bool read_instruction(struct hlo_module *module, const struct hlo_computation *computation,
                             struct pb_reader in, struct lists *lists, struct error *err)
{
    struct hlo_instruction *to = array_push(&module->instructions);
    *to = (struct hlo_instruction){
        .bytes = in, .computation = (uint32_t)(computation - module->computations.items)};
    lists->operands.count = lists->callees.count = lists->dimensions.count = 0;
    struct pb_field field;
    bool ok = true;
    while (ok && pb_next(&in, &field))
        ok = read_field(module, &field, to, lists);
    if (!ok || in.problem)
        return malformed(err, &in);
    to->opcode = opcode_of(to->opcode_name);
    keep_lists(module, computation, to, lists);
    to->schedule_index = (uint32_t)module->instructions.count - 1 - computation->first;
    idmap_put(&module->by_id, to->id, (uint32_t)module->instructions.count - 1);
    return true;
}

static bool read_computation(struct hlo_module *module, struct pb_reader in, struct lists *lists,
                             struct error *err)
{
    struct hlo_computation *to = array_push(&module->computations);
    *to = (struct hlo_computation){.first = (uint32_t)module->instructions.count, .root = HLO_NONE};
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag == COMPUTATION_NAME)
            to->name = pb_text(&field);
        else if (field.tag == COMPUTATION_ID)
            to->id = field.value;
        else if (field.tag == COMPUTATION_ROOT_ID)
            to->root_id = field.value;
        else if (field.tag == COMPUTATION_INSTRUCTIONS &&
                 !read_instruction(module, to, pb_enter(&field), lists, err))
            return false;
    }
    to->count = (uint32_t)module->instructions.count - to->first;
    uint32_t root = idmap_get(&module->by_id, to->root_id);
    if (root != IDMAP_NONE && root >= to->first)
        to->root = root;
    return in.problem == NULL || malformed(err, &in);
}

/* Ids in the index count from 1; 0 and ids out of range mean "none". Lists may come in any order,
 * so ids are resolved after all have been read. */
struct frame_index {
    ARRAY(struct text) files, functions;
    ARRAY(struct pb_reader) locations, frames;
};

static struct text text_at(const struct text *texts, size_t count, int64_t id)
{
    return id >= 1 && (uint64_t)id <= count ? texts[id - 1] : (struct text){0};
}

static void resolve_frames(const struct frame_index *index, struct hlo_module *module)
{
    for (size_t i = 0; i < index->frames.count; i++) {
        struct pb_reader frame = index->frames.items[i], location = {0};
        int64_t id = hlo_number(frame, 1), parent = hlo_number(frame, 2);
        if (id >= 1 && (uint64_t)id <= index->locations.count)
            location = index->locations.items[id - 1];
        *array_push(&module->frames) = (struct hlo_frame){
            .file = text_at(index->files.items, index->files.count, hlo_number(location, 1)),
            .function =
                text_at(index->functions.items, index->functions.count, hlo_number(location, 2)),
            .line = (uint32_t)hlo_number(location, 3),
            .column = (uint32_t)hlo_number(location, 4),
            .parent = parent >= 1 && (uint64_t)parent <= index->frames.count ? (uint32_t)parent : 0,
        };
    }
}

static bool is_sound(struct pb_reader in)
{
    struct pb_field field;
    while (pb_next(&in, &field))
        continue;
    return in.problem == NULL;
}

/* Collects all lists before resolving ids, as the file may have them in any order. Frees what it
 * collected, also on error; names point into the module's bytes. */
static bool read_frames(struct hlo_module *module, struct pb_reader in, struct error *err)
{
    struct frame_index index = {0};
    struct pb_field field;
    bool ok = true;
    while (ok && pb_next(&in, &field)) {
        if (field.tag == INDEX_FILE_NAMES)
            *array_push(&index.files) = pb_text(&field);
        else if (field.tag == INDEX_FUNCTION_NAMES)
            *array_push(&index.functions) = pb_text(&field);
        else if (field.tag == INDEX_LOCATIONS)
            *array_push(&index.locations) = pb_enter(&field);
        else if (field.tag == INDEX_FRAMES)
            *array_push(&index.frames) = pb_enter(&field);
        ok = (field.tag != INDEX_LOCATIONS && field.tag != INDEX_FRAMES) ||
             is_sound(pb_enter(&field));
    }
    ok = (ok && in.problem == NULL) || malformed(err, &in);
    if (ok)
        resolve_frames(&index, module);
    array_free(&index.files);
    array_free(&index.functions);
    array_free(&index.locations);
    array_free(&index.frames);
    return ok;
}

static void schedule_computation(struct hlo_module *module, uint32_t computation,
                                 struct pb_reader sequence)
{
    hlo_numbers ids = {0};
    struct pb_field field;
    while (pb_next(&sequence, &field))
        if (field.tag >> 3 == 1)
            hlo_numbers_add(&ids, &field);
    for (size_t i = 0; i < ids.count; i++) {
        uint32_t index = idmap_get(&module->by_id, (uint64_t)ids.items[i]);
        if (index != IDMAP_NONE && module->instructions.items[index].computation == computation)
            module->instructions.items[index].schedule_index = (uint32_t)i;
    }
    array_free(&ids);
}

static bool read_schedule(struct hlo_module *module, struct pb_reader in, const struct idmap *by_id)
{
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag != SCHEDULE_SEQUENCES)
            continue;
        struct pb_reader entry = pb_enter(&field);
        uint32_t computation = idmap_get(by_id, (uint64_t)hlo_number(entry, 1));
        if (computation != IDMAP_NONE)
            schedule_computation(module, computation, hlo_message(entry, 2));
    }
    return in.problem == NULL;
}

static void resolve_callees(struct hlo_module *module, const struct idmap *by_id)
{
    struct hlo_instruction *at;
    array_each (at, &module->instructions)
        for (uint32_t i = 0; i < at->callee_count; i++)
            at->callees[i] = idmap_get(by_id, at->callees[i]);
}

enum { UNSEEN, OPEN, DONE };

/* One computation on the way down: its callees are visited first. */
struct visit {
    uint32_t computation, instruction, callee;
};

/* The next callee of the computation that has not been visited; HLO_NONE when all have. */
static uint32_t next_callee(const struct hlo_module *module, struct visit *visit)
{
    const struct hlo_computation *computation = &module->computations.items[visit->computation];
    for (; visit->instruction < computation->count; visit->instruction++, visit->callee = 0) {
        const struct hlo_instruction *at =
            &module->instructions.items[computation->first + visit->instruction];
        while (visit->callee < at->callee_count) {
            uint32_t callee = at->callees[visit->callee++];
            if (callee != HLO_NONE)
                return callee;
        }
    }
    return HLO_NONE;
}

/* Depth first from the entry, then from computations it does not reach; without recursion.
 * Computations in a circle, and those that call them, are left out. */
static void order_computations(struct hlo_module *module)
{
    size_t count = module->computations.count;
    uint8_t *state = mem_zeroed(count + 1, 1);
    bool *is_circular = mem_zeroed(count + 1, sizeof *is_circular);
    ARRAY(struct visit) stack = {0};
    module->callees_first = arena_alloc(&module->memory, (count + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t start = i == 0 ? module->entry : i - 1;
        if (start != HLO_NONE && state[start] == UNSEEN) {
            state[start] = OPEN;
            *array_push(&stack) = (struct visit){.computation = start};
        }
        while (stack.count > 0) {
            struct visit *top = &stack.items[stack.count - 1];
            uint32_t at = top->computation, callee = next_callee(module, top);
            if (callee == HLO_NONE) {
                state[at] = DONE;
                stack.count--;
                if (!is_circular[at])
                    module->callees_first[module->ordered_count++] = at;
                else if (stack.count > 0)
                    is_circular[stack.items[stack.count - 1].computation] = true;
            } else if (state[callee] == UNSEEN) {
                state[callee] = OPEN;
                *array_push(&stack) = (struct visit){.computation = callee};
            } else if (state[callee] == OPEN || is_circular[callee]) {
                is_circular[at] = true;
            }
        }
    }
    array_free(&stack);
    mem_free(is_circular);
    mem_free(state);
}

/* Callers come after their callees: in reverse order, each caller marks its callees. */
static void mark_fused(struct hlo_module *module)
{
    for (uint32_t i = module->ordered_count; i-- > 0;) {
        const struct hlo_computation *caller =
            &module->computations.items[module->callees_first[i]];
        for (uint32_t k = 0; k < caller->count; k++) {
            const struct hlo_instruction *at = &module->instructions.items[caller->first + k];
            for (uint32_t c = 0; c < at->callee_count; c++)
                if (at->callees[c] != HLO_NONE && (caller->is_fused || at->opcode == HLO_OP_FUSION))
                    module->computations.items[at->callees[c]].is_fused = true;
        }
    }
}

/* In an HloProto the module is field 1, which is the name in a module. */
static struct pb_reader find_module(struct pb_reader in, struct pb_reader *buffers)
{
    struct pb_reader outer = in, inner = {0};
    struct pb_field field;
    bool has_computations = false;
    while (pb_next(&outer, &field)) {
        has_computations |= field.tag == MODULE_COMPUTATIONS;
        if (field.tag == PROTO_MODULE)
            inner = pb_enter(&field);
    }
    struct pb_reader at = inner;
    bool is_inside = false;
    while (pb_next(&at, &field))
        is_inside |= field.tag == MODULE_COMPUTATIONS;
    if (has_computations && (at.problem || !is_inside))
        return in;
    *buffers = hlo_message(in, PROTO_BUFFERS);
    return inner;
}

bool hlo_recognize(const uint8_t *bytes, size_t size)
{
    struct pb_reader buffers, in = find_module(pb_read(bytes, size), &buffers);
    struct pb_field field, inner;
    while (pb_next(&in, &field)) {
        if (field.tag != MODULE_COMPUTATIONS)
            continue;
        struct pb_reader computation = pb_enter(&field);
        while (pb_next(&computation, &inner))
            if (inner.tag == COMPUTATION_INSTRUCTIONS)
                return hlo_text(pb_enter(&inner), HLO_OPCODE).size > 0;
    }
    return false;
}

static void resolve(struct hlo_module *module, struct pb_reader schedule)
{
    struct idmap by_id = {0};
    for (uint32_t i = 0; i < module->computations.count; i++)
        idmap_put(&by_id, module->computations.items[i].id, i);
    module->entry = idmap_get(&by_id, module->entry_id);
    resolve_callees(module, &by_id);
    read_schedule(module, schedule, &by_id);
    idmap_free(&by_id);
    order_computations(module);
    mark_fused(module);
}

/* References are resolved after everything is read: ids may be used before they are defined. On
 * failure the caller still frees the module. */
bool hlo_module_read(struct hlo_module *module, const uint8_t *bytes, size_t size,
                     struct error *err)
{
    *module = (struct hlo_module){.entry = HLO_NONE};
    struct pb_reader whole = pb_read(bytes, size), schedule = {0};
    struct pb_reader in = module->bytes = find_module(whole, &module->buffers);
    struct lists lists = {0};
    struct pb_field field;
    bool ok = is_sound(whole) || malformed(err, &(struct pb_reader){0});
    while (ok && pb_next(&in, &field)) {
        if (field.tag == MODULE_NAME)
            module->name = pb_text(&field);
        else if (field.tag == MODULE_ENTRY_ID)
            module->entry_id = field.value;
        else if (field.tag == MODULE_COMPUTATIONS)
            ok = read_computation(module, pb_enter(&field), &lists, err);
        else if (field.tag == MODULE_STACK_FRAMES)
            ok = read_frames(module, pb_enter(&field), err);
        else if (field.tag == MODULE_SCHEDULE)
            schedule = pb_enter(&field), module->is_scheduled = true;
        else if (field.tag == MODULE_DEVICE_ASSIGNMENT) {
            module->replicas = (uint32_t)hlo_number(pb_enter(&field), 1);
            module->partitions = (uint32_t)hlo_number(pb_enter(&field), 2);
        }
    }
    if (ok && in.problem)
        ok = malformed(err, &in);
    array_free(&lists.operands);
    array_free(&lists.callees);
    array_free(&lists.dimensions);
    if (ok)
        resolve(module, schedule);
    return ok;
}

void hlo_module_free(struct hlo_module *module)
{
    array_free(&module->computations);
    array_free(&module->instructions);
    array_free(&module->frames);
    idmap_free(&module->by_id);
    arena_free(&module->memory);
}

const struct hlo_instruction *hlo_operand(const struct hlo_module *module,
                                          const struct hlo_instruction *at, uint32_t index)
{
    if (index >= at->operand_count || at->operands[index] == HLO_NONE)
        return NULL;
    return &module->instructions.items[at->operands[index]];
}

const struct hlo_computation *hlo_callee(const struct hlo_module *module,
                                         const struct hlo_instruction *at, uint32_t index)
{
    if (index >= at->callee_count || at->callees[index] == HLO_NONE)
        return NULL;
    return &module->computations.items[at->callees[index]];
}

const struct hlo_instruction *hlo_root(const struct hlo_module *module,
                                       const struct hlo_computation *computation)
{
    return computation && computation->root != HLO_NONE
               ? &module->instructions.items[computation->root]
               : NULL;
}

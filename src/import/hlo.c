/*
 * HLO: the compiled programs that XLA stores in a profile. Only what a profile needs is read:
 * names, opcodes and source locations of operations.
 */
#include "import/hlo.h"

#include "wire/wire.h"

enum {
    HLO_MODULE = PB_TAG(1, PB_BYTES),

    MODULE_NAME = PB_TAG(1, PB_BYTES),
    MODULE_COMPUTATIONS = PB_TAG(3, PB_BYTES),
    MODULE_SCHEDULE = PB_TAG(7, PB_BYTES),
    MODULE_STACK_FRAMES = PB_TAG(17, PB_BYTES),

    SCHEDULE_SEQUENCES = PB_TAG(1, PB_BYTES),
    SEQUENCE_VALUE = PB_TAG(2, PB_BYTES),
    SEQUENCE_IDS = PB_TAG(1, PB_BYTES),

    COMPUTATION_NAME = PB_TAG(1, PB_BYTES),
    COMPUTATION_INSTRUCTIONS = PB_TAG(2, PB_BYTES),

    INSTRUCTION_NAME = PB_TAG(1, PB_BYTES),
    INSTRUCTION_OPCODE = PB_TAG(2, PB_BYTES),
    INSTRUCTION_METADATA = PB_TAG(7, PB_BYTES),
    INSTRUCTION_ID = PB_TAG(35, PB_VARINT),

    METADATA_OP_NAME = PB_TAG(2, PB_BYTES),
    METADATA_SOURCE_FILE = PB_TAG(3, PB_BYTES),
    METADATA_SOURCE_LINE = PB_TAG(4, PB_VARINT),
    METADATA_STACK_FRAME_ID = PB_TAG(15, PB_VARINT),

    INDEX_FILE_NAMES = PB_TAG(1, PB_BYTES),
    INDEX_FUNCTION_NAMES = PB_TAG(2, PB_BYTES),
    INDEX_LOCATIONS = PB_TAG(3, PB_BYTES),
    INDEX_FRAMES = PB_TAG(4, PB_BYTES),

    LOCATION_FILE_ID = PB_TAG(1, PB_VARINT),
    LOCATION_FUNCTION_ID = PB_TAG(2, PB_VARINT),
    LOCATION_LINE = PB_TAG(3, PB_VARINT),
    LOCATION_COLUMN = PB_TAG(4, PB_VARINT),

    FRAME_LOCATION_ID = PB_TAG(1, PB_VARINT),
    FRAME_PARENT_ID = PB_TAG(2, PB_VARINT),
};

static bool read_op_metadata(struct catalog *catalog, struct pb_reader in, struct operation *op)
{
    struct pb_field field;
    while (pb_next(&in, &field)) {
        switch (field.tag) {
        case METADATA_OP_NAME:
            op->op_name = catalog_string(catalog, pb_text(&field));
            break;
        case METADATA_SOURCE_FILE:
            op->file = catalog_string(catalog, pb_text(&field));
            break;
        case METADATA_SOURCE_LINE:
            op->line = (uint32_t)field.value;
            break;
        case METADATA_STACK_FRAME_ID:
            op->frame = (uint32_t)field.value;
            break;
        default:
            break;
        }
    }
    return in.problem == NULL;
}

static bool read_instruction(struct catalog *catalog, struct pb_reader in, struct operation *op,
                             struct idmap *by_id, uint32_t index)
{
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag == INSTRUCTION_NAME)
            op->name = catalog_string(catalog, pb_text(&field));
        else if (field.tag == INSTRUCTION_OPCODE)
            op->opcode = catalog_string(catalog, pb_text(&field));
        else if (field.tag == INSTRUCTION_ID)
            idmap_put(by_id, field.value, index);
        else if (field.tag == INSTRUCTION_METADATA &&
                 !read_op_metadata(catalog, pb_enter(&field), op))
            return false;
    }
    return in.problem == NULL;
}

static bool read_computation(struct catalog *catalog, struct program *program, struct pb_reader in,
                             struct idmap *by_id)
{
    struct pb_field field;
    size_t first = program->operations.count;
    uint32_t name = STRING_NONE;
    while (pb_next(&in, &field)) {
        if (field.tag == COMPUTATION_NAME)
            name = catalog_string(catalog, pb_text(&field));
        if (field.tag != COMPUTATION_INSTRUCTIONS)
            continue;
        struct operation *op = array_push(&program->operations);
        *op = (struct operation){OPERATION_COSTS_UNKNOWN};
        op->schedule_index = (uint32_t)(program->operations.count - 1 - first);
        if (!read_instruction(catalog, pb_enter(&field), op, by_id,
                              (uint32_t)(program->operations.count - 1)))
            return false;
    }
    for (size_t i = first; i < program->operations.count; i++)
        program->operations.items[i].computation = name;
    return in.problem == NULL;
}

/* Ids in the index count from 1; 0 and ids out of range mean "none". Lists may come in any order,
 * so ids are resolved after all have been read. */
struct frame_index {
    ARRAY(uint32_t) files, functions;
    ARRAY(struct stack_frame) locations; /* file and function as ids */
    ARRAY(uint32_t) frame_locations;     /* of program.frames */
};

static uint32_t string_at(const uint32_t *strings, size_t count, uint64_t id)
{
    return id >= 1 && id <= count ? strings[id - 1] : STRING_NONE;
}

static bool read_location(struct frame_index *index, struct pb_reader in)
{
    struct pb_field field;
    struct stack_frame location = {0};
    while (pb_next(&in, &field)) {
        if (field.tag == LOCATION_FILE_ID)
            location.file = (uint32_t)field.value;
        else if (field.tag == LOCATION_FUNCTION_ID)
            location.function = (uint32_t)field.value;
        else if (field.tag == LOCATION_LINE)
            location.line = (uint32_t)field.value;
        else if (field.tag == LOCATION_COLUMN)
            location.column = (uint32_t)field.value;
    }
    *array_push(&index->locations) = location;
    return in.problem == NULL;
}

static bool read_frame(struct frame_index *index, struct program *program, struct pb_reader in)
{
    struct pb_field field;
    uint64_t location = 0, parent = 0;
    while (pb_next(&in, &field)) {
        if (field.tag == FRAME_LOCATION_ID)
            location = field.value;
        else if (field.tag == FRAME_PARENT_ID)
            parent = field.value;
    }
    *array_push(&program->frames) = (struct stack_frame){.parent = (uint32_t)parent};
    *array_push(&index->frame_locations) = (uint32_t)location;
    return in.problem == NULL;
}

static void resolve_frames(const struct frame_index *index, struct program *program, size_t first)
{
    for (size_t i = first; i < program->frames.count; i++) {
        struct stack_frame *frame = &program->frames.items[i];
        uint32_t id = index->frame_locations.items[i - first], parent = frame->parent;
        if (id >= 1 && id <= index->locations.count)
            *frame = index->locations.items[id - 1];
        frame->file = string_at(index->files.items, index->files.count, frame->file);
        frame->function =
            string_at(index->functions.items, index->functions.count, frame->function);
        frame->parent = parent <= program->frames.count ? parent : 0;
    }
}

static bool read_frame_index(struct catalog *catalog, struct program *program, struct pb_reader in)
{
    struct frame_index index = {0};
    struct pb_field field;
    size_t first = program->frames.count;
    bool ok = true;
    while (ok && pb_next(&in, &field)) {
        if (field.tag == INDEX_FILE_NAMES)
            *array_push(&index.files) = catalog_string(catalog, pb_text(&field));
        else if (field.tag == INDEX_FUNCTION_NAMES)
            *array_push(&index.functions) = catalog_string(catalog, pb_text(&field));
        else if (field.tag == INDEX_LOCATIONS)
            ok = read_location(&index, pb_enter(&field));
        else if (field.tag == INDEX_FRAMES)
            ok = read_frame(&index, program, pb_enter(&field));
    }
    resolve_frames(&index, program, first);
    array_free(&index.files);
    array_free(&index.functions);
    array_free(&index.locations);
    array_free(&index.frame_locations);
    return ok && in.problem == NULL;
}

/* XLA names a kernel after its operation, with '_' for characters not allowed in a symbol. */
static uint32_t kernel_name(struct catalog *catalog, uint32_t name)
{
    struct text text = catalog_text(catalog, name);
    char *copy = mem_copy_text(text.data, text.size);
    for (size_t i = 0; i < text.size; i++)
        if (copy[i] == '.' || copy[i] == '-')
            copy[i] = '_';
    uint32_t string = catalog_string(catalog, (struct text){copy, text.size});
    mem_free(copy);
    return string;
}

void hlo_index(struct catalog *catalog, struct program *program)
{
    for (uint32_t i = 0; i < program->operations.count; i++) {
        struct operation *op = &program->operations.items[i];
        if (op->frame > program->frames.count)
            op->frame = 0;
        if (op->file == STRING_NONE && op->frame > 0) {
            op->file = program->frames.items[op->frame - 1].file;
            op->line = program->frames.items[op->frame - 1].line;
        }
        idmap_put(&program->by_name, op->name, i);
        uint32_t kernel = kernel_name(catalog, op->name);
        if (idmap_get(&program->by_kernel_name, kernel) == IDMAP_NONE)
            idmap_put(&program->by_kernel_name, kernel, i);
    }
}

/* Operations in the order in which a computation executes them. */
static bool read_sequence(struct program *program, struct pb_reader in, const struct idmap *by_id)
{
    struct pb_field field;
    uint32_t position = 0;
    while (pb_next(&in, &field)) {
        if (field.tag != SEQUENCE_IDS)
            continue;
        struct pb_reader ids = pb_enter(&field);
        uint64_t id;
        for (; ids.at < ids.end && pb_varint(&ids, &id); position++) {
            uint32_t index = idmap_get(by_id, id);
            if (index != IDMAP_NONE)
                program->operations.items[index].schedule_index = position;
        }
        if (ids.problem)
            return false;
    }
    return in.problem == NULL;
}

static bool read_schedule(struct program *program, struct pb_reader in, const struct idmap *by_id)
{
    struct pb_field sequence, value;
    while (pb_next(&in, &sequence)) {
        struct pb_reader entry = pb_enter(&sequence);
        while (sequence.tag == SCHEDULE_SEQUENCES && pb_next(&entry, &value))
            if (value.tag == SEQUENCE_VALUE && !read_sequence(program, pb_enter(&value), by_id))
                return false;
    }
    return in.problem == NULL;
}

static bool read_module(struct catalog *catalog, struct program *program, struct pb_reader in)
{
    struct pb_field field;
    struct idmap by_id = {0};
    struct pb_reader schedule = {0};
    bool ok = true;
    while (ok && pb_next(&in, &field)) {
        if (field.tag == MODULE_NAME)
            program->name = catalog_string(catalog, pb_text(&field));
        else if (field.tag == MODULE_COMPUTATIONS)
            ok = read_computation(catalog, program, pb_enter(&field), &by_id);
        else if (field.tag == MODULE_SCHEDULE)
            schedule = pb_enter(&field);
        else if (field.tag == MODULE_STACK_FRAMES)
            ok = read_frame_index(catalog, program, pb_enter(&field));
    }
    ok = ok && (!schedule.at || read_schedule(program, schedule, &by_id));
    idmap_free(&by_id);
    return ok && in.problem == NULL;
}

bool hlo_import(struct catalog *catalog, uint32_t host, uint32_t label, uint64_t id,
                const uint8_t *data, size_t size)
{
    struct program program = {.host = host, .label = label, .id = id};
    struct pb_reader in = pb_read(data, size);
    struct pb_field field;
    bool ok = true;
    while (ok && pb_next(&in, &field))
        if (field.tag == HLO_MODULE)
            ok = read_module(catalog, &program, pb_enter(&field));
    if (!ok || in.problem) {
        array_free(&program.operations);
        array_free(&program.frames);
        return false;
    }
    hlo_index(catalog, &program);
    *array_push(&catalog->programs) = program;
    return true;
}

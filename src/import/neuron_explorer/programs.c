/*
 * Imports compiled programs, with their operations and stack frames, from profiles that Kymo
 * exported.
 */
#include "import/hlo.h"
#include "import/neuron_explorer/explorer_passes.h"

#include <math.h>

/* An index or line number; 0 when it is missing or invalid. */
static uint32_t small_number(const struct json_value *object, struct text key)
{
    int64_t number;
    return member_whole(object, key, &number) && number > 0 && number < UINT32_MAX
               ? (uint32_t)number
               : 0;
}

/* An index plus one, 0 when it is missing. */
static uint32_t index_after(const struct json_value *object, struct text key)
{
    int64_t number;
    return member_whole(object, key, &number) && number >= 0 && number < UINT32_MAX - 1
               ? (uint32_t)number + 1
               : 0;
}

static void add_frame(struct catalog *catalog, struct program *program,
                      const struct json_value *object)
{
    *array_push(&program->frames) =
        (struct stack_frame){.file = member_string(catalog, object, TEXT("file")),
                             .function = member_string(catalog, object, TEXT("function")),
                             .line = small_number(object, TEXT("line")),
                             .column = small_number(object, TEXT("column")),
                             .parent = index_after(object, TEXT("parent"))};
}

static double cost(const struct json_value *object, struct text key)
{
    struct json_value value;
    struct json_number number;
    return value_member(object, key, &value) && value_number(&value, &number)
               ? json_number_double(&number)
               : NAN;
}

static int64_t byte_count(const struct json_value *object, struct text key)
{
    int64_t number;
    return member_whole(object, key, &number) && number >= 0 ? number : -1;
}

static bool is_true(const struct json_value *object, struct text key)
{
    struct json_value value;
    return value_member(object, key, &value) && value.kind == JSON_TRUE;
}

/* Whether a member is a list, and a reader of it. */
static bool find_list(const struct json_value *object, struct text key, struct json_reader *in)
{
    struct json_value list;
    if (!value_member(object, key, &list) || list.kind != JSON_LIST)
        return false;
    *in = json_read(list.text);
    return true;
}

static void add_operands(struct program *program, struct operation *op,
                         const struct json_value *object)
{
    struct json_reader in;
    struct json_value item;
    int64_t number;
    op->first_operand = (uint32_t)program->operands.count;
    if (!find_list(object, TEXT("operands"), &in))
        return;
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']'))
        if (json_read_value(&in, &item) && value_whole(&item, &number) && number >= 0 &&
            number < UINT32_MAX)
            *array_push(&program->operands) = (uint32_t)number;
    op->operand_count = (uint32_t)program->operands.count - op->first_operand;
}

static void add_callees(struct catalog *catalog, struct program *program, struct operation *op,
                        const struct json_value *object)
{
    struct json_reader in;
    struct json_value item;
    op->first_callee = (uint32_t)program->callees.count;
    if (!find_list(object, TEXT("callees"), &in))
        return;
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']'))
        if (json_read_value(&in, &item) && item.kind == JSON_STRING)
            *array_push(&program->callees) = value_string(catalog, &item);
    op->callee_count = (uint32_t)program->callees.count - op->first_callee;
}

/* The counterpart of the JSON export: every member that it writes is read here, missing ones are
 * empty or unknown. */
static void add_operation(struct catalog *catalog, struct program *program,
                          const struct json_value *object)
{
    struct operation op = {.name = member_string(catalog, object, TEXT("name")),
                           .opcode = member_string(catalog, object, TEXT("opcode")),
                           .computation = member_string(catalog, object, TEXT("computation")),
                           .op_name = member_string(catalog, object, TEXT("op_name")),
                           .file = member_string(catalog, object, TEXT("source_file")),
                           .line = small_number(object, TEXT("source_line")),
                           .frame = index_after(object, TEXT("stack_frame")),
                           .category = member_string(catalog, object, TEXT("category")),
                           .shape = member_string(catalog, object, TEXT("shape")),
                           .expression = member_string(catalog, object, TEXT("expression")),
                           .compute_type = member_string(catalog, object, TEXT("compute_type")),
                           .flops = cost(object, TEXT("flops")),
                           .matrix_flops = cost(object, TEXT("matrix_flops")),
                           .xprof_flops = cost(object, TEXT("xprof_flops")),
                           .bytes_accessed = byte_count(object, TEXT("bytes_accessed")),
                           .bytes_read = byte_count(object, TEXT("bytes_read")),
                           .bytes_written = byte_count(object, TEXT("bytes_written")),
                           .schedule_index = small_number(object, TEXT("schedule_index")),
                           .is_fused = is_true(object, TEXT("is_fused"))};
    add_operands(program, &op, object);
    add_callees(catalog, program, &op, object);
    *array_push(&program->operations) = op;
}

typedef void add_part(struct catalog *catalog, struct program *program,
                      const struct json_value *object);

static void add_parts(struct catalog *catalog, struct program *program,
                      const struct json_value *object, struct text key, add_part *add)
{
    struct json_value item;
    struct json_reader in;
    if (!find_list(object, key, &in))
        return;
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']'))
        if (json_read_value(&in, &item))
            add(catalog, program, &item);
}

void own_add_program(struct catalog *catalog, uint32_t file, const struct json_value *object)
{
    struct json_value id;
    struct json_number number;
    struct program program = {.host = file,
                              .name = member_string(catalog, object, TEXT("name")),
                              .label = member_string(catalog, object, TEXT("label"))};
    if (value_member(object, TEXT("program_id"), &id) && value_number(&id, &number) &&
        number.is_whole && !number.is_rounded)
        program.id = number.is_negative ? 0 - number.digits : number.digits;
    add_parts(catalog, &program, object, TEXT("stack_frames"), add_frame);
    add_parts(catalog, &program, object, TEXT("operations"), add_operation);
    for (size_t i = 0; i < program.frames.count; i++)
        if (program.frames.items[i].parent > program.frames.count)
            program.frames.items[i].parent = 0;
    for (size_t i = 0; i < program.operands.count; i++)
        if (program.operands.items[i] >= program.operations.count)
            program.operands.items[i] = 0;
    hlo_index(catalog, &program);
    *array_push(&catalog->programs) = program;
}

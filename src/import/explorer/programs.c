/*
 * Imports compiled programs, with their operations and stack frames, from profiles that Kymo
 * exported.
 */
#include "import/explorer/passes.h"
#include "import/hlo.h"

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

static void add_operation(struct catalog *catalog, struct program *program,
                          const struct json_value *object)
{
    *array_push(&program->operations) =
        (struct operation){.name = member_string(catalog, object, TEXT("name")),
                           .opcode = member_string(catalog, object, TEXT("opcode")),
                           .computation = member_string(catalog, object, TEXT("computation")),
                           .op_name = member_string(catalog, object, TEXT("op_name")),
                           .file = member_string(catalog, object, TEXT("source_file")),
                           .line = small_number(object, TEXT("source_line")),
                           .frame = index_after(object, TEXT("stack_frame")),
                           OPERATION_COSTS_UNKNOWN};
}

typedef void add_part(struct catalog *catalog, struct program *program,
                      const struct json_value *object);

static void add_parts(struct catalog *catalog, struct program *program,
                      const struct json_value *object, struct text key, add_part *add)
{
    struct json_value list, item;
    if (!value_member(object, key, &list) || list.kind != JSON_LIST)
        return;
    struct json_reader in = json_read(list.text);
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
    hlo_index(catalog, &program);
    *array_push(&catalog->programs) = program;
}

/*
 * Tables of compiled programs: modules, operations, and their stack frames.
 */
#include "store/fill.h"

bool make_modules(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_MODULES, err);
    for (size_t i = 0; i < filler.catalog->programs.count && fill_continue(&filler); i++) {
        const struct program *program = &filler.catalog->programs.items[i];
        rows_int(&filler.rows, MODULE_ID, (int64_t)i);
        rows_name(&filler.rows, MODULE_NAME, program->name);
        rows_name(&filler.rows, MODULE_LABEL, program->label);
        rows_int(&filler.rows, MODULE_PROGRAM, (int64_t)program->id);
        rows_name(&filler.rows, MODULE_INSTANCE, filler.catalog->hosts.items[program->host].name);
        rows_int(&filler.rows, MODULE_OPERATIONS, (int64_t)program->operations.count);
    }
    return fill_end(&filler);
}

/* Frames are numbered from 1 across all programs. */
bool make_operations(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_OPERATIONS, err);
    struct rows *rows = &filler.rows;
    uint64_t first_frame = 0;
    for (size_t i = 0; i < filler.catalog->programs.count; i++) {
        const struct program *program = &filler.catalog->programs.items[i];
        for (size_t k = 0; k < program->operations.count && fill_continue(&filler); k++) {
            const struct operation *op = &program->operations.items[k];
            rows_int(rows, OPERATION_ID, (int64_t)(maker->first_operation[i] + k));
            rows_int(rows, OPERATION_MODULE, (int64_t)i);
            rows_name(rows, OPERATION_NAME, op->name);
            rows_name(rows, OPERATION_OPCODE, op->opcode);
            rows_name(rows, OPERATION_COMPUTATION, op->computation);
            fill_string(&filler, OPERATION_FRAMEWORK_OP, op->op_name);
            fill_string(&filler, OPERATION_FILE, op->file);
            fill_index(&filler, OPERATION_LINE, op->line != 0, op->line);
            if (op->frame >= 1 && op->frame <= program->frames.count)
                fill_number_text(&filler, OPERATION_FRAME, first_frame + op->frame);
            else
                rows_nulls(rows, OPERATION_FRAME, 1);
        }
        first_frame += program->frames.count;
    }
    return fill_end(&filler);
}

/* Numbers distinct files, functions or locations, from 1. */
struct numbering {
    struct idmap numbers;
    ARRAY(uint64_t) keys;
};

static uint32_t number_of(struct numbering *numbering, uint64_t key)
{
    uint32_t number = idmap_get(&numbering->numbers, key);
    if (number != IDMAP_NONE)
        return number;
    *array_push(&numbering->keys) = key;
    number = (uint32_t)numbering->keys.count;
    idmap_put(&numbering->numbers, key, number);
    return number;
}

static void numbering_free(struct numbering *numbering)
{
    idmap_free(&numbering->numbers);
    array_free(&numbering->keys);
}

struct frame_numbers {
    struct numbering files, functions;   /* by string */
    ARRAY(struct stack_frame) locations; /* file and function as numbers */
    struct idmap by_location;
};

static uint32_t location_number(struct frame_numbers *numbers, const struct stack_frame *frame)
{
    struct stack_frame location = {.line = frame->line <= INT32_MAX ? frame->line : 0};
    if (frame->file)
        location.file = number_of(&numbers->files, frame->file);
    if (frame->function)
        location.function = number_of(&numbers->functions, frame->function);
    uint64_t identity[2] = {(uint64_t)location.file << 32 | location.function, location.line};
    uint64_t hash = hash_bytes(identity, sizeof identity);
    uint32_t number = idmap_get(&numbers->by_location, hash);
    if (number != IDMAP_NONE) {
        const struct stack_frame *known = &numbers->locations.items[number - 1];
        if (known->file == location.file && known->function == location.function &&
            known->line == location.line)
            return number;
    }
    *array_push(&numbers->locations) = location;
    number = (uint32_t)numbers->locations.count;
    idmap_put(&numbers->by_location, hash, number);
    return number;
}

static bool make_frame_list(struct profile_maker *maker, struct frame_numbers *numbers,
                            struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_FRAMES, err);
    uint64_t first = 0;
    const struct program *program;
    array_each (program, &filler.catalog->programs) {
        for (size_t i = 0; i < program->frames.count && fill_continue(&filler); i++) {
            const struct stack_frame *frame = &program->frames.items[i];
            fill_number_text(&filler, FRAME_ID, first + i + 1);
            rows_int(&filler.rows, FRAME_LOCATION, location_number(numbers, frame));
            fill_number_text(&filler, FRAME_PARENT, frame->parent ? first + frame->parent : 0);
        }
        first += program->frames.count;
    }
    return fill_end(&filler);
}

static bool make_locations(struct profile_maker *maker, const struct frame_numbers *numbers,
                           struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_FRAME_LOCATIONS, err);
    for (size_t i = 0; i < numbers->locations.count && fill_continue(&filler); i++) {
        const struct stack_frame *location = &numbers->locations.items[i];
        fill_number_text(&filler, LOCATION_ID, i + 1);
        rows_int(&filler.rows, LOCATION_FILE, location->file);
        rows_int(&filler.rows, LOCATION_FUNCTION, location->function);
        rows_int(&filler.rows, LOCATION_LINE, location->line);
    }
    return fill_end(&filler);
}

static bool make_named(struct profile_maker *maker, enum table_number table,
                       const struct numbering *numbering, struct error *err)
{
    struct filler filler = fill_begin(maker, table, err);
    for (size_t i = 0; i < numbering->keys.count && fill_continue(&filler); i++) {
        fill_number_text(&filler, NAMED_ID, i + 1);
        rows_name(&filler.rows, NAMED_NAME, (uint32_t)numbering->keys.items[i]);
    }
    return fill_end(&filler);
}

bool make_frames(struct profile_maker *maker, struct error *err)
{
    struct frame_numbers numbers = {0};
    bool ok = make_frame_list(maker, &numbers, err) && make_locations(maker, &numbers, err) &&
              make_named(maker, TABLE_FRAME_FILES, &numbers.files, err) &&
              make_named(maker, TABLE_FRAME_FUNCTIONS, &numbers.functions, err);
    numbering_free(&numbers.files);
    numbering_free(&numbers.functions);
    array_free(&numbers.locations);
    idmap_free(&numbers.by_location);
    return ok;
}

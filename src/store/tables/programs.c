/*
 * Tables of compiled programs: modules, operations, and their stack frames.
 */
#include "store/tables/fill.h"
#include "store/tables/workspace.h"

#include <zstd.h>

/* Modules as they were captured, for what looks at a whole one. */
struct module_file {
    struct output out;
    uint64_t offset;
    ZSTD_CCtx *zstd;
    struct output packed;
    bool is_open;
};

static bool module_file_open(struct module_file *file, const struct profile_maker *maker,
                             struct error *err)
{
    if (file->is_open)
        return true;
    char *path = path_format("%s/" MODULES_FILE, maker->directory);
    file->is_open = output_open(&file->out, path, err);
    mem_free(path);
    file->zstd = ZSTD_createCCtx();
    if (!file->zstd)
        mem_exhausted();
    ZSTD_CCtx_setParameter(file->zstd, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(file->zstd, ZSTD_c_checksumFlag, 1);
    output_memory(&file->packed);
    return file->is_open;
}

static bool module_file_add(struct module_file *file, struct text proto, size_t *size,
                            struct error *err)
{
    file->packed.size = 0;
    output_reserve(&file->packed, ZSTD_compressBound(proto.size));
    *size = ZSTD_compress2(file->zstd, file->packed.data, file->packed.capacity, proto.data,
                           proto.size);
    if (ZSTD_isError(*size))
        return error_set(err, "cannot compress an HLO module: %s", ZSTD_getErrorName(*size));
    output_write(&file->out, file->packed.data, *size);
    file->offset += *size;
    return true;
}

static bool module_file_end(struct module_file *file, bool ok, struct error *err)
{
    if (file->zstd) {
        ZSTD_freeCCtx(file->zstd);
        output_discard(&file->packed);
    }
    if (!file->is_open)
        return ok;
    if (ok)
        return output_commit(&file->out, err);
    output_discard(&file->out);
    return false;
}

/* Where the module is in the file, in three columns. */
static bool put_module_file(struct filler *filler, struct module_file *file, struct text proto,
                            struct error *err)
{
    uint64_t offset = file->offset;
    size_t size = 0;
    bool ok = proto.size == 0 || (module_file_open(file, filler->maker, err) &&
                                  module_file_add(file, proto, &size, err));
    if (ok && proto.size > 0)
        fill_word(filler, MODULE_FILE, TEXT(MODULES_FILE));
    else
        rows_nulls(&filler->rows, MODULE_FILE, 1);
    fill_index(filler, MODULE_FILE_OFFSET, size > 0, offset);
    fill_index(filler, MODULE_FILE_SIZE, size > 0, size);
    return ok;
}

bool make_modules(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_MODULES, err);
    struct module_file file = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < filler.catalog->programs.count && fill_continue(&filler); i++) {
        const struct program *program = &filler.catalog->programs.items[i];
        rows_int(&filler.rows, MODULE_ID, (int64_t)i);
        rows_name(&filler.rows, MODULE_NAME, program->name);
        rows_name(&filler.rows, MODULE_LABEL, program->label);
        rows_int(&filler.rows, MODULE_PROGRAM, (int64_t)program->id);
        rows_name(&filler.rows, MODULE_INSTANCE, filler.catalog->hosts.items[program->host].name);
        rows_int(&filler.rows, MODULE_OPERATIONS, (int64_t)program->operations.count);
        ok = put_module_file(&filler, &file, program->proto, err);
    }
    ok = module_file_end(&file, ok, err);
    filler.failed |= !ok;
    return fill_end(&filler);
}

static void put_bytes(struct filler *filler, size_t column, int64_t bytes)
{
    fill_index(filler, column, bytes >= 0, (uint64_t)bytes);
}

static void put_costs(struct filler *filler, const struct operation *op)
{
    fill_double(filler, OPERATION_FLOPS, op->flops);
    fill_double(filler, OPERATION_MATRIX_FLOPS, op->matrix_flops);
    fill_string(filler, OPERATION_COMPUTE_TYPE, op->compute_type);
    fill_double(filler, OPERATION_XPROF_FLOPS, op->xprof_flops);
    put_bytes(filler, OPERATION_BYTES_ACCESSED, op->bytes_accessed);
    put_bytes(filler, OPERATION_BYTES_READ, op->bytes_read);
    put_bytes(filler, OPERATION_BYTES_WRITTEN, op->bytes_written);
}

static void put_relations(struct filler *filler, const struct program *program,
                          uint64_t first_operation, const struct operation *op)
{
    struct rows *rows = &filler->rows;
    for (uint32_t i = 0; i < op->operand_count; i++)
        rows_number_item(
            rows, OPERATION_OPERANDS,
            (int64_t)(first_operation + program->operands.items[op->first_operand + i]));
    rows_end_lists(rows, OPERATION_OPERANDS, &op->operand_count, 1);
    for (uint32_t i = 0; i < op->callee_count; i++)
        rows_item(rows, OPERATION_CALLED,
                  catalog_text(filler->catalog, program->callees.items[op->first_callee + i]));
    rows_end_lists(rows, OPERATION_CALLED, &op->callee_count, 1);
}

static void put_text(struct filler *filler, size_t column, uint32_t string)
{
    if (string == STRING_NONE)
        rows_nulls(&filler->rows, column, 1);
    else
        rows_text(&filler->rows, column, catalog_text(filler->catalog, string));
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
            fill_string(&filler, OPERATION_CATEGORY, op->category);
            put_text(&filler, OPERATION_EXPRESSION, op->expression);
            fill_string(&filler, OPERATION_SHAPE, op->shape);
            put_costs(&filler, op);
            put_relations(&filler, program, maker->first_operation[i], op);
            rows_int(rows, OPERATION_IS_FUSED, op->is_fused);
            rows_int(rows, OPERATION_SCHEDULE_INDEX, op->schedule_index);
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

/*
 * Reads gpu_trace.pb. Pieces that a killed program left are whole messages; undefined ids count as
 * none.
 */
#include "import/recording/gpu_file.h"

/* For each table: the number of columns, and a bit for each that holds differences. */
static const struct {
    uint32_t columns, differences;
} layouts[GPU_TABLES] = {
#define X(table, field, columns, differences) [GPU_##table] = {columns, differences},
#include "capture/cuda/gpu_trace.def"
#undef X
};

enum { LONGEST_CHAIN = 16, MOST_FIELDS = 16 };

/* ---- Activities ---------------------------------------------------------------------------- */

static bool enter_columns(const struct pb_field *message, uint32_t count,
                          struct pb_reader columns[static GPU_COLUMNS], struct pb_reader *failed)
{
    struct pb_reader in = pb_enter(message);
    struct pb_field field;
    for (uint32_t c = 0; c < GPU_COLUMNS; c++)
        columns[c] = pb_read(in.at, 0);
    while (pb_next(&in, &field)) {
        uint32_t number = field.tag >> 3;
        if ((field.tag & 7) == PB_BYTES && number >= 1 && number <= count)
            columns[number - 1] = pb_enter(&field);
    }
    *failed = in;
    return !in.problem;
}

/* The first column decides how many rows there are; another column is either missing, from an older
 * recorder, or as long. Differences wrap as unsigned numbers. */
static bool walk_rows(enum gpu_table table, const struct pb_field *message, gpu_visit *visit,
                      void *context, struct pb_reader *failed)
{
    struct pb_reader columns[GPU_COLUMNS];
    uint64_t values[GPU_COLUMNS] = {0};
    bool is_there[GPU_COLUMNS]; /* columns that later versions have added may be missing */
    uint32_t count = layouts[table].columns;
    if (!enter_columns(message, count, columns, failed))
        return false;
    for (uint32_t c = 0; c < count; c++)
        is_there[c] = columns[c].at < columns[c].end;
    while (columns[0].at < columns[0].end) {
        for (uint32_t c = 0; c < count; c++) {
            uint64_t value = 0;
            if (is_there[c] && !pb_varint(&columns[c], &value)) {
                *failed = columns[c];
                return pb_fail(failed, "columns of activities differ in length");
            }
            values[c] = layouts[table].differences >> c & 1
                            ? values[c] + ((value >> 1) ^ -(value & 1))
                            : value;
        }
        if (!visit(context, table, values))
            return false;
    }
    return true;
}

static bool is_table(const struct pb_field *field)
{
    uint32_t number = field->tag >> 3;
    return (field->tag & 7) == PB_BYTES && number < GPU_TABLES && layouts[number].columns > 0;
}

bool gpu_file_walk(const struct gpu_file *file, gpu_visit *visit, void *context)
{
    struct pb_reader in = pb_read(file->data, file->size), failed;
    struct pb_field field;
    while (pb_next(&in, &field))
        if (is_table(&field) && !walk_rows(field.tag >> 3, &field, visit, context, &failed))
            return false;
    return true;
}

/* ---- Definitions --------------------------------------------------------------------------- */

/* The numbers of a message, by field from 1. */
static bool read_numbers(const struct pb_field *message, uint64_t numbers[static MOST_FIELDS],
                         struct pb_reader *failed)
{
    struct pb_reader in = pb_enter(message);
    struct pb_field field;
    memset(numbers, 0, MOST_FIELDS * sizeof *numbers);
    while (pb_next(&in, &field)) {
        uint32_t number = field.tag >> 3;
        if ((field.tag & 7) == PB_VARINT && number >= 1 && number <= MOST_FIELDS)
            numbers[number - 1] = field.value;
    }
    *failed = in;
    return !in.problem;
}

static struct gpu_device device_of(const uint64_t *n)
{
    return (struct gpu_device){.id = (uint32_t)n[0],
                               .name = (uint32_t)n[1],
                               .compute_major = (uint32_t)n[2],
                               .compute_minor = (uint32_t)n[3],
                               .memory_bytes = n[4],
                               .memory_bytes_per_s = n[5],
                               .multiprocessors = (uint32_t)n[6],
                               .clock_khz = (uint32_t)n[7],
                               .warps = (uint32_t)n[8],
                               .warp_threads = (uint32_t)n[9],
                               .blocks = (uint32_t)n[10],
                               .registers = (uint32_t)n[11],
                               .shared = (uint32_t)n[12],
                               .block_registers = (uint32_t)n[13],
                               .block_shared = (uint32_t)n[14]};
}

static struct gpu_shape shape_of(const uint64_t *n)
{
    return (struct gpu_shape){
        .name = (uint32_t)n[0],
        .grid = {(uint32_t)n[1], (uint32_t)n[2], (uint32_t)n[3]},
        .block = {(uint32_t)n[4], (uint32_t)n[5], (uint32_t)n[6]},
        .cluster = {(uint32_t)n[7], (uint32_t)n[8], (uint32_t)n[9]},
        .registers = (uint32_t)n[10],
        .static_shared = (uint32_t)n[11],
        .dynamic_shared = (uint32_t)n[12],
        .executed_shared = (uint32_t)n[13],
        .local = (uint32_t)n[14],
        .launch_type = (uint32_t)n[15],
    };
}

static bool add_lost(uint64_t *total, struct pb_reader packed, struct pb_reader *failed)
{
    uint64_t lost;
    while (packed.at < packed.end && pb_varint(&packed, &lost))
        *total += lost;
    *failed = packed;
    return !packed.problem;
}

/* Fields are those of schema/gpu_trace.proto. Counts of losses may be packed or not. */
static bool read_definition(struct gpu_file *file, const struct pb_field *field,
                            struct pb_reader *failed)
{
    uint64_t numbers[MOST_FIELDS];
    switch (field->tag) {
    case PB_TAG(3, PB_BYTES):
        *array_push(&file->texts) = pb_text(field);
        return true;
    case PB_TAG(4, PB_BYTES):
        if (!read_numbers(field, numbers, failed))
            return false;
        *array_push(&file->devices) = device_of(numbers);
        return true;
    case PB_TAG(5, PB_BYTES):
        if (!read_numbers(field, numbers, failed))
            return false;
        *array_push(&file->streams) =
            (struct gpu_stream){(uint32_t)numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2]};
        return true;
    case PB_TAG(6, PB_BYTES):
        if (!read_numbers(field, numbers, failed))
            return false;
        *array_push(&file->shapes) = shape_of(numbers);
        return true;
    case PB_TAG(20, PB_BYTES):
        if (!read_numbers(field, numbers, failed))
            return false;
        if (numbers[1] < file->texts.count)
            idmap_put(&file->thread_names, numbers[0], (uint32_t)numbers[1]);
        return true;
    case PB_TAG(15, PB_VARINT):
        file->lost += field->value;
        return true;
    case PB_TAG(15, PB_BYTES):
        return add_lost(&file->lost, pb_enter(field), failed);
    case PB_TAG(22, PB_VARINT):
        file->lost_samples += field->value;
        return true;
    case PB_TAG(22, PB_BYTES):
        return add_lost(&file->lost_samples, pb_enter(field), failed);
    default:
        return true;
    }
}

static bool add_node(void *context, enum gpu_table table, const uint64_t *values)
{
    struct gpu_file *file = context;
    if (table == GPU_NODES) {
        idmap_put(&file->node_by_id, values[0], (uint32_t)file->nodes.count);
        *array_push(&file->nodes) = (struct gpu_node){values[1], (uint32_t)values[2]};
    }
    return true;
}

void gpu_file_read(struct gpu_file *file)
{
    struct pb_reader in = pb_read(file->data, file->size), failed = in;
    struct pb_field field;
    const uint8_t *start = in.at;
    bool ok = true;
    *array_push(&file->texts) = TEXT("");
    *array_push(&file->streams) = (struct gpu_stream){0};
    *array_push(&file->shapes) = (struct gpu_shape){0};
    while (ok && pb_next(&in, &field)) {
        ok = is_table(&field) ? walk_rows(field.tag >> 3, &field, add_node, file, &failed)
                              : read_definition(file, &field, &failed);
        if (ok)
            start = in.at;
    }
    if (ok && !in.problem)
        return;
    file->damage = ok ? in.problem : failed.problem;
    file->left_out = (size_t)(file->data + file->size - start);
    file->size = (size_t)(start - file->data);
}

void gpu_file_free(struct gpu_file *file)
{
    array_free(&file->texts);
    array_free(&file->devices);
    array_free(&file->streams);
    array_free(&file->shapes);
    array_free(&file->nodes);
    idmap_free(&file->node_by_id);
    idmap_free(&file->thread_names);
}

void gpu_node_ranges(const struct gpu_file *file, uint32_t index, struct text *first,
                     struct text *last)
{
    *last = gpu_text(file, file->nodes.items[index].range);
    for (int i = 0; index != IDMAP_NONE && i < LONGEST_CHAIN; i++) {
        const struct gpu_node *node = &file->nodes.items[index];
        *first = gpu_text(file, node->range);
        index = node->original ? idmap_get(&file->node_by_id, node->original) : IDMAP_NONE;
    }
}

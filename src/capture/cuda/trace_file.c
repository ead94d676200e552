/*
 * Pieces of gpu_trace.pb: definitions as they come, and tables whose columns grow in buffers of
 * their own, until one is full or the piece is asked for.
 */
#include "capture/cuda/trace_file.h"

#include "capture/recorder/encode.h"
#include "capture/recorder/lock.h"

#include <fcntl.h>
#include <kymo/kymo.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MOST_ROWS = 2048,
    COLUMN_SIZE = MOST_ROWS * ENCODE_LONGEST,
    MOST_COLUMNS = 13,
    DEFINITIONS_SIZE = 1 << 20,
    LONGEST_TEXT = 8192,
    SLOTS = 1 << 16, /* of a table of ids; definitions that find none are written again */
};

#define FILE_NAME "gpu_trace.pb"

/* The columns of each table that hold differences, as bits from the first. */
static const struct {
    uint32_t columns, differences;
} layouts[TRACE_TABLES] = {
#define X(table, field, columns, differences) [TRACE_##table] = {columns, differences},
#include "capture/cuda/gpu_trace.def"
#undef X
};

struct table {
    uint32_t rows;
    uint64_t last[MOST_COLUMNS];
    uint8_t *end[MOST_COLUMNS];
    uint8_t data[MOST_COLUMNS][COLUMN_SIZE];
};

/* Ids by hash: 64 bits tell definitions apart. */
struct ids {
    uint32_t last, used;
    struct {
        uint64_t hash;
        uint32_t id;
    } slots[SLOTS];
};

struct trace_file {
    struct ids texts, streams, shapes, threads;
    struct table tables[TRACE_TABLES];
    uint8_t *definitions_end;
    uint64_t calls, activities, annotations;                /* so far */
    uint64_t most_calls, most_activities, most_annotations; /* UINT64_MAX: any number */
    uint64_t lost, lost_samples;
    bool has_failed; /* what follows a piece that was cut off could not be read */
    uint8_t definitions[DEFINITIONS_SIZE];
    uint8_t piece[DEFINITIONS_SIZE + TRACE_TABLES * (MOST_COLUMNS * COLUMN_SIZE + 128)];
};

static struct trace_file *file;
static struct lock lock = LOCK_INITIALIZER;

void trace_file_lock(void)
{
    lock_take(&lock);
}

void trace_file_unlock(void)
{
    lock_release(&lock);
}

static void table_clear(struct table *table)
{
    table->rows = 0;
    for (size_t c = 0; c < MOST_COLUMNS; c++) {
        table->last[c] = 0;
        table->end[c] = table->data[c];
    }
}

static uint64_t limit(uint64_t most)
{
    return most ? most : UINT64_MAX;
}

bool trace_file_begin(const struct gpu_options *options)
{
    file = calloc(1, sizeof *file);
    if (!file)
        return false;
    file->most_calls = limit(options->most_calls);
    file->most_activities = limit(options->most_activities);
    file->most_annotations = limit(options->most_annotations);
    for (size_t t = 0; t < TRACE_TABLES; t++)
        table_clear(&file->tables[t]);
    uint8_t *to = encode_text(file->definitions, ENCODE_FORMAT, "kymo.gpu_trace");
    file->definitions_end = encode_number(to, 1, 1);
    return true;
}

static uint8_t *put_table(uint8_t *to, uint32_t number, struct table *table)
{
    if (table->rows == 0)
        return to;
    uint8_t *message = to = encode_begin(to, number);
    for (uint32_t c = 0; c < layouts[number].columns; c++) {
        size_t size = (size_t)(table->end[c] - table->data[c]);
        to = encode_varint(encode_tag(to, c + 1, ENCODE_BYTES), size);
        memcpy(to, table->data[c], size);
        to += size;
    }
    table_clear(table);
    return encode_end(message, to);
}

void trace_file_flush(void)
{
    if (!file)
        return;
    size_t size = (size_t)(file->definitions_end - file->definitions);
    memcpy(file->piece, file->definitions, size);
    uint8_t *to = encode_number(file->piece + size, 15, file->lost);
    to = encode_number(to, 22, file->lost_samples);
    for (uint32_t t = 0; t < TRACE_TABLES; t++)
        to = put_table(to, t, &file->tables[t]);
    file->definitions_end = file->definitions;
    file->lost = file->lost_samples = 0;
    if (to > file->piece && !file->has_failed)
        file->has_failed =
            kymo_session_append(FILE_NAME, file->piece, (size_t)(to - file->piece)) != 0;
}

void trace_file_end(void)
{
    trace_file_flush();
    trace_file_forked();
}

void trace_file_forked(void)
{
    free(file);
    file = NULL;
}

/* ---- Definitions --------------------------------------------------------------------------- */

/* Where the id for this hash is, or will be. */
static size_t find_slot(const struct ids *ids, uint64_t hash)
{
    size_t slot = hash % SLOTS;
    while (ids->slots[slot].hash && ids->slots[slot].hash != hash)
        slot = (slot + 1) % SLOTS;
    return slot;
}

/* The id for this hash; a new one if *is_new. */
static uint32_t find_id(struct ids *ids, uint64_t hash, bool *is_new)
{
    hash = hash ? hash : 1;
    size_t slot = find_slot(ids, hash);
    *is_new = !ids->slots[slot].hash;
    if (!*is_new)
        return ids->slots[slot].id;
    if (ids->used < SLOTS / 4 * 3) {
        ids->slots[slot].hash = hash;
        ids->slots[slot].id = ids->last + 1;
        ids->used++;
    }
    return ++ids->last;
}

/* Room for a definition of at most this many bytes. */
static uint8_t *room(size_t size)
{
    if ((size_t)(file->definitions + DEFINITIONS_SIZE - file->definitions_end) < size)
        trace_file_flush();
    return file->definitions_end;
}

static uint32_t put_text(const char *text, size_t size, bool *is_new)
{
    uint32_t id = find_id(&file->texts, hash_bytes(text, size), is_new);
    if (*is_new)
        file->definitions_end = encode_chars(room(LONGEST_TEXT + 16), 3, text, size);
    return id;
}

uint32_t trace_text(const char *text)
{
    bool is_new;
    return file && text ? put_text(text, strnlen(text, LONGEST_TEXT), &is_new) : 0;
}

uint32_t trace_annotation(const char *text)
{
    bool is_new;
    if (!file)
        return 0;
    size_t size = strnlen(text, LONGEST_TEXT);
    uint64_t hash = hash_bytes(text, size);
    bool is_known = file->texts.slots[find_slot(&file->texts, hash ? hash : 1)].hash != 0;
    if (!is_known && file->annotations >= file->most_annotations)
        return 0;
    uint32_t id = put_text(text, size, &is_new);
    file->annotations += is_new;
    return id;
}

static uint8_t *put_numbers(uint8_t *to, const uint64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to = encode_number(to, i + 1, values[i]);
    return to;
}

static void put_definition(uint32_t number, const uint64_t *values, uint32_t count)
{
    uint8_t *to = room(512);
    uint8_t *message = to = encode_begin(to, number);
    file->definitions_end = encode_end(message, put_numbers(to, values, count));
}

uint32_t trace_stream(uint32_t device, uint32_t context, uint32_t stream)
{
    bool is_new;
    if (!file)
        return 0;
    const uint64_t values[] = {device, context, stream};
    uint32_t id = find_id(&file->streams, hash_bytes(values, sizeof values), &is_new);
    if (is_new)
        put_definition(5, values, 3);
    return id;
}

/* The name of a thread as the kernel has it; false when it has ended. */
static bool read_name(uint32_t thread, char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, name, size - 1);
    close(fd);
    name[length > 0 ? length - 1 : 0] = '\0'; /* without the end of the line */
    return length > 1;
}

void trace_thread(uint32_t thread)
{
    bool is_new;
    char name[64];
    if (!file)
        return;
    find_id(&file->threads, hash_bytes(&thread, sizeof thread), &is_new);
    if (is_new && read_name(thread, name, sizeof name)) {
        const uint64_t values[] = {thread, trace_text(name)};
        put_definition(20, values, 2);
    }
}

/* Programs launch the same kernels again and again: a shape is written once, and kernels refer to
 * it by its id. */
uint32_t trace_shape(const struct cupti_kernel *kernel)
{
    bool is_new;
    if (!file)
        return 0;
    const uint64_t values[] = {trace_text(kernel->name),
                               (uint32_t)kernel->grid[0],
                               (uint32_t)kernel->grid[1],
                               (uint32_t)kernel->grid[2],
                               (uint32_t)kernel->block[0],
                               (uint32_t)kernel->block[1],
                               (uint32_t)kernel->block[2],
                               kernel->cluster[0],
                               kernel->cluster[1],
                               kernel->cluster[2],
                               kernel->registers,
                               (uint32_t)kernel->static_shared,
                               (uint32_t)kernel->dynamic_shared,
                               kernel->shared_executed,
                               kernel->local,
                               kernel->launch_type};
    uint32_t id = find_id(&file->shapes, hash_bytes(values, sizeof values), &is_new);
    if (is_new)
        put_definition(6, values, sizeof values / sizeof *values);
    return id;
}

void trace_device(const struct cupti_device *device)
{
    if (!file)
        return;
    const uint64_t values[] = {device->id,
                               trace_text(device->name),
                               device->compute_major,
                               device->compute_minor,
                               device->memory_size,
                               device->memory_bandwidth * 1000,
                               device->multiprocessors,
                               device->core_clock,
                               device->most_warps,
                               device->threads_per_warp,
                               device->most_blocks,
                               device->most_registers,
                               device->most_shared,
                               device->block_registers,
                               device->block_shared};
    put_definition(4, values, sizeof values / sizeof *values);
}

/* ---- Tables -------------------------------------------------------------------------------- */

/* Counts a row; false when its kind has reached its limit. */
static bool is_within_limits(enum trace_table table)
{
    bool is_call = table == TRACE_CALLS;
    if (table == TRACE_NODES || table == TRACE_WINDOWS || table >= TRACE_COUNTERS)
        return true;
    return is_call ? file->calls++ < file->most_calls : file->activities++ < file->most_activities;
}

void trace_row(enum trace_table number, const uint64_t *values)
{
    if (!file)
        return;
    if (file->has_failed || !is_within_limits(number)) {
        file->lost++;
        return;
    }
    struct table *table = &file->tables[number];
    if (table->rows == MOST_ROWS)
        trace_file_flush();
    for (uint32_t c = 0; c < layouts[number].columns; c++) {
        uint64_t value = values[c];
        if (layouts[number].differences >> c & 1)
            value = encode_zigzag((int64_t)(value - table->last[c]));
        table->last[c] = values[c];
        table->end[c] = encode_varint(table->end[c], value);
    }
    table->rows++;
}

void trace_lost(uint64_t records)
{
    if (file)
        file->lost += records;
}

void trace_lost_samples(uint64_t samples)
{
    if (file)
        file->lost_samples += samples;
}

/*
 * Columns: events are collected until a block is full, then each column is encoded in one loop.
 */
#include "capture/recorder/columns.h"

#include <stdlib.h>

enum {
    BLOCK_EVENTS = 8192,
    BLOCK_ARGS = 16384, /* that, or one more event's */
    MOST_ARGS = BLOCK_ARGS + RING_MOST_ARGS + 2,
    /* The maximum size of a block: varints of the widths its columns have. */
    EVENT_BYTES = 10 + 5 + 1 + 3 + 10 + 1 + 10,
    ARG_BYTES = 5 + 1 + 10,
    BLOCK_BYTES = BLOCK_EVENTS * EVENT_BYTES + MOST_ARGS * ARG_BYTES + 512,
};

struct columns {
    struct encode_file *file;
    struct clock_map *clock;
    struct columns_names *names;
    int64_t last_ns;
    /* Texts of the last event that follow in later records, and the part of the first of them read
     * so far. */
    struct {
        uint32_t *name;  /* where its number goes: either */
        uint64_t *value; /* or */
    } awaited[1 + RING_MOST_ARGS];
    size_t awaited_first, awaited_count, chars_count;
    char chars[RING_MOST_CHARS * RING_CHARS_SIZE];

    uint32_t lane;
    size_t count, args, ranges;
    bool any_core, any_id, has_event; /* has_event: for args to belong to */
    uint64_t events;
    int64_t time_ns[BLOCK_EVENTS];
    uint64_t id[BLOCK_EVENTS];
    uint64_t duration_ns[BLOCK_EVENTS]; /* of ranges */
    uint32_t name[BLOCK_EVENTS];
    uint32_t core[BLOCK_EVENTS];
    uint8_t phase[BLOCK_EVENTS], arg_count[BLOCK_EVENTS];
    uint64_t arg_value[MOST_ARGS];
    uint32_t arg_key[MOST_ARGS];
    uint8_t arg_type[MOST_ARGS];
    uint8_t encoded[BLOCK_BYTES];
};

struct columns *columns_new(struct encode_file *file, struct clock_map *clock,
                            struct columns_names *names)
{
    struct columns *columns = malloc(sizeof *columns);
    if (!columns)
        return NULL;
    columns->file = file;
    columns->clock = clock;
    columns->names = names;
    columns->last_ns = 0;
    columns->count = columns->args = columns->ranges = 0;
    columns->awaited_first = columns->awaited_count = columns->chars_count = 0;
    return columns;
}

void columns_free(struct columns *columns)
{
    free(columns);
}

int64_t columns_last_ns(const struct columns *columns)
{
    return columns->last_ns;
}

uint32_t columns_add_name(struct encode_file *file, struct columns_names *names,
                          const struct ring_name *name, const char *text)
{
    uint8_t rest[64], *end = rest;
    end = encode_number(end, 2, name->group);
    end = encode_number(end, 3, name->level);
    end = encode_number(end, 4, names->number[name->file < names->count ? name->file : 0]);
    end = encode_number(end, 5, name->line);
    uint8_t size[16], *size_end = encode_tag(size, 1, ENCODE_BYTES);
    size_end = encode_varint(size_end, name->size);
    uint8_t tag[16], *tag_end = encode_tag(tag, 2, ENCODE_BYTES);
    tag_end =
        encode_varint(tag_end, (uint64_t)(size_end - size) + name->size + (uint64_t)(end - rest));
    encode_write(file, tag, (size_t)(tag_end - tag));
    encode_write(file, size, (size_t)(size_end - size));
    encode_write(file, text, name->size);
    encode_write(file, rest, (size_t)(end - rest));
    return ++names->last;
}

static inline uint32_t name_number(const struct columns *columns, uint64_t id)
{
    return id < columns->names->count ? columns->names->number[id] : 0;
}

static uint8_t *encode_times(uint8_t *to, const struct columns *columns)
{
    int64_t before = columns->time_ns[0];
    to = encode_fixed64(to, 3, (uint64_t)before);
    uint8_t *begun = to = encode_begin(to, 4);
    for (size_t i = 0; i < columns->count; i++) {
        to = encode_varint(
            to, encode_zigzag((int64_t)((uint64_t)columns->time_ns[i] - (uint64_t)before)));
        before = columns->time_ns[i];
    }
    return encode_end(begun, to);
}

static uint8_t *encode_ids(uint8_t *to, const struct columns *columns)
{
    uint64_t before = 0;
    uint8_t *begun = to = encode_begin(to, 8);
    for (size_t i = 0; i < columns->count; i++) {
        to = encode_varint(to, encode_zigzag((int64_t)(columns->id[i] - before)));
        before = columns->id[i];
    }
    return encode_end(begun, to);
}

static uint8_t *encode_u32s(uint8_t *to, uint32_t number, const uint32_t *values, size_t count)
{
    uint8_t *begun = to = encode_begin(to, number);
    for (size_t i = 0; i < count; i++)
        to = encode_varint(to, values[i]);
    return encode_end(begun, to);
}

static uint8_t *encode_u64s(uint8_t *to, uint32_t number, const uint64_t *values, size_t count)
{
    uint8_t *begun = to = encode_begin(to, number);
    for (size_t i = 0; i < count; i++)
        to = encode_varint(to, values[i]);
    return encode_end(begun, to);
}

/* Values below 128 are their own encoding. */
static uint8_t *encode_bytes(uint8_t *to, uint32_t number, const uint8_t *values, size_t count)
{
    to = encode_begin(to, number);
    memcpy(to, values, count);
    return encode_end(to, to + count);
}

static uint8_t *encode_values(uint8_t *to, const struct columns *columns, uint32_t number,
                              enum ring_type type)
{
    uint8_t *start = to, *begun = to = encode_begin(to, number);
    for (size_t i = 0; i < columns->args; i++) {
        uint64_t value = columns->arg_value[i];
        if (columns->arg_type[i] != type)
            continue;
        if (type == RING_DOUBLE) {
            memcpy(to, &value, sizeof value);
            to += sizeof value;
        } else {
            to = encode_varint(to, type == RING_INT ? encode_zigzag((int64_t)value) : value);
        }
    }
    return to == begun ? start : encode_end(begun, to);
}

/* Fields of a block in schema/ntrace.proto; columns in which all values are the default are left
 * out. `encoded` has room for the largest block. */
static void write_block(struct columns *columns)
{
    if (columns->count == 0)
        return;
    uint8_t *to = columns->encoded, *begun = to = encode_begin(to, 4);
    to = encode_number(to, 1, columns->lane);
    to = encode_number(to, 2, columns->count);
    to = encode_times(to, columns);
    to = encode_u32s(to, 5, columns->name, columns->count);
    to = encode_bytes(to, 6, columns->phase, columns->count);
    if (columns->any_core)
        to = encode_u32s(to, 7, columns->core, columns->count);
    if (columns->any_id)
        to = encode_ids(to, columns);
    if (columns->args > 0) {
        to = encode_bytes(to, 9, columns->arg_count, columns->count);
        to = encode_u32s(to, 10, columns->arg_key, columns->args);
        to = encode_bytes(to, 11, columns->arg_type, columns->args);
        to = encode_values(to, columns, 12, RING_INT);
        to = encode_values(to, columns, 13, RING_UINT);
        to = encode_values(to, columns, 14, RING_DOUBLE);
        to = encode_values(to, columns, 15, RING_TEXT);
    }
    if (columns->ranges > 0)
        to = encode_u64s(to, 16, columns->duration_ns, columns->ranges);
    encode_write(columns->file, columns->encoded,
                 (size_t)(encode_end(begun, to) - columns->encoded));
    columns->count = columns->args = columns->ranges = 0;
    columns->any_core = columns->any_id = false;
}

static void await(struct columns *columns, uint32_t *name, uint64_t *value)
{
    columns->awaited[columns->awaited_count].name = name;
    columns->awaited[columns->awaited_count++].value = value;
}

static inline void add_arg(struct columns *columns, uint32_t key, uint8_t type, uint64_t value)
{
    uint8_t *count = &columns->arg_count[columns->count - 1];
    if (type < RING_INT || type > RING_TEXT_INSIDE || *count >= RING_MOST_ARGS)
        return;
    size_t i = columns->args++;
    columns->arg_key[i] = name_number(columns, key);
    columns->arg_type[i] = type < RING_TEXT_INSIDE ? type : RING_TEXT;
    columns->arg_value[i] = type == RING_TEXT ? name_number(columns, value) : value;
    if (type == RING_TEXT_INSIDE) {
        columns->arg_value[i] = 0;
        await(columns, NULL, &columns->arg_value[i]);
    }
    (*count)++;
}

/* A piece of the first awaited text; a complete text becomes a name. */
static void add_chars(struct columns *columns, const struct ring_record *record)
{
    struct ring_chars piece;
    memcpy(&piece, record, sizeof piece);
    size_t size = piece.size & (uint8_t)~RING_CHARS_MORE, first = sizeof piece.first;
    if (columns->awaited_first == columns->awaited_count || size > RING_CHARS_SIZE ||
        size > sizeof columns->chars - columns->chars_count)
        return;
    char *to = columns->chars + columns->chars_count;
    memcpy(to, piece.first, size < first ? size : first);
    if (size > first)
        memcpy(to + first, piece.rest, size - first);
    columns->chars_count += size;
    if (piece.size & RING_CHARS_MORE)
        return;
    uint32_t *name = columns->awaited[columns->awaited_first].name;
    uint64_t *value = columns->awaited[columns->awaited_first].value;
    uint32_t number = columns_add_name(
        columns->file, columns->names,
        &(struct ring_name){.size = (uint32_t)columns->chars_count, .level = name ? 1 : 0},
        columns->chars);
    if (name)
        *name = number;
    else
        *value = number;
    columns->awaited_first++;
    columns->chars_count = 0;
}

static void add_args(struct columns *columns, const struct ring_record *record)
{
    struct ring_args pair;
    memcpy(&pair, record, sizeof pair);
    add_arg(columns, pair.first_key, pair.first_type, pair.first_value);
    add_arg(columns, pair.second_key, pair.second_type, pair.second_value);
}

static inline void add_duration(struct columns *columns, int64_t start_ns, int64_t end_ns)
{
    columns->duration_ns[columns->ranges++] =
        end_ns > start_ns ? (uint64_t)end_ns - (uint64_t)start_ns : 0;
    columns->last_ns = end_ns > columns->last_ns ? end_ns : columns->last_ns;
}

static inline void add_event(struct columns *columns, const struct ring_record *record)
{
    if (columns->count == BLOCK_EVENTS || columns->args >= BLOCK_ARGS)
        write_block(columns);
    size_t i = columns->count++;
    bool inside = record->kind & RING_ARG_INSIDE;
    int64_t time_ns = clock_map_ns(columns->clock, record->ticks);
    columns->time_ns[i] = time_ns;
    columns->last_ns = time_ns > columns->last_ns ? time_ns : columns->last_ns;
    columns->name[i] = name_number(columns, record->name);
    columns->phase[i] = record->kind & (uint8_t)~RING_ARG_INSIDE;
    columns->core[i] = record->core == RING_NO_CORE ? 0 : record->core + 1u;
    columns->any_core |= columns->core[i] != 0;
    columns->id[i] = inside ? 0 : record->id;
    columns->any_id |= columns->id[i] != 0;
    columns->arg_count[i] = 0;
    if (record->kind == RING_RANGE)
        add_duration(columns, time_ns, clock_map_ns(columns->clock, record->value));
    columns->awaited_first = columns->awaited_count = columns->chars_count = 0;
    if (record->name == RING_NAME_INSIDE)
        await(columns, &columns->name[i], NULL);
    if (inside)
        add_arg(columns, (uint32_t)record->id, record->type, record->value);
}

static inline bool is_event(const struct ring_record *record)
{
    unsigned kind = record->kind & ~(unsigned)RING_ARG_INSIDE;
    return kind >= RING_BEGIN && kind <= RING_RANGE;
}

void columns_begin(struct columns *columns, uint32_t lane)
{
    columns->lane = lane;
    columns->any_core = columns->any_id = columns->has_event = false;
    columns->events = 0;
}

void columns_add(struct columns *columns, const struct ring_record *records, size_t count)
{
    for (const struct ring_record *record = records, *end = records + count; record < end;
         record++) {
        if (is_event(record)) {
            add_event(columns, record);
            columns->has_event = true;
            columns->events++;
        } else if (columns->has_event && record->kind == RING_ARGS) {
            add_args(columns, record);
        } else if (columns->has_event && record->kind == RING_CHARS) {
            add_chars(columns, record);
        }
    }
}

/* The records of the last event may go on in the gap: it is taken back. It is still in the block,
 * as a block is written before the next event is added. */
void columns_gap(struct columns *columns)
{
    if (columns->has_event) {
        columns->count--;
        columns->args -= columns->arg_count[columns->count];
        columns->ranges -= columns->phase[columns->count] == RING_RANGE;
        columns->events--;
    }
    columns->has_event = false;
}

uint64_t columns_end(struct columns *columns)
{
    write_block(columns);
    return columns->events;
}

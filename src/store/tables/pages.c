/*
 * Parquet pages: encodings, levels, dictionaries, compression. A column equal to that of the row
 * group before has its pages already: executions of one program differ in their times alone.
 */
#include "store/tables/pages.h"

#include "base/wire/wire.h"
#include "store/tables/thrift.h"

#include <zstd.h>

enum { ZSTD_LEVEL = 1 };

enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { DELTA_BLOCK = 128, DELTA_MINIBLOCKS = 4, DELTA_MINIBLOCK = DELTA_BLOCK / DELTA_MINIBLOCKS };

#define NO_CODE UINT32_MAX

enum { MOST_MISSES = 3 }; /* a column that differs this often in a row is no longer kept */

/* A column of a table's last row group, with its pages. */
struct last_column {
    struct row_column values;
    struct parquet_chunk chunk;
    ARRAY(char) pages;
    unsigned misses; /* since it was equal to the one before */
};
struct last_group {
    const struct table_schema *schema;
    struct last_column *columns;
};

struct parquet_encoder {
    const struct intern *strings;
    ZSTD_CCtx *zstd;
    uint32_t *codes;            /* by string: its index in the current dictionary, or NO_CODE */
    ARRAY(uint32_t) dictionary; /* its strings */
    ARRAY(uint32_t) own_codes;  /* the same by name of the rows' own */
    ARRAY(uint64_t) values;     /* to be packed */
    ARRAY(uint64_t) names;      /* codes of a column's names */
    struct output page;         /* before compression */
    struct output packed;       /* after compression */
    struct output group;        /* pages of all columns so far */
    ARRAY(struct last_group) last;
};

struct parquet_encoder *parquet_encoder_create(const struct intern *strings)
{
    struct parquet_encoder *encoder = mem_zeroed(1, sizeof *encoder);
    encoder->strings = strings;
    encoder->zstd = ZSTD_createCCtx();
    if (!encoder->zstd)
        mem_exhausted();
    ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_checksumFlag, 1);
    encoder->codes = mem_alloc(strings->by_id.count * sizeof *encoder->codes);
    memset(encoder->codes, 0xFF, strings->by_id.count * sizeof *encoder->codes);
    output_memory(&encoder->page);
    output_memory(&encoder->packed);
    output_memory(&encoder->group);
    return encoder;
}

static void forget_column(struct last_column *last)
{
    row_column_free(&last->values);
    array_free(&last->pages);
}

void parquet_encoder_free(struct parquet_encoder *encoder)
{
    if (!encoder)
        return;
    ZSTD_freeCCtx(encoder->zstd);
    mem_free(encoder->codes);
    array_free(&encoder->dictionary);
    array_free(&encoder->own_codes);
    array_free(&encoder->values);
    array_free(&encoder->names);
    output_discard(&encoder->page);
    output_discard(&encoder->packed);
    output_discard(&encoder->group);
    struct last_group *last;
    array_each (last, &encoder->last) {
        for (size_t i = 0; i < last->schema->field_count; i++)
            forget_column(&last->columns[i]);
        mem_free(last->columns);
    }
    array_free(&encoder->last);
    mem_free(encoder);
}

int physical_type(enum field_type type)
{
    switch (type) {
    case FIELD_INT64:
    case FIELD_INT64_LIST:
        return TYPE_INT64;
    case FIELD_INT32:
        return TYPE_INT32;
    case FIELD_FLOAT32:
        return TYPE_FLOAT;
    case FIELD_FLOAT64:
        return TYPE_DOUBLE;
    case FIELD_BOOL:
        return TYPE_BOOLEAN;
    default:
        return TYPE_BYTES;
    }
}

static void put_u32(struct output *out, uint32_t value)
{
    output_write(out, (const char *)&value, sizeof value);
}

static void put_varint(struct output *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        output_char(out, (char)(value | 0x80));
    output_char(out, (char)value);
}

/* Reserves room for packed bits after the data; output_grow then commits them. */
static uint8_t *room(struct output *out, size_t size)
{
    if (size + BITS_SLACK > out->capacity - out->size)
        output_reserve(out, size + BITS_SLACK);
    return (uint8_t *)out->data + out->size;
}

static void put_packed(struct output *out, const uint64_t *values, size_t count, unsigned width)
{
    size_t size = bits_bytes(count, width);
    bits_pack(room(out, size), values, count, width);
    out->size += size;
}

/* Parquet's hybrid of RLE runs and bit-packed groups of eight; each list is written as one of the
 * two. */
static void put_run(struct output *out, uint64_t value, size_t count)
{
    put_varint(out, (uint64_t)count << 1);
    output_char(out, (char)value);
}

/* Pads the values with zeros to a multiple of eight; the array must have room. */
static void put_groups(struct output *out, uint64_t *values, size_t count, unsigned width)
{
    size_t groups = (count + 7) / 8;
    for (size_t i = count; i < groups * 8; i++)
        values[i] = 0;
    put_varint(out, (uint64_t)groups << 1 | 1);
    put_packed(out, values, groups * 8, width);
}

static uint64_t *values_of(struct parquet_encoder *encoder, size_t count)
{
    array_reserve(&encoder->values, count + 8);
    return encoder->values.items;
}

/* Levels precede the values, prefixed by their length; if all are equal, they are one run. */
static void put_levels(struct parquet_encoder *encoder, uint64_t *levels, size_t count,
                       unsigned width, bool all_same)
{
    struct output *page = &encoder->page;
    size_t start = page->size;
    put_u32(page, 0);
    if (all_same)
        put_run(page, levels[0], count);
    else
        put_groups(page, levels, count, width);
    uint32_t size = (uint32_t)(page->size - start - sizeof size);
    memcpy(page->data + start, &size, sizeof size);
}

static void put_presence(struct parquet_encoder *encoder, const struct row_column *column)
{
    if (column->field->required)
        return;
    bool is_mixed = column->present.count > 0;
    uint64_t *levels = values_of(encoder, is_mixed ? column->rows : 1);
    levels[0] = column->nulls == 0;
    for (size_t i = 0; i < column->rows && is_mixed; i++)
        levels[i] = column->present.items[i];
    put_levels(encoder, levels, column->rows, 1, !is_mixed);
}

/* Lists: repetition level 1 continues a row; definition level 2 means an item. */
static size_t put_list_levels(struct parquet_encoder *encoder, const struct row_column *column)
{
    size_t entries = 0;
    for (size_t i = 0; i < column->rows; i++)
        entries += column->items.items[i] ? column->items.items[i] : 1;
    uint64_t *levels = values_of(encoder, entries);
    for (size_t i = 0, at = 0; i < column->rows; i++) {
        levels[at++] = 0;
        for (uint32_t item = 1; item < column->items.items[i]; item++)
            levels[at++] = 1;
    }
    put_levels(encoder, levels, entries, 1, entries == column->rows);
    for (size_t i = 0, at = 0; i < column->rows; i++) {
        levels[at++] = column->items.items[i] ? 2 : 0;
        for (uint32_t item = 1; item < column->items.items[i]; item++)
            levels[at++] = 2;
    }
    put_levels(encoder, levels, entries, 2, column->nulls == 0 || column->nulls == column->rows);
    return entries;
}

/* What differs between the two integer types in the delta encoding. */
static int64_t wrapped(uint64_t difference, bool narrow)
{
    return narrow ? (int32_t)(uint32_t)difference : (int64_t)difference;
}

/* Parquet's DELTA_BINARY_PACKED: differences minus the smallest, packed per miniblock.
 * Arithmetic wraps by design; the padding adds no bits. */
static void put_delta_block(struct output *out, const int64_t *numbers, size_t count, bool narrow)
{
    uint64_t steps[DELTA_BLOCK];
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t step = wrapped((uint64_t)numbers[i + 1] - (uint64_t)numbers[i], narrow);
        least = step < least ? step : least;
        steps[i] = (uint64_t)step;
    }
    for (size_t i = count; i < DELTA_BLOCK; i++)
        steps[i] = (uint64_t)least;
    put_varint(out, (uint64_t)least << 1 ^ (uint64_t)(least >> 63));
    const uint64_t mask = narrow ? UINT32_MAX : UINT64_MAX;
    unsigned widths[DELTA_MINIBLOCKS];
    for (size_t i = 0; i < DELTA_MINIBLOCKS; i++) {
        uint64_t *mini = steps + i * DELTA_MINIBLOCK, bits = 0;
        for (size_t k = 0; k < DELTA_MINIBLOCK; k++) {
            mini[k] = (mini[k] - (uint64_t)least) & mask;
            bits |= mini[k];
        }
        widths[i] = bits_needed(bits);
        output_char(out, (char)widths[i]);
    }
    for (size_t i = 0; i * DELTA_MINIBLOCK < count; i++)
        if (widths[i] > 0)
            put_packed(out, steps + i * DELTA_MINIBLOCK, DELTA_MINIBLOCK, widths[i]);
}

static void put_delta(struct output *out, const int64_t *numbers, size_t count, bool narrow)
{
    put_varint(out, DELTA_BLOCK);
    put_varint(out, DELTA_MINIBLOCKS);
    put_varint(out, count);
    put_varint(out, (uint64_t)numbers[0] << 1 ^ (uint64_t)(numbers[0] >> 63));
    for (size_t at = 0; at + 1 < count; at += DELTA_BLOCK) {
        size_t left = count - 1 - at;
        put_delta_block(out, numbers + at, left < DELTA_BLOCK ? left : DELTA_BLOCK, narrow);
    }
}

static void put_plain_number(struct output *out, enum field_type type, int64_t number)
{
    if (type == FIELD_INT32) {
        put_u32(out, (uint32_t)number);
    } else if (type == FIELD_FLOAT32) {
        double wide;
        memcpy(&wide, &number, sizeof wide);
        float narrow = (float)wide;
        output_write(out, (const char *)&narrow, sizeof narrow);
    } else {
        output_write(out, (const char *)&number, sizeof number);
    }
}

static void put_texts(struct output *out, const struct row_column *column)
{
    uint32_t start = 0;
    for (size_t i = 0; i < column->ends.count; i++) {
        uint32_t end = column->ends.items[i];
        put_u32(out, end - start);
        if (end > start)
            output_write(out, column->bytes.items + start, end - start);
        start = end;
    }
}

static void put_clean(struct output *out, struct text text)
{
    size_t place = out->size, good;
    put_u32(out, 0);
    for (size_t at = 0; at < text.size; at += good + 1) {
        good = text_utf8_prefix(text.data + at, text.size - at);
        output_write(out, text.data + at, good);
        if (at + good < text.size)
            output_text(out, UTF8_REPLACEMENT);
    }
    uint32_t size = (uint32_t)(out->size - place - sizeof size);
    memcpy(out->data + place, &size, sizeof size);
}

/* Compresses the page and appends it, after its header, to the group. */
static void end_page(struct parquet_encoder *encoder, struct parquet_chunk *chunk, int kind,
                     size_t values)
{
    struct output *page = &encoder->page, *group = &encoder->group;
    struct output *packed = &encoder->packed;
    output_reserve(packed, ZSTD_compressBound(page->size));
    size_t packed_size =
        ZSTD_compress2(encoder->zstd, packed->data, packed->capacity, page->data, page->size);
    if (ZSTD_isError(packed_size))
        mem_exhausted(); /* the only possible failure: the buffer is large enough */
    size_t start = group->size;
    struct thrift header;
    thrift_begin(&header, group);
    thrift_int(&header, 1, kind, THRIFT_I32);
    thrift_int(&header, 2, (int64_t)page->size, THRIFT_I32);
    thrift_int(&header, 3, (int64_t)packed_size, THRIFT_I32);
    if (kind == PAGE_DICTIONARY) {
        thrift_open(&header, 7);
        thrift_int(&header, 1, (int64_t)values, THRIFT_I32);
        thrift_int(&header, 2, ENCODING_PLAIN, THRIFT_I32);
    } else {
        thrift_open(&header, 5);
        thrift_int(&header, 1, (int64_t)values, THRIFT_I32);
        thrift_int(&header, 2, chunk->encoding, THRIFT_I32);
        thrift_int(&header, 3, ENCODING_RLE, THRIFT_I32);
        thrift_int(&header, 4, ENCODING_RLE, THRIFT_I32);
    }
    thrift_close(&header);
    thrift_close(&header);
    chunk->plain_size += group->size - start + page->size;
    output_write(group, packed->data, packed_size);
    chunk->packed_size += group->size - start;
    if (kind == PAGE_DICTIONARY)
        chunk->dictionary_size = group->size - start;
    page->size = 0;
}

/* `codes` has an entry for each interned string and is reset through the dictionary, so the
 * cost depends on the names used and not on all there are. */
static void encode_names(struct parquet_encoder *encoder, const struct row_column *column,
                         const struct intern *own_names, struct parquet_chunk *chunk)
{
    if (column->names.count + column->same == 0) {
        put_presence(encoder, column);
        return;
    }
    chunk->encoding = ENCODING_DICTIONARY;
    size_t count = column->names.count + column->same, own_count = own_names->by_id.count;
    array_reserve(&encoder->own_codes, own_count);
    uint32_t *own_codes = encoder->own_codes.items;
    memset(own_codes, 0xFF, own_count * sizeof *own_codes);
    encoder->dictionary.count = 0;
    if (column->same)
        *array_push(&encoder->dictionary) = (uint32_t)column->same_value;
    array_reserve(&encoder->names, column->names.count + 8);
    uint64_t *codes = encoder->names.items;
    for (size_t i = 0; i < column->names.count; i++) {
        uint32_t name = column->names.items[i];
        bool own = name & ROWS_OWN_NAME;
        uint32_t *code = own ? &own_codes[name & ~ROWS_OWN_NAME] : &encoder->codes[name];
        if (*code == NO_CODE) {
            *code = (uint32_t)encoder->dictionary.count;
            *array_push(&encoder->dictionary) = name;
        }
        codes[i] = *code;
    }
    const uint32_t *name;
    array_each (name, &encoder->dictionary) {
        bool own = *name & ROWS_OWN_NAME;
        put_clean(&encoder->page, own ? intern_text(own_names, *name & ~ROWS_OWN_NAME)
                                      : intern_text(encoder->strings, *name));
        if (!own)
            encoder->codes[*name] = NO_CODE;
    }
    size_t distinct = encoder->dictionary.count;
    end_page(encoder, chunk, PAGE_DICTIONARY, distinct);
    put_presence(encoder, column);
    unsigned width = distinct > 1 ? bits_needed(distinct - 1) : 1;
    output_char(&encoder->page, (char)width);
    if (distinct == 1)
        put_run(&encoder->page, 0, count);
    else
        put_groups(&encoder->page, codes, count, width);
}

static void find_range(const struct row_column *column, struct parquet_chunk *chunk)
{
    int64_t least = column->same ? column->same_value : INT64_MAX;
    int64_t most = column->same ? column->same_value : INT64_MIN;
    for (size_t i = 0; i < column->numbers.count; i++) {
        int64_t number = column->numbers.items[i];
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    chunk->has_range = column->same + column->numbers.count > 0;
    chunk->least = least;
    chunk->most = most;
}

static void encode_integers(struct parquet_encoder *encoder, const struct row_column *column,
                            struct parquet_chunk *chunk)
{
    enum field_type type = column->field->type;
    find_range(column, chunk);
    if (chunk->has_range && chunk->least == chunk->most) {
        chunk->encoding = ENCODING_DICTIONARY;
        put_plain_number(&encoder->page, type, chunk->least);
        end_page(encoder, chunk, PAGE_DICTIONARY, 1);
        put_presence(encoder, column);
        output_char(&encoder->page, 1);
        put_run(&encoder->page, 0, column->numbers.count + column->same);
        return;
    }
    put_presence(encoder, column);
    chunk->encoding = column->numbers.count ? ENCODING_DELTA : ENCODING_PLAIN;
    if (column->numbers.count > 0)
        put_delta(&encoder->page, column->numbers.items, column->numbers.count,
                  type == FIELD_INT32);
}

static int64_t number_at(const struct row_column *column, size_t index)
{
    return column->same ? column->same_value : column->numbers.items[index];
}

static void encode_plain(struct parquet_encoder *encoder, const struct row_column *column)
{
    size_t count = column->numbers.count + column->same;
    put_presence(encoder, column);
    if (column->field->type == FIELD_BOOL) {
        uint64_t *bits = values_of(encoder, count);
        for (size_t i = 0; i < count; i++)
            bits[i] = number_at(column, i) != 0;
        put_packed(&encoder->page, bits, count, 1);
        return;
    }
    for (size_t i = 0; i < count; i++)
        put_plain_number(&encoder->page, column->field->type, number_at(column, i));
}

/* A group has one data page per column, after the dictionary if any. Lists have one value per
 * element, so their count is set by the levels. */
static void encode_column(struct parquet_encoder *encoder, const struct row_column *column,
                          const struct intern *own_names, struct parquet_chunk *chunk)
{
    *chunk = (struct parquet_chunk){
        .offset = encoder->group.size, .values = column->rows, .nulls = column->nulls};
    switch (column->field->type) {
    case FIELD_INT64:
    case FIELD_INT32:
        encode_integers(encoder, column, chunk);
        break;
    case FIELD_FLOAT32:
    case FIELD_FLOAT64:
    case FIELD_BOOL:
        encode_plain(encoder, column);
        break;
    case FIELD_NAME:
        encode_names(encoder, column, own_names, chunk);
        break;
    case FIELD_TEXT:
        put_presence(encoder, column);
        put_texts(&encoder->page, column);
        break;
    case FIELD_TEXT_LIST:
        chunk->values = put_list_levels(encoder, column);
        put_texts(&encoder->page, column);
        break;
    case FIELD_INT64_LIST:
        chunk->values = put_list_levels(encoder, column);
        for (size_t i = 0; i < column->numbers.count; i++)
            put_plain_number(&encoder->page, FIELD_INT64, column->numbers.items[i]);
        break;
    }
    end_page(encoder, chunk, PAGE_DATA, chunk->values);
}

static struct last_column *last_columns(struct parquet_encoder *encoder,
                                        const struct table_schema *schema)
{
    struct last_group *last;
    array_each (last, &encoder->last)
        if (last->schema == schema)
            return last->columns;
    last = array_push(&encoder->last);
    *last = (struct last_group){schema, mem_zeroed(schema->field_count, sizeof *last->columns)};
    return last->columns;
}

static void keep_column(struct parquet_encoder *encoder, const struct row_column *column,
                        const struct parquet_chunk *chunk, struct last_column *last)
{
    if (last->misses == MOST_MISSES)
        return;
    if (++last->misses == MOST_MISSES || !row_column_copy(&last->values, column)) {
        forget_column(last);
        return;
    }
    last->chunk = *chunk;
    array_reserve(&last->pages, chunk->packed_size);
    memcpy(last->pages.items, encoder->group.data + chunk->offset, chunk->packed_size);
    last->pages.count = chunk->packed_size;
}

struct text encode_rows(struct parquet_encoder *encoder, const struct rows *rows,
                        struct parquet_chunk *chunks)
{
    struct last_column *last = last_columns(encoder, rows->schema);
    encoder->group.size = 0;
    for (size_t i = 0; i < rows->schema->field_count; i++, last++) {
        const struct row_column *column = &rows->columns[i];
        if (last->pages.count > 0 && row_column_equal(&last->values, column)) {
            last->misses = 0;
            chunks[i] = last->chunk;
            chunks[i].offset = encoder->group.size;
            output_write(&encoder->group, last->pages.items, last->pages.count);
            continue;
        }
        encode_column(encoder, column, &rows->own_names, &chunks[i]);
        keep_column(encoder, column, &chunks[i], last);
    }
    return (struct text){encoder->group.data, encoder->group.size};
}

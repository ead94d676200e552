/*
 * An independent, simple reader of Parquet files, which compares what it reads with a model of the
 * table.
 */
#ifndef KYMO_UNIT_PARQUET_READER_H
#define KYMO_UNIT_PARQUET_READER_H

#include "store/tables/parquet.h"

#include "support.h"

#include <float.h>
#include <math.h>
#include <zstd.h>

/* Thrift compact protocol, parsed into a tree. */

struct node {
    int id; /* of the field; 0 for items of lists */
    int64_t number;
    struct text bytes;
    struct node *children;
    size_t count;
};

struct cursor {
    const uint8_t *at, *end;
};

static uint8_t next_byte(struct cursor *in)
{
    assert_true(in->at < in->end);
    return *in->at++;
}

static uint64_t next_varint(struct cursor *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = next_byte(in);
        assert_true(shift < 64);
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
}

static int64_t next_zigzag(struct cursor *in)
{
    uint64_t value = next_varint(in);
    return (int64_t)(value >> 1 ^ (~(value & 1) + 1));
}

static const uint8_t *next_bytes(struct cursor *in, size_t size)
{
    assert_true(size <= (size_t)(in->end - in->at));
    in->at += size;
    return in->at - size;
}

static struct node *add_child(struct node *node)
{
    node->children = realloc(node->children, (node->count + 1) * sizeof *node->children);
    node->children[node->count] = (struct node){0};
    return &node->children[node->count++];
}

static void read_value(struct cursor *in, int type, struct node *node);

static void read_struct(struct cursor *in, struct node *node)
{
    int id = 0;
    for (uint8_t head; (head = next_byte(in)) != 0;) {
        id = head >> 4 ? id + (head >> 4) : (int)next_zigzag(in);
        struct node *child = add_child(node);
        child->id = id;
        read_value(in, head & 15, child);
    }
}

static void read_list(struct cursor *in, struct node *node)
{
    uint8_t head = next_byte(in);
    size_t count = head >> 4 == 15 ? next_varint(in) : head >> 4;
    for (size_t i = 0; i < count; i++)
        read_value(in, head & 15, add_child(node));
}

static void read_value(struct cursor *in, int type, struct node *node)
{
    switch (type) {
    case 1:
    case 2:
        node->number = type == 1;
        break;
    case 4:
    case 5:
    case 6:
        node->number = next_zigzag(in);
        break;
    case 8:
        node->bytes.size = next_varint(in);
        node->bytes.data = (const char *)next_bytes(in, node->bytes.size);
        break;
    case 9:
        read_list(in, node);
        break;
    case 12:
        read_struct(in, node);
        break;
    default:
        fail_msg("type %d is not expected", type);
    }
}

static void node_free(struct node *node)
{
    for (size_t i = 0; i < node->count; i++)
        node_free(&node->children[i]);
    free(node->children);
}

static const struct node *find(const struct node *node, int id)
{
    for (size_t i = 0; i < node->count; i++)
        if (node->children[i].id == id)
            return &node->children[i];
    return NULL;
}

static const struct node *get(const struct node *node, int id)
{
    const struct node *child = find(node, id);
    if (!child)
        fail_msg("field %d is missing", id);
    return child;
}

/* Encodings. */

/* Runs and packed groups of eight. */
static void read_hybrid(struct cursor *in, unsigned width, uint32_t *values, size_t count)
{
    size_t done = 0;
    while (done < count) {
        uint64_t head = next_varint(in);
        if (head & 1) {
            size_t groups = head >> 1;
            const uint8_t *packed = next_bytes(in, groups * width);
            for (size_t i = 0; i < groups * 8; i++) {
                uint32_t value = 0;
                for (unsigned bit = 0; bit < width; bit++) {
                    size_t at = i * width + bit;
                    value |= (uint32_t)(packed[at / 8] >> (at % 8) & 1) << bit;
                }
                if (done < count)
                    values[done++] = value;
                else
                    assert_int_equal(value, 0); /* padding */
            }
            continue;
        }
        uint32_t value = 0;
        for (unsigned i = 0; i < (width + 7) / 8; i++)
            value |= (uint32_t)next_byte(in) << 8 * i;
        for (uint64_t i = 0; i < head >> 1; i++) {
            assert_true(done < count);
            values[done++] = value;
        }
    }
}

/* Readers of narrow columns take at most 32 bits. */
static int64_t next_of_width(struct cursor *in, bool narrow)
{
    int64_t value = next_zigzag(in);
    assert_true(!narrow || (value >= INT32_MIN && value <= INT32_MAX));
    return value;
}

static void read_delta(struct cursor *in, int64_t *values, size_t count, bool narrow)
{
    uint64_t block = next_varint(in), miniblocks = next_varint(in), total = next_varint(in);
    assert_true(block % 128 == 0 && miniblocks > 0 && block / miniblocks % 32 == 0);
    assert_int_equal(total, count);
    uint64_t value = (uint64_t)next_of_width(in, narrow);
    size_t done = 0;
    values[done++] = (int64_t)value;
    while (done < count) {
        uint64_t least = (uint64_t)next_of_width(in, narrow);
        const uint8_t *widths = next_bytes(in, miniblocks);
        for (size_t m = 0; m < miniblocks && done < count; m++) {
            assert_true(widths[m] <= (narrow ? 32 : 64));
            const uint8_t *packed = next_bytes(in, block / miniblocks * widths[m] / 8);
            for (size_t i = 0; i < block / miniblocks && done < count; i++) {
                uint64_t step = 0;
                for (unsigned bit = 0; bit < widths[m]; bit++) {
                    size_t at = i * widths[m] + bit;
                    step |= (uint64_t)(packed[at / 8] >> (at % 8) & 1) << bit;
                }
                value += least + step;
                if (narrow)
                    value = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
                values[done++] = (int64_t)value;
            }
        }
    }
}

/* What the test adds to a table. */

struct cell {
    bool present;
    int64_t number;   /* floats as their bits */
    const char *data; /* of texts, as expected on reading */
    size_t size;
    uint32_t items; /* of lists; the cells of the items are consecutive */
    size_t first_item;
};

typedef ARRAY(struct cell) cell_list;

struct model_column {
    cell_list cells, items;
};

struct model {
    const struct table_schema *schema;
    struct model_column *columns;
    size_t rows;
    struct arena arena;
};

static void model_init(struct model *model, const struct table_schema *schema)
{
    *model = (struct model){.schema = schema};
    model->columns = calloc(schema->field_count, sizeof *model->columns);
}

static void model_free(struct model *model)
{
    for (size_t i = 0; i < model->schema->field_count; i++) {
        array_free(&model->columns[i].cells);
        array_free(&model->columns[i].items);
    }
    free(model->columns);
    arena_free(&model->arena);
}

/* Compares a column chunk with the model. */

struct chunk {
    const struct field *field;
    const struct model_column *expected;
    size_t entries; /* rows, and for lists one more per further item */
    uint32_t *repetitions, *definitions;
    unsigned deepest; /* definition level of an entry with a value */
    size_t values;
    int64_t *numbers;
    struct text *texts;
    struct text *dictionary_texts;
    int64_t *dictionary_numbers;
    size_t dictionary_size;
};

static void read_plain(struct cursor *in, enum field_type type, size_t count, int64_t *numbers,
                       struct text *texts)
{
    uint8_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        float narrow;
        double wide;
        int32_t small;
        uint32_t size;
        switch (type) {
        case FIELD_INT32:
            memcpy(&small, next_bytes(in, 4), 4);
            numbers[i] = small;
            break;
        case FIELD_FLOAT32:
            memcpy(&narrow, next_bytes(in, 4), 4);
            wide = (double)narrow;
            memcpy(&numbers[i], &wide, 8);
            break;
        case FIELD_INT64:
        case FIELD_FLOAT64:
            memcpy(&numbers[i], next_bytes(in, 8), 8);
            break;
        case FIELD_BOOL:
            bits = i % 8 == 0 ? next_byte(in) : (uint8_t)(bits >> 1);
            numbers[i] = bits & 1;
            break;
        default:
            memcpy(&size, next_bytes(in, 4), 4);
            texts[i] = (struct text){(const char *)next_bytes(in, size), size};
        }
    }
}

static uint32_t *read_levels(struct cursor *in, unsigned width, size_t count)
{
    uint32_t *levels = malloc((count + 1) * sizeof *levels), size;
    memcpy(&size, next_bytes(in, 4), 4);
    struct cursor part = {in->at, next_bytes(in, size) + size};
    read_hybrid(&part, width, levels, count);
    assert_true(part.at == part.end);
    return levels;
}

enum { PLAIN = 0, RLE = 3, DELTA = 5, DICTIONARY = 8 };

static void read_dictionary_page(struct chunk *chunk, const struct node *about, struct cursor *in)
{
    assert_int_equal(get(about, 2)->number, PLAIN);
    chunk->dictionary_size = (size_t)get(about, 1)->number;
    chunk->dictionary_numbers = calloc(chunk->dictionary_size + 1, sizeof(int64_t));
    chunk->dictionary_texts = calloc(chunk->dictionary_size + 1, sizeof(struct text));
    read_plain(in, chunk->field->type, chunk->dictionary_size, chunk->dictionary_numbers,
               chunk->dictionary_texts);
}

static void read_codes(struct chunk *chunk, struct cursor *in)
{
    uint32_t *codes = malloc((chunk->values + 1) * sizeof *codes);
    unsigned width = next_byte(in);
    assert_true(width <= 32);
    read_hybrid(in, width, codes, chunk->values);
    for (size_t i = 0; i < chunk->values; i++) {
        assert_true(codes[i] < chunk->dictionary_size);
        chunk->numbers[i] = chunk->dictionary_numbers[codes[i]];
        chunk->texts[i] = chunk->dictionary_texts[codes[i]];
    }
    free(codes);
}

static void read_data_page(struct chunk *chunk, const struct node *about, struct cursor *in)
{
    bool is_list = chunk->field->type == FIELD_TEXT_LIST;
    chunk->entries = (size_t)get(about, 1)->number;
    assert_int_equal(get(about, 3)->number, RLE);
    assert_int_equal(get(about, 4)->number, RLE);
    if (is_list)
        chunk->repetitions = read_levels(in, 1, chunk->entries);
    chunk->deepest = is_list ? 2 : !chunk->field->required;
    if (chunk->deepest > 0)
        chunk->definitions = read_levels(in, is_list ? 2 : 1, chunk->entries);
    for (size_t i = 0; i < chunk->entries; i++)
        chunk->values += !chunk->definitions || chunk->definitions[i] == chunk->deepest;
    chunk->numbers = calloc(chunk->values + 1, sizeof *chunk->numbers);
    chunk->texts = calloc(chunk->values + 1, sizeof *chunk->texts);
    int64_t encoding = get(about, 2)->number;
    if (encoding == DICTIONARY)
        read_codes(chunk, in);
    else if (encoding == DELTA)
        read_delta(in, chunk->numbers, chunk->values, chunk->field->type == FIELD_INT32);
    else if (encoding == PLAIN)
        read_plain(in, chunk->field->type, chunk->values, chunk->numbers, chunk->texts);
    else
        fail_msg("encoding %d is not expected", (int)encoding);
    assert_true(in->at == in->end);
}

/* Reads the page at the cursor; returns the memory of its content, which texts point into. */
static void *read_page(struct chunk *chunk, struct cursor *in, uint64_t *plain_size)
{
    struct node header = {0};
    const uint8_t *start = in->at;
    read_struct(in, &header);
    size_t header_size = (size_t)(in->at - start);
    size_t size = (size_t)get(&header, 2)->number, packed = (size_t)get(&header, 3)->number;
    const uint8_t *data = next_bytes(in, packed);
    assert_true(packed > 5 && data[4] & 4); /* zstd's flag for a checksum of the content */
    uint8_t *content = malloc(size + 1);
    assert_int_equal(ZSTD_decompress(content, size, data, packed), size);
    struct cursor page = {content, content + size};
    if (get(&header, 1)->number == 2)
        read_dictionary_page(chunk, get(&header, 7), &page);
    else
        read_data_page(chunk, get(&header, 5), &page);
    *plain_size += header_size + size;
    node_free(&header);
    return content;
}

static bool same_number(enum field_type type, int64_t ours, int64_t expected)
{
    double a, b;
    memcpy(&a, &ours, sizeof a);
    memcpy(&b, &expected, sizeof b);
    if (type == FIELD_FLOAT32 && isnan(a))
        return isnan(b);
    if (type == FIELD_FLOAT32)
        return a == (double)(float)b;
    return type == FIELD_BOOL ? ours == (expected != 0) : ours == expected;
}

static void check_value(const struct chunk *chunk, size_t value, const struct cell *cell)
{
    if (chunk->field->type < FIELD_NAME) {
        if (!same_number(chunk->field->type, chunk->numbers[value], cell->number))
            fail_msg("%s: %lld is not %lld", chunk->field->name, (long long)chunk->numbers[value],
                     (long long)cell->number);
        return;
    }
    struct text text = chunk->texts[value];
    if (!text_equal(text, (struct text){cell->data, cell->size}))
        fail_msg("%s: a text of %zu bytes is not that of %zu", chunk->field->name, text.size,
                 cell->size);
}

static void check_cells(const struct chunk *chunk, size_t rows)
{
    const struct cell *cells = chunk->expected->cells.items;
    size_t entry = 0, value = 0;
    for (size_t row = 0; row < rows; row++) {
        const struct cell *cell = &cells[row];
        bool is_list = chunk->field->type == FIELD_TEXT_LIST;
        size_t items = is_list && cell->present ? cell->items : 1;
        for (size_t i = 0; i < items; i++, entry++) {
            assert_true(entry < chunk->entries);
            if (is_list)
                assert_int_equal(chunk->repetitions[entry], i > 0);
            if (chunk->definitions)
                assert_int_equal(chunk->definitions[entry], cell->present ? chunk->deepest : 0);
            if (cell->present)
                check_value(chunk, value++,
                            is_list ? &chunk->expected->items.items[cell->first_item + i] : cell);
        }
    }
    assert_int_equal(entry, chunk->entries);
    assert_int_equal(value, chunk->values);
}

static void check_statistics(const struct chunk *chunk, const struct node *about, size_t rows)
{
    int64_t least = INT64_MAX, most = INT64_MIN, nulls = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct cell *cell = &chunk->expected->cells.items[i];
        nulls += !cell->present;
        least = cell->present && cell->number < least ? cell->number : least;
        most = cell->present && cell->number > most ? cell->number : most;
    }
    assert_int_equal(get(about, 3)->number, nulls);
    const struct node *max = find(about, 5), *min = find(about, 6);
    bool is_integer = chunk->field->type == FIELD_INT64 || chunk->field->type == FIELD_INT32;
    assert_int_equal(max != NULL, is_integer && nulls < (int64_t)rows);
    if (!max)
        return;
    size_t size = chunk->field->type == FIELD_INT32 ? 4 : 8;
    assert_true(max->bytes.size == size && min->bytes.size == size);
    assert_memory_equal(max->bytes.data, &most, size); /* little-endian, as this machine */
    assert_memory_equal(min->bytes.data, &least, size);
}

/* Checks the chunk of one column; returns its end in the file. */
static uint64_t check_chunk(const char *file, const struct node *column, const struct field *field,
                            const struct model_column *expected, size_t rows)
{
    static const int64_t physical[] = {
        [FIELD_INT64] = 2, [FIELD_INT32] = 1, [FIELD_FLOAT32] = 4, [FIELD_FLOAT64] = 5,
        [FIELD_BOOL] = 0,  [FIELD_NAME] = 6,  [FIELD_TEXT] = 6,    [FIELD_TEXT_LIST] = 6};
    const struct node *about = get(column, 3), *dictionary = find(about, 11);
    bool is_list = field->type == FIELD_TEXT_LIST;
    assert_int_equal(get(about, 1)->number, physical[field->type]);
    assert_int_equal(get(about, 3)->count, is_list ? 3 : 1);
    assert_true(text_equal(get(about, 3)->children[0].bytes, text_of(field->name)));
    assert_int_equal(get(about, 4)->number, 6);
    uint64_t data = (uint64_t)get(about, 9)->number, plain_size = 0;
    uint64_t start = dictionary ? (uint64_t)dictionary->number : data;
    uint64_t end = start + (uint64_t)get(about, 7)->number;
    struct cursor in = {(const uint8_t *)file + start, (const uint8_t *)file + end};
    struct chunk chunk = {.field = field, .expected = expected};
    void *first = dictionary ? read_page(&chunk, &in, &plain_size) : NULL;
    assert_true(in.at == (const uint8_t *)file + data);
    void *second = read_page(&chunk, &in, &plain_size);
    assert_true(in.at == in.end);
    assert_int_equal(plain_size, get(about, 6)->number);
    assert_int_equal(chunk.entries, get(about, 5)->number);
    check_cells(&chunk, rows);
    if (!is_list)
        check_statistics(&chunk, get(about, 12), rows);
    free(first);
    free(second);
    free(chunk.repetitions);
    free(chunk.definitions);
    free(chunk.numbers);
    free(chunk.texts);
    free(chunk.dictionary_numbers);
    free(chunk.dictionary_texts);
    return end;
}

static void check_schema(const struct node *list, const struct table_schema *schema)
{
    size_t at = 1;
    assert_true(text_equal(get(&list->children[0], 4)->bytes, text_of(schema->name)));
    assert_int_equal(get(&list->children[0], 5)->number, schema->field_count);
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct node *element = &list->children[at++];
        bool is_list = schema->fields[i].type == FIELD_TEXT_LIST;
        assert_true(text_equal(get(element, 4)->bytes, text_of(schema->fields[i].name)));
        assert_int_equal(get(element, 3)->number, !schema->fields[i].required);
        assert_int_equal(find(element, 1) == NULL, is_list);
        at += is_list ? 2 : 0;
    }
    assert_int_equal(at, list->count);
}

/* The file holds the groups of the models, in order, and nothing else. */
static void check_file(const char *path, const struct model *models, size_t groups)
{
    size_t size;
    char *file = read_whole_file(path, &size);
    assert_true(size > 12);
    assert_memory_equal(file, "PAR1", 4);
    assert_memory_equal(file + size - 4, "PAR1", 4);
    uint32_t footer_size;
    memcpy(&footer_size, file + size - 8, 4);
    assert_true(footer_size <= size - 12);
    const uint8_t *footer = (const uint8_t *)file + size - 8 - footer_size;
    struct cursor in = {footer, footer + footer_size};
    struct node about = {0};
    read_struct(&in, &about);
    assert_true(in.at == in.end);
    check_schema(get(&about, 2), models[0].schema);
    const struct node *list = get(&about, 4);
    assert_int_equal(list->count, groups);
    assert_int_equal(get(&about, 7)->count, models[0].schema->field_count);
    int64_t rows = 0;
    uint64_t covered = 4;
    for (size_t i = 0; i < groups; i++) {
        const struct node *columns = get(&list->children[i], 1);
        assert_int_equal(get(&list->children[i], 3)->number, models[i].rows);
        assert_int_equal(columns->count, models[i].schema->field_count);
        uint64_t start = (uint64_t)get(&list->children[i], 5)->number, at = start;
        for (size_t k = 0; k < columns->count; k++)
            at = check_chunk(file, &columns->children[k], &models[i].schema->fields[k],
                             &models[i].columns[k], models[i].rows);
        assert_int_equal(get(&list->children[i], 6)->number, at - start);
        covered += at - start;
        rows += (int64_t)models[i].rows;
    }
    assert_int_equal(get(&about, 3)->number, rows);
    assert_int_equal(covered, (uint64_t)(footer - (const uint8_t *)file));
    node_free(&about);
    free(file);
}

#endif

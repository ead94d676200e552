/*
 * Parquet files, read back by an independent simple reader: rows of all types added in every way,
 * numbers at the limits of their ranges, row groups out of order and from several threads.
 */
#include "store/parquet.h"

#include "support.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
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

/* Fills rows and the model alike. */

enum style { STYLE_SAME, STYLE_TWO, STYLE_EDGES, STYLE_ANY, STYLE_STEPS, STYLE_COUNT };

struct filler {
    struct rows rows;
    struct model *model;
    struct rng rng;
    const struct intern *strings;
    enum style styles[RECORD_COLUMNS];
    unsigned null_share[RECORD_COLUMNS]; /* of 256 */
    int64_t last[RECORD_COLUMNS];
};

static void filler_init(struct filler *filler, struct model *model,
                        const struct table_schema *schema, const struct intern *strings,
                        uint64_t seed)
{
    static const unsigned shares[] = {0, 1, 128, 255, 256};
    model_init(model, schema);
    *filler = (struct filler){.model = model, .rng = {seed}, .strings = strings};
    rows_init(&filler->rows, schema);
    for (size_t i = 0; i < schema->field_count; i++) {
        filler->styles[i] = (enum style)rng_below(&filler->rng, STYLE_COUNT);
        filler->null_share[i] =
            schema->fields[i].required ? 0 : shares[rng_below(&filler->rng, COUNT_OF(shares))];
    }
}

static bool is_null(struct filler *filler, size_t column)
{
    return rng_below(&filler->rng, 256) < filler->null_share[column];
}

static int64_t some_integer(struct filler *filler, size_t column)
{
    struct rng *rng = &filler->rng;
    bool narrow = filler->model->schema->fields[column].type == FIELD_INT32;
    int64_t least = narrow ? INT32_MIN : INT64_MIN, most = narrow ? INT32_MAX : INT64_MAX;
    int64_t edges[] = {least, most, 0, -1, 1, least + 1, most - 1, least / 2, most / 2};
    int64_t *last = &filler->last[column];
    uint64_t any = rng_any_width(rng);
    switch (filler->styles[column]) {
    case STYLE_SAME:
        return least + 7;
    case STYLE_TWO: /* from one limit to the other and back: deltas overflow */
        return *last = *last == least ? most : least;
    case STYLE_EDGES:
        return edges[rng_below(rng, COUNT_OF(edges))];
    case STYLE_STEPS:
        *last = (int64_t)((uint64_t)*last + rng_below(rng, 5));
        return narrow ? (int32_t)*last : *last;
    default:
        return narrow ? (int32_t)(uint32_t)any : (int64_t)any;
    }
}

static int64_t some_number(struct filler *filler, size_t column)
{
    struct rng *rng = &filler->rng;
    static const double often[] = {0.0, -0.0, 0.1, -1e300, DBL_MIN, INFINITY, -INFINITY, NAN};
    enum field_type type = filler->model->schema->fields[column].type;
    bool same = filler->styles[column] == STYLE_SAME;
    if (type == FIELD_BOOL)
        return same ? 1 : (int64_t)rng_below(rng, 3); /* anything but 0 is true */
    if (type != FIELD_FLOAT32 && type != FIELD_FLOAT64)
        return some_integer(filler, column);
    double number = same ? 0.25 : often[rng_below(rng, COUNT_OF(often))];
    if (type == FIELD_FLOAT32 && fabs(number) > 1e30 && !isinf(number))
        number = 1e30; /* only values a float can hold */
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* A text, sometimes malformed, and in the cell its expected form. */
static struct text some_text(struct filler *filler, size_t column, struct cell *cell)
{
    static const char *const pieces[] = {"",
                                         "a",
                                         "kernel",
                                         "\xC3\xA9",
                                         "\xF0\x9F\x98\x80",
                                         "\xFF",
                                         "\xE2\x82",
                                         "\"\\\n",
                                         "name of some length, as they are"};
    struct rng *rng = &filler->rng;
    char text[4096], clean[3 * sizeof text];
    size_t size = 0, clean_size = 0;
    enum style style = filler->styles[column];
    size_t count = style == STYLE_SAME ? 0 : rng_below(rng, style == STYLE_EDGES ? 100 : 4);
    for (; count > 0; count--) {
        const char *piece = pieces[rng_below(rng, COUNT_OF(pieces))];
        memcpy(text + size, piece, strlen(piece));
        size += strlen(piece);
        if (rng_below(rng, 8) == 0)
            text[size++] = '\0';
    }
    for (size_t at = 0; at < size;) {
        size_t good = text_utf8_length(text + at, size - at);
        memcpy(clean + clean_size, good ? text + at : UTF8_REPLACEMENT, good ? good : 3);
        clean_size += good ? good : 3;
        at += good ? good : 1;
    }
    char *kept = arena_alloc(&filler->model->arena, size + clean_size + 1);
    memcpy(kept, text, size);
    memcpy(kept + size, clean, clean_size);
    cell->data = kept + size;
    cell->size = clean_size;
    return (struct text){kept, size};
}

/* A name of the catalog or of the rows. */
static uint32_t some_name(struct filler *filler, size_t column, struct cell *cell)
{
    if (filler->styles[column] == STYLE_ANY || rng_below(&filler->rng, 3) == 0)
        return rows_own_name(&filler->rows, some_text(filler, column, cell));
    size_t known = filler->strings->by_id.count;
    uint32_t name = filler->styles[column] == STYLE_SAME
                        ? 1
                        : (uint32_t)rng_below(&filler->rng, known < 40 ? known : 40);
    struct text text = intern_text(filler->strings, name);
    cell->data = text.data; /* these are well-formed */
    cell->size = text.size;
    return name;
}

static struct cell *new_cells(struct filler *filler, size_t column, size_t count)
{
    cell_list *cells = &filler->model->columns[column].cells;
    array_reserve(cells, cells->count + count);
    cells->count += count;
    struct cell *first = cells->items + cells->count - count;
    memset(first, 0, count * sizeof *first);
    return first;
}

static void fill_nulls(struct filler *filler, size_t column, size_t count)
{
    rows_nulls(&filler->rows, column, count);
    new_cells(filler, column, count);
}

enum { BATCH = 300 };

static void fill_numbers(struct filler *filler, size_t column, size_t count)
{
    struct cell *cells = new_cells(filler, column, count);
    int64_t values[BATCH];
    uint8_t present[BATCH];
    for (size_t i = 0; i < count; i++) {
        present[i] = !is_null(filler, column);
        values[i] = some_number(filler, column);
        cells[i] = (struct cell){.present = present[i], .number = values[i]};
    }
    bool is_required = filler->model->schema->fields[column].required;
    size_t way = rng_below(&filler->rng, 3);
    if (way == 0 && !is_required) {
        rows_maybe(&filler->rows, column, values, present, count);
    } else if (way == 1 && filler->null_share[column] == 0) {
        memcpy(rows_numbers(&filler->rows, column, count), values, count * sizeof *values);
    } else {
        for (size_t i = 0; i < count; i++) {
            if (present[i])
                rows_int(&filler->rows, column, values[i]);
            else
                rows_nulls(&filler->rows, column, 1);
        }
    }
}

static void fill_names(struct filler *filler, size_t column, size_t count)
{
    struct cell *cells = new_cells(filler, column, count);
    for (size_t i = 0; i < count; i++) {
        cells[i].present = !is_null(filler, column);
        if (cells[i].present)
            rows_name(&filler->rows, column, some_name(filler, column, &cells[i]));
        else
            rows_nulls(&filler->rows, column, 1);
    }
}

static void fill_texts(struct filler *filler, size_t column, size_t count)
{
    struct cell *cells = new_cells(filler, column, count);
    uint8_t present[BATCH];
    bool together = rng_below(&filler->rng, 2);
    for (size_t i = 0; i < count; i++) {
        present[i] = cells[i].present = !is_null(filler, column);
        if (together && cells[i].present)
            rows_item(&filler->rows, column, some_text(filler, column, &cells[i]));
        else if (together)
            continue;
        else if (cells[i].present)
            rows_text(&filler->rows, column, some_text(filler, column, &cells[i]));
        else
            rows_nulls(&filler->rows, column, 1);
    }
    if (together)
        rows_end_texts(&filler->rows, column, present, count);
}

static void fill_lists(struct filler *filler, size_t column, size_t count)
{
    struct cell *cells = new_cells(filler, column, count);
    cell_list *items = &filler->model->columns[column].items;
    uint32_t counts[BATCH];
    for (size_t i = 0; i < count; i++) {
        uint32_t wanted = is_null(filler, column) ? 0
                          : rng_below(&filler->rng, 50) == 0
                              ? 200
                              : 1 + (uint32_t)rng_below(&filler->rng, 3);
        cells[i] =
            (struct cell){.present = wanted > 0, .items = wanted, .first_item = items->count};
        for (uint32_t k = 0; k < wanted; k++) {
            struct cell item = {0};
            rows_item(&filler->rows, column, some_text(filler, column, &item));
            *array_push(items) = item;
        }
        counts[i] = wanted;
    }
    rows_end_lists(&filler->rows, column, counts, count);
}

/* The same value in all rows, through the functions for that. */
static void fill_same(struct filler *filler, size_t column, size_t count)
{
    struct cell *cells = new_cells(filler, column, count);
    struct cell cell = {.present = true};
    if (filler->model->schema->fields[column].type == FIELD_NAME) {
        rows_fill_name(&filler->rows, column, some_name(filler, column, &cell), count);
    } else {
        cell.number = some_number(filler, column);
        rows_fill(&filler->rows, column, cell.number, count);
    }
    for (size_t i = 0; i < count; i++)
        cells[i] = cell;
}

static void fill_column(struct filler *filler, size_t column, size_t count)
{
    enum field_type type = filler->model->schema->fields[column].type;
    if (filler->null_share[column] == 256 ||
        (filler->null_share[column] > 0 && rng_below(&filler->rng, 6) == 0))
        fill_nulls(filler, column, count);
    else if (type == FIELD_TEXT_LIST)
        fill_lists(filler, column, count);
    else if (type == FIELD_TEXT)
        fill_texts(filler, column, count);
    else if (filler->null_share[column] < 256 && rng_below(&filler->rng, 3) == 0)
        fill_same(filler, column, count);
    else if (type == FIELD_NAME)
        fill_names(filler, column, count);
    else
        fill_numbers(filler, column, count);
}

/* Rows as records, for tables of numbers and names. */
static void fill_records(struct filler *filler, size_t count)
{
    size_t columns = filler->model->schema->field_count;
    struct record *records = calloc(count, sizeof *records);
    for (size_t column = 0; column < columns; column++) {
        struct cell *cells = new_cells(filler, column, count);
        for (size_t i = 0; i < count; i++) {
            cells[i].present = !is_null(filler, column);
            if (!cells[i].present)
                continue;
            records[i].present |= 1u << column;
            if (filler->model->schema->fields[column].type == FIELD_NAME)
                records[i].values[column] = some_name(filler, column, &cells[i]);
            else
                records[i].values[column] = cells[i].number = some_number(filler, column);
        }
    }
    rows_records(&filler->rows, records, count);
    free(records);
}

static void fill(struct filler *filler, size_t rows, bool by_records)
{
    while (filler->model->rows < rows) {
        size_t left = rows - filler->model->rows, count = 1 + rng_below(&filler->rng, BATCH);
        count = count < left ? count : left;
        if (by_records && rng_below(&filler->rng, 2)) {
            count = count < RECORDS_TOGETHER ? count : RECORDS_TOGETHER;
            fill_records(filler, count);
        } else {
            for (size_t i = 0; i < filler->model->schema->field_count; i++)
                fill_column(filler, i, count);
        }
        filler->model->rows += count;
        assert_int_equal(rows_count(&filler->rows), filler->model->rows);
    }
}

/* Tables: every type, required and not. */

#define FIELD(kind, is_required)                                                                   \
    {.name = is_required ? "required " #kind : "optional " #kind,                                  \
     .type = FIELD_##kind,                                                                         \
     .required = is_required,                                                                      \
     .unit = "",                                                                                   \
     .meaning = "",                                                                                \
     .example = ""}
static const struct field all_fields[] = {
    FIELD(INT64, true),    FIELD(INT32, true),    FIELD(FLOAT32, true),    FIELD(FLOAT64, true),
    FIELD(BOOL, true),     FIELD(NAME, true),     FIELD(INT64, false),     FIELD(INT32, false),
    FIELD(FLOAT32, false), FIELD(FLOAT64, false), FIELD(BOOL, false),      FIELD(NAME, false),
    FIELD(TEXT, true),     FIELD(TEXT, false),    FIELD(TEXT_LIST, false),
};
enum { ALL_FIELDS = COUNT_OF(all_fields), RECORD_FIELDS = 12 };
static const struct table_schema all_types = {"AllTypes", "", all_fields, ALL_FIELDS};
static const struct table_schema record_types = {"Records", "", all_fields, RECORD_FIELDS};

static void make_strings(struct intern *strings)
{
    intern_init(strings);
    for (int i = 0; i < 300; i++) {
        char text[64];
        int size = snprintf(text, sizeof text, "string %d of the catalog", i);
        intern_add(strings, (struct text){text, (size_t)size});
    }
}

/* A file with one group per size, added in reverse order of their numbers. */
static void round_trip(const char *path, const struct table_schema *schema, const size_t *sizes,
                       size_t groups, uint64_t seed)
{
    struct intern strings;
    struct parquet_file file;
    struct error err;
    make_strings(&strings);
    struct parquet_encoder *encoder = parquet_encoder_create(&strings);
    struct model *models = calloc(groups, sizeof *models);
    assert_true(parquet_open(&file, schema, path, &err));
    for (size_t i = groups; i > 0; i--) {
        struct filler filler;
        filler_init(&filler, &models[i - 1], schema, &strings, seed * 1000 + i);
        fill(&filler, sizes[i - 1], schema == &record_types);
        assert_true(parquet_add(&file, encoder, &filler.rows, i * 7, &err));
        rows_free(&filler.rows);
    }
    assert_true(parquet_commit(&file, &err));
    check_file(path, models, groups);
    for (size_t i = 0; i < groups; i++)
        model_free(&models[i]);
    free(models);
    parquet_encoder_free(encoder);
    intern_free(&strings);
}

TEST(rows_of_all_types_read_back_as_they_were_put)
{
    struct rng rng = {1};
    for (uint64_t round = 0; round < 150; round++) {
        size_t sizes[3];
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            sizes[i] = 1 + rng_below(&rng, (size_t)1 << rng_below(&rng, 11));
        round_trip(scratch_name(state, "t.parquet").path, &all_types, sizes, 1 + round % 3, round);
    }
    assert_int_equal(scratch_entries(state), 1);
}

TEST(rows_given_as_records_read_back_as_they_were_put)
{
    struct rng rng = {2};
    for (uint64_t round = 0; round < 150; round++) {
        size_t size = 1 + rng_below(&rng, (size_t)1 << rng_below(&rng, 12));
        round_trip(scratch_name(state, "t.parquet").path, &record_types, &size, 1, round + 500);
    }
}

TEST(every_number_of_rows_around_the_borders_of_blocks_reads_back)
{
    static const size_t borders[] = {1, 8, 32, 128, 256, 1024};
    for (size_t i = 0; i < COUNT_OF(borders); i++)
        for (size_t size = borders[i] > 2 ? borders[i] - 2 : 1; size < borders[i] + 4; size++)
            round_trip(scratch_name(state, "t.parquet").path, &all_types, &size, 1, 2000 + size);
}

TEST(a_group_of_more_than_65536_rows_reads_back)
{
    static const size_t sizes[] = {70001, 65536, 1};
    round_trip(scratch_name(state, "t.parquet").path, &all_types, sizes, 3, 77);
}

/* Rows are reused; nothing of a group may remain in the next. */
TEST(rows_that_were_cleared_hold_nothing_of_before)
{
    struct scratch_name path = scratch_name(state, "t.parquet");
    enum { GROUPS = 12 };
    struct intern strings;
    struct model models[GROUPS];
    struct parquet_file file;
    struct error err;
    struct rows rows;
    make_strings(&strings);
    struct parquet_encoder *encoder = parquet_encoder_create(&strings);
    rows_init(&rows, &all_types);
    assert_true(parquet_open(&file, &all_types, path.path, &err));
    for (size_t i = 0; i < GROUPS; i++) {
        struct filler filler;
        filler_init(&filler, &models[i], &all_types, &strings, 300 + i);
        rows_free(&filler.rows);
        filler.rows = rows;
        fill(&filler, 1 + i * 37 % 200, false);
        rows = filler.rows;
        assert_true(parquet_add(&file, encoder, &rows, i, &err));
        rows_clear(&rows);
        assert_int_equal(rows_count(&rows), 0);
        assert_int_equal(rows_text_bytes(&rows), 0);
    }
    assert_true(parquet_commit(&file, &err));
    check_file(path.path, models, GROUPS);
    for (size_t i = 0; i < GROUPS; i++)
        model_free(&models[i]);
    rows_free(&rows);
    parquet_encoder_free(encoder);
    intern_free(&strings);
}

/* Groups of equal seeds are equal: their columns are encoded once. Of one row, names of different
 * groups have the same number. */
TEST(columns_equal_to_those_of_the_group_before_read_back)
{
    struct scratch_name path = scratch_name(state, "t.parquet");
    static const uint64_t seeds[] = {1, 1, 1, 2, 1, 1, 3, 4, 5, 5, 6, 6, 6};
    enum { GROUPS = COUNT_OF(seeds) };
    struct intern strings;
    struct error err;
    make_strings(&strings);
    for (size_t size = 1; size < 400; size = size * 5 + 1) {
        struct model models[GROUPS];
        struct parquet_file file;
        struct parquet_encoder *encoder = parquet_encoder_create(&strings);
        assert_true(parquet_open(&file, &all_types, path.path, &err));
        for (size_t i = 0; i < GROUPS; i++) {
            struct filler filler;
            filler_init(&filler, &models[i], &all_types, &strings, 40000 + size * 100 + seeds[i]);
            fill(&filler, size, false);
            assert_true(parquet_add(&file, encoder, &filler.rows, i, &err));
            rows_free(&filler.rows);
        }
        assert_true(parquet_commit(&file, &err));
        check_file(path.path, models, GROUPS);
        for (size_t i = 0; i < GROUPS; i++)
            model_free(&models[i]);
        parquet_encoder_free(encoder);
    }
    intern_free(&strings);
}

/* A row of numbers, names and NULLs; what a column has is decided by `kind`. */
static void put_some_row(struct rows *rows, unsigned kind, struct rng *rng)
{
    for (size_t i = 0; i < RECORD_FIELDS; i++) {
        const struct field *field = &rows->schema->fields[i];
        unsigned what = (kind + (unsigned)i) % 4;
        int64_t value = what == 0 ? 7 : (int64_t)rng_below(rng, 200);
        if (!field->required && (what == 3 || (what == 2 && rng_below(rng, 2))))
            rows_nulls(rows, i, 1);
        else if (field->type == FIELD_NAME)
            rows_fill_name(rows, i, (uint32_t)value, 1);
        else
            rows_fill(rows, i, value, 1);
    }
}

TEST(rows_that_are_repeated_are_as_if_they_were_put_again)
{
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct rng rng = {round + 1};
        size_t before = rng_below(&rng, 20), count = 1 + rng_below(&rng, 20), nulls[RECORD_FIELDS];
        struct rows put, repeated;
        rows_init(&put, &record_types);
        rows_init(&repeated, &record_types);
        struct rng of_put = rng, of_repeated = rng;
        for (size_t i = 0; i < before; i++) {
            put_some_row(&put, round, &of_put);
            put_some_row(&repeated, round, &of_repeated);
        }
        for (size_t i = 0; i < RECORD_FIELDS; i++)
            nulls[i] = repeated.columns[i].nulls;
        struct rng again = of_put;
        for (unsigned time = 0; time < 3; time++) {
            of_put = again;
            for (size_t i = 0; i < count; i++)
                put_some_row(&put, round, &of_put);
        }
        for (size_t i = 0; i < count; i++)
            put_some_row(&repeated, round, &of_repeated);
        for (size_t i = 0; i < 2 * RECORD_FIELDS; i++)
            rows_repeat(&repeated, i % RECORD_FIELDS, before, nulls[i % RECORD_FIELDS], count);
        assert_int_equal(rows_count(&repeated), before + 3 * count);
        for (size_t i = 0; i < RECORD_FIELDS; i++)
            assert_true(row_column_equal(&put.columns[i], &repeated.columns[i]));
        rows_free(&put);
        rows_free(&repeated);
    }
}

/* Several threads, each with its own groups, whose numbers interleave. */
enum { THREADS = 4, GROUPS_EACH = 12 };

struct adder {
    struct parquet_file *file;
    const struct intern *strings;
    struct model *models;
    size_t number;
    pthread_t thread;
    bool ok;
};

static void *add_groups(void *context)
{
    struct adder *adder = context;
    struct parquet_encoder *encoder = parquet_encoder_create(adder->strings);
    struct error err;
    adder->ok = true;
    for (size_t i = GROUPS_EACH; i > 0; i--) {
        size_t number = (i - 1) * THREADS + adder->number;
        struct filler filler;
        filler_init(&filler, &adder->models[number], &all_types, adder->strings, 900 + number);
        fill(&filler, 1 + number * 53 % 700, false);
        adder->ok &= parquet_add(adder->file, encoder, &filler.rows, number, &err);
        rows_free(&filler.rows);
    }
    parquet_encoder_free(encoder);
    return NULL;
}

TEST(groups_from_several_threads_are_listed_in_their_order)
{
    struct scratch_name path = scratch_name(state, "t.parquet");
    struct intern strings;
    struct parquet_file file;
    struct error err;
    struct adder adders[THREADS];
    struct model *models = calloc(THREADS * GROUPS_EACH, sizeof *models);
    make_strings(&strings);
    assert_true(parquet_open(&file, &all_types, path.path, &err));
    for (size_t i = 0; i < THREADS; i++) {
        adders[i] =
            (struct adder){.file = &file, .strings = &strings, .models = models, .number = i};
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add_groups, &adders[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(adders[i].thread, NULL);
        assert_true(adders[i].ok);
    }
    assert_true(parquet_commit(&file, &err));
    check_file(path.path, models, THREADS * GROUPS_EACH);
    for (size_t i = 0; i < THREADS * GROUPS_EACH; i++)
        model_free(&models[i]);
    free(models);
    intern_free(&strings);
}

/* Values seen by an encoder must not stay in its dictionary. */
TEST(one_encoder_serves_many_tables)
{
    struct intern strings;
    struct error err;
    make_strings(&strings);
    struct parquet_encoder *encoder = parquet_encoder_create(&strings);
    for (size_t i = 0; i < 40; i++) {
        const struct table_schema *schema = i % 2 ? &all_types : &record_types;
        struct scratch_name path = scratch_name(state, i % 2 ? "a.parquet" : "b.parquet");
        struct parquet_file file;
        struct model model;
        struct filler filler;
        filler_init(&filler, &model, schema, &strings, 7000 + i);
        fill(&filler, 50, i % 2 == 0);
        assert_true(parquet_open(&file, schema, path.path, &err));
        assert_true(parquet_add(&file, encoder, &filler.rows, 0, &err));
        assert_true(parquet_commit(&file, &err));
        check_file(path.path, &model, 1);
        rows_free(&filler.rows);
        model_free(&model);
    }
    parquet_encoder_free(encoder);
    intern_free(&strings);
}

TEST(a_file_without_groups_is_a_table_without_rows)
{
    struct scratch_name path = scratch_name(state, "t.parquet");
    struct parquet_file file;
    struct error err;
    struct model model;
    model_init(&model, &all_types);
    assert_true(parquet_open(&file, &all_types, path.path, &err));
    assert_true(parquet_commit(&file, &err));
    check_file(path.path, &model, 0);
    model_free(&model);
}

TEST(a_file_appears_when_it_is_whole_and_never_when_it_is_discarded)
{
    struct scratch_name path = scratch_name(state, "t.parquet");
    struct intern strings;
    struct parquet_file file;
    struct error err;
    struct model model;
    struct filler filler;
    make_strings(&strings);
    struct parquet_encoder *encoder = parquet_encoder_create(&strings);
    filler_init(&filler, &model, &all_types, &strings, 5);
    fill(&filler, 10, false);
    assert_true(parquet_open(&file, &all_types, path.path, &err));
    assert_true(parquet_add(&file, encoder, &filler.rows, 0, &err));
    assert_int_equal(access(path.path, F_OK), -1);
    parquet_discard(&file);
    parquet_discard(&file); /* a discarded file stays discarded */
    assert_int_equal(scratch_entries(state), 0);
    rows_free(&filler.rows);
    model_free(&model);
    parquet_encoder_free(encoder);
    intern_free(&strings);
}

TEST(a_place_that_cannot_be_written_is_an_error_with_its_name)
{
    struct scratch_name path = scratch_name(state, "missing/t.parquet");
    struct parquet_file file;
    struct error err;
    assert_false(parquet_open(&file, &all_types, path.path, &err));
    assert_string_equal(err.file, path.path);
    assert_int_equal(scratch_entries(state), 0);
}

TEST(a_full_device_is_an_error_at_the_end_at_the_latest)
{
    struct intern strings;
    struct parquet_file file;
    struct error err;
    make_strings(&strings);
    struct parquet_encoder *encoder = parquet_encoder_create(&strings);
    assert_true(parquet_open(&file, &all_types, "/dev/full", &err));
    bool ok = true;
    for (size_t i = 0; i < 20; i++) {
        struct model model;
        struct filler filler;
        filler_init(&filler, &model, &all_types, &strings, i);
        fill(&filler, 2000, false);
        ok = ok && parquet_add(&file, encoder, &filler.rows, i, &err);
        rows_free(&filler.rows);
        model_free(&model);
    }
    assert_false(ok);
    assert_string_equal(err.file, "/dev/full");
    assert_false(parquet_commit(&file, &err));
    assert_string_equal(err.file, "/dev/full");
    parquet_encoder_free(encoder);
    intern_free(&strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(rows_of_all_types_read_back_as_they_were_put),
        SCRATCH_TEST(rows_given_as_records_read_back_as_they_were_put),
        SCRATCH_TEST(every_number_of_rows_around_the_borders_of_blocks_reads_back),
        SCRATCH_TEST(a_group_of_more_than_65536_rows_reads_back),
        SCRATCH_TEST(rows_that_were_cleared_hold_nothing_of_before),
        SCRATCH_TEST(columns_equal_to_those_of_the_group_before_read_back),
        cmocka_unit_test(rows_that_are_repeated_are_as_if_they_were_put_again),
        SCRATCH_TEST(groups_from_several_threads_are_listed_in_their_order),
        SCRATCH_TEST(one_encoder_serves_many_tables),
        SCRATCH_TEST(a_file_without_groups_is_a_table_without_rows),
        SCRATCH_TEST(a_file_appears_when_it_is_whole_and_never_when_it_is_discarded),
        SCRATCH_TEST(a_place_that_cannot_be_written_is_an_error_with_its_name),
        SCRATCH_TEST(a_full_device_is_an_error_at_the_end_at_the_latest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

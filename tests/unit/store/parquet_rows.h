/*
 * Random rows of any table, added in every way that there is, to the table and to its model.
 */
#ifndef KYMO_UNIT_PARQUET_ROWS_H
#define KYMO_UNIT_PARQUET_ROWS_H

#include "parquet_reader.h"

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

#endif

/*
 * Fills a table row by row.
 */
#include "store/tables/fill.h"

#include <math.h>
#include <stdio.h>

enum { GROUP_ROWS = 1 << 17 };

struct filler fill_with(struct profile_maker *maker, enum table_number table,
                        struct parquet_encoder *encoder)
{
    struct filler filler = {
        .maker = maker, .catalog = maker->analysis->catalog, .table = table, .encoder = encoder};
    rows_init(&filler.rows, &table_schemas[table]);
    return filler;
}

struct filler fill_begin(struct profile_maker *maker, enum table_number table, struct error *err)
{
    struct filler filler =
        fill_with(maker, table, parquet_encoder_create(&maker->analysis->catalog->strings));
    filler.err = err;
    return filler;
}

static void flush_records(struct filler *filler)
{
    if (filler->records.count > 0)
        rows_records(&filler->rows, filler->records.items, filler->records.count);
    filler->records.count = 0;
}

struct record *fill_record(struct filler *filler)
{
    if (filler->records.count == RECORDS_TOGETHER)
        flush_records(filler);
    struct record *record = array_push(&filler->records);
    record->present = 0;
    return record;
}

static void fill_flush(struct filler *filler)
{
    filler->text_bytes = 0;
    if (!filler->failed && !maker_add(filler->maker, filler->table, filler->encoder, &filler->rows,
                                      filler->groups++, filler->err))
        filler->failed = true;
}

bool fill_continue(struct filler *filler)
{
    if (filler->rows.columns[0].rows >= GROUP_ROWS || filler->text_bytes > GROUP_TEXT)
        fill_flush(filler);
    return !filler->failed;
}

bool fill_group(struct filler *filler)
{
    flush_records(filler);
    fill_flush(filler);
    return !filler->failed;
}

void fill_free(struct filler *filler)
{
    array_free(&filler->records);
    rows_free(&filler->rows);
    mem_free(filler->mark.nulls);
}

void fill_mark_begin(struct filler *filler)
{
    struct fill_mark *mark = &filler->mark;
    const struct rows *rows = &filler->rows;
    flush_records(filler);
    fill_continue(filler);
    if (!mark->nulls)
        mark->nulls = mem_alloc(rows->schema->field_count * sizeof *mark->nulls);
    for (size_t i = 0; i < rows->schema->field_count; i++)
        mark->nulls[i] = rows->columns[i].nulls;
    mark->group = filler->groups;
    mark->first = rows_count(rows);
    mark->count = 0;
}

void fill_mark_end(struct filler *filler)
{
    flush_records(filler);
    if (filler->mark.group == filler->groups)
        filler->mark.count = rows_count(&filler->rows) - filler->mark.first;
}

size_t fill_repeatable(struct filler *filler)
{
    flush_records(filler);
    fill_continue(filler);
    return filler->mark.group == filler->groups ? filler->mark.count : 0;
}

void fill_repeat(struct filler *filler, size_t column)
{
    const struct fill_mark *mark = &filler->mark;
    rows_repeat(&filler->rows, column, mark->first, mark->nulls[column], mark->count);
}

bool fill_end(struct filler *filler)
{
    bool ok = fill_group(filler);
    fill_free(filler);
    parquet_encoder_free(filler->encoder);
    return ok;
}

void fill_word(struct filler *filler, size_t column, struct text text)
{
    filler->text_bytes += text.size;
    if (filler->rows.schema->fields[column].type == FIELD_TEXT)
        rows_text(&filler->rows, column, text);
    else
        rows_name(&filler->rows, column, rows_own_name(&filler->rows, text));
}

void fill_number_text(struct filler *filler, size_t column, uint64_t number)
{
    char text[NUMBER_SIZE];
    int size = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    fill_word(filler, column, (struct text){text, (size_t)size});
}

void fill_string(struct filler *filler, size_t column, uint32_t string)
{
    if (string)
        rows_name(&filler->rows, column, string);
    else
        rows_nulls(&filler->rows, column, 1);
}

void fill_index(struct filler *filler, size_t column, bool present, uint64_t index)
{
    if (present)
        rows_int(&filler->rows, column, (int64_t)index);
    else
        rows_nulls(&filler->rows, column, 1);
}

void fill_double(struct filler *filler, size_t column, double number)
{
    if (isnan(number))
        rows_nulls(&filler->rows, column, 1);
    else
        rows_double(&filler->rows, column, number);
}

void fill_args(struct filler *filler, size_t column, const struct arg_list *args)
{
    if (args->count == 0) {
        rows_nulls(&filler->rows, column, 1);
        return;
    }
    struct output text;
    struct json json;
    output_memory(&text);
    json_begin(&json, &text, false);
    args_to_json(&json, filler->catalog, args);
    rows_text(&filler->rows, column, (struct text){text.data, text.size - 1});
    output_discard(&text);
}

void fill_span(struct filler *filler, size_t column, int64_t start_ps, int64_t duration_ps)
{
    int64_t start = whole_ns(start_ps), duration = whole_ns(duration_ps);
    rows_int(&filler->rows, column, start);
    rows_int(&filler->rows, column + 1, add_saturated(start, duration));
    rows_int(&filler->rows, column + 2, duration);
}

/*
 * Rows of a table as growing columns.
 */
#include "store/tables/rows.h"

#include <assert.h>

void rows_init(struct rows *rows, const struct table_schema *schema)
{
    *rows = (struct rows){.schema = schema};
    rows->columns = mem_zeroed(schema->field_count, sizeof *rows->columns);
    for (size_t i = 0; i < schema->field_count; i++)
        rows->columns[i].field = &schema->fields[i];
    intern_init(&rows->own_names);
}

void row_column_free(struct row_column *column)
{
    array_free(&column->numbers);
    array_free(&column->names);
    array_free(&column->bytes);
    array_free(&column->ends);
    array_free(&column->present);
    array_free(&column->items);
}

#define SAME_ITEMS(a, b)                                                                           \
    ((a)->count == (b)->count &&                                                                   \
     ((a)->count == 0 || memcmp((a)->items, (b)->items, (a)->count * sizeof *(a)->items) == 0))

bool row_column_equal(const struct row_column *a, const struct row_column *b)
{
    return a->field == b->field && a->rows == b->rows && a->nulls == b->nulls &&
           a->same == b->same && (a->same == 0 || a->same_value == b->same_value) &&
           SAME_ITEMS(&a->numbers, &b->numbers) && SAME_ITEMS(&a->names, &b->names) &&
           SAME_ITEMS(&a->bytes, &b->bytes) && SAME_ITEMS(&a->ends, &b->ends) &&
           SAME_ITEMS(&a->present, &b->present) && SAME_ITEMS(&a->items, &b->items);
}

#define COPY_ITEMS(to, from)                                                                       \
    do {                                                                                           \
        (to)->count = (from)->count;                                                               \
        if ((from)->count > 0) {                                                                   \
            array_reserve(to, (from)->count);                                                      \
            memcpy((to)->items, (from)->items, (from)->count * sizeof *(to)->items);               \
        }                                                                                          \
    } while (0)

bool row_column_copy(struct row_column *to, const struct row_column *from)
{
    uint32_t own =
        from->same > 0 && from->field->type == FIELD_NAME ? (uint32_t)from->same_value : 0;
    for (size_t i = 0; i < from->names.count; i++)
        own |= from->names.items[i];
    if (own & ROWS_OWN_NAME)
        return false;
    to->field = from->field;
    to->rows = from->rows;
    to->nulls = from->nulls;
    to->same = from->same;
    to->same_value = from->same_value;
    COPY_ITEMS(&to->numbers, &from->numbers);
    COPY_ITEMS(&to->names, &from->names);
    COPY_ITEMS(&to->bytes, &from->bytes);
    COPY_ITEMS(&to->ends, &from->ends);
    COPY_ITEMS(&to->present, &from->present);
    COPY_ITEMS(&to->items, &from->items);
    return true;
}

void rows_free(struct rows *rows)
{
    if (!rows->schema)
        return;
    for (size_t i = 0; i < rows->schema->field_count; i++)
        row_column_free(&rows->columns[i]);
    mem_free(rows->columns);
    intern_free(&rows->own_names);
}

void rows_clear(struct rows *rows)
{
    for (size_t i = 0; i < rows->schema->field_count; i++) {
        struct row_column *column = &rows->columns[i];
        column->rows = column->nulls = column->same = 0;
        column->numbers.count = column->names.count = column->bytes.count = 0;
        column->ends.count = column->present.count = column->items.count = 0;
    }
    if (rows->own_names.by_id.count > 1) { /* the empty string always exists */
        intern_free(&rows->own_names);
        intern_init(&rows->own_names);
        rows->last_own_name = 0;
    }
}

size_t rows_count(const struct rows *rows)
{
    for (size_t i = 1; i < rows->schema->field_count; i++)
        assert(rows->columns[i].rows == rows->columns[0].rows);
    return rows->columns[0].rows;
}

size_t rows_text_bytes(const struct rows *rows)
{
    size_t bytes = 0;
    for (size_t i = 0; i < rows->schema->field_count; i++)
        bytes += rows->columns[i].bytes.count;
    return bytes;
}

/* Counts of present and NULL rows are enough until a column has both. */
static struct row_column *add_rows(struct rows *rows, size_t number, size_t count, bool present)
{
    struct row_column *column = &rows->columns[number];
    bool was_mixed = column->present.count > 0;
    size_t before = column->rows, same_before = present ? column->nulls : before - column->nulls;
    column->rows += count;
    column->nulls += present ? 0 : count;
    if (count == 0 || (!was_mixed && same_before == 0))
        return column;
    array_reserve(&column->present, before + count);
    if (!was_mixed)
        memset(column->present.items, !present, before);
    memset(column->present.items + before, present, count);
    column->present.count = before + count;
    return column;
}

/* Room for more numbers; expands values that were only counted so far. */
static int64_t *add_numbers(struct row_column *column, size_t count)
{
    size_t before = column->numbers.count + column->same;
    array_reserve(&column->numbers, before + count);
    for (; column->same > 0; column->same--)
        column->numbers.items[column->numbers.count++] = column->same_value;
    column->numbers.count += count;
    return column->numbers.items + before;
}

static uint32_t *add_names(struct row_column *column, size_t count)
{
    size_t before = column->names.count + column->same;
    array_reserve(&column->names, before + count);
    for (; column->same > 0; column->same--)
        column->names.items[column->names.count++] = (uint32_t)column->same_value;
    column->names.count += count;
    return column->names.items + before;
}

/* Whether the values need only be counted: all are equal. */
static bool count_same(struct row_column *column, int64_t value, size_t count)
{
    if (column->numbers.count > 0 || column->names.count > 0 ||
        (column->same > 0 && column->same_value != value))
        return false;
    column->same += count;
    column->same_value = value;
    return true;
}

int64_t *rows_numbers(struct rows *rows, size_t number, size_t count)
{
    struct row_column *column = add_rows(rows, number, count, true);
    assert(column->field->type < FIELD_NAME);
    return add_numbers(column, count);
}

uint32_t *rows_names(struct rows *rows, size_t number, size_t count)
{
    struct row_column *column = add_rows(rows, number, count, true);
    assert(column->field->type == FIELD_NAME);
    return add_names(column, count);
}

void rows_fill(struct rows *rows, size_t number, int64_t value, size_t count)
{
    struct row_column *column = add_rows(rows, number, count, true);
    assert(column->field->type < FIELD_NAME);
    if (count_same(column, value, count))
        return;
    int64_t *values = add_numbers(column, count);
    for (size_t i = 0; i < count; i++)
        values[i] = value;
}

void rows_fill_name(struct rows *rows, size_t number, uint32_t name, size_t count)
{
    struct row_column *column = add_rows(rows, number, count, true);
    assert(column->field->type == FIELD_NAME);
    if (count_same(column, name, count))
        return;
    uint32_t *names = add_names(column, count);
    for (size_t i = 0; i < count; i++)
        names[i] = name;
}

void rows_nulls(struct rows *rows, size_t number, size_t count)
{
    struct row_column *column = add_rows(rows, number, count, false);
    assert(!column->field->required);
    if (count == 0 || !field_is_list(column->field))
        return;
    array_reserve(&column->items, column->items.count + count);
    memset(column->items.items + column->items.count, 0, count * sizeof *column->items.items);
    column->items.count += count;
}

/* Adds rows of which some have a value; returns how many. */
static size_t add_presence(struct rows *rows, size_t number, const uint8_t *present, size_t count)
{
    size_t values = 0;
    for (size_t i = 0; i < count; i++)
        values += present[i];
    struct row_column *column = &rows->columns[number];
    if (values == count || values == 0) {
        add_rows(rows, number, count, values > 0);
        return values;
    }
    size_t before = column->rows, nulls = column->nulls;
    add_rows(rows, number, 1, true);
    add_rows(rows, number, count - 1, false); /* both kinds: from now on a flag per row */
    memcpy(column->present.items + before, present, count);
    column->nulls = nulls + count - values;
    return values;
}

void rows_maybe(struct rows *rows, size_t number, const int64_t *values, const uint8_t *present,
                size_t count)
{
    size_t kept = add_presence(rows, number, present, count), used = 0;
    if (kept == 0)
        return;
    int64_t *numbers = add_numbers(&rows->columns[number], kept);
    for (size_t i = 0; i < count; i++)
        if (present[i])
            numbers[used++] = values[i];
}

/* Copies rows already in the group, as executions are often alike. `nulls_before` is the number
 * of nulls before `first`: values are stored without them. */
void rows_repeat(struct rows *rows, size_t number, size_t first, size_t nulls_before, size_t count)
{
    struct row_column *column = &rows->columns[number];
    size_t before = column->rows, from = first - nulls_before, nulls = 0;
    assert(first + count <= before);
    if (column->nulls == before) {
        rows_nulls(rows, number, count);
        return;
    }
    assert(column->field->type <= FIELD_NAME);
    if (column->present.count > 0) {
        array_reserve(&column->present, before + count);
        for (size_t i = 0; i < count; i++) {
            column->present.items[before + i] = column->present.items[first + i];
            nulls += !column->present.items[first + i];
        }
        column->present.count = before + count;
    }
    size_t values = count - nulls;
    column->rows += count;
    column->nulls += nulls;
    if (column->same > 0) {
        column->same += values;
    } else if (values > 0 && column->field->type == FIELD_NAME) {
        uint32_t *names = add_names(column, values);
        memcpy(names, column->names.items + from, values * sizeof *names);
    } else if (values > 0) {
        int64_t *numbers = add_numbers(column, values);
        memcpy(numbers, column->numbers.items + from, values * sizeof *numbers);
    }
}

/* A column in which all records have a value. */
static void add_whole_column(struct rows *rows, size_t number, const struct record *records,
                             size_t count)
{
    struct row_column *column = add_rows(rows, number, count, true);
    int64_t first = records[0].values[number], differences = 0;
    for (size_t i = 1; i < count; i++)
        differences |= records[i].values[number] ^ first;
    if (differences == 0 && count_same(column, first, count))
        return;
    if (column->field->type == FIELD_NAME) {
        uint32_t *names = add_names(column, count);
        for (size_t i = 0; i < count; i++)
            names[i] = (uint32_t)records[i].values[number];
    } else {
        int64_t *numbers = add_numbers(column, count);
        for (size_t i = 0; i < count; i++)
            numbers[i] = records[i].values[number];
    }
}

/* A column in which some records have a value. */
static void add_mixed_column(struct rows *rows, size_t number, const struct record *records,
                             size_t count)
{
    uint8_t present[RECORDS_TOGETHER];
    for (size_t i = 0; i < count; i++)
        present[i] = records[i].present >> number & 1;
    struct row_column *column = &rows->columns[number];
    bool is_name = column->field->type == FIELD_NAME;
    size_t kept = add_presence(rows, number, present, count), used = 0;
    uint32_t *names = is_name ? add_names(column, kept) : NULL;
    int64_t *numbers = is_name ? NULL : add_numbers(column, kept);
    for (size_t i = 0; i < count; i++) {
        if (!present[i])
            continue;
        if (is_name)
            names[used++] = (uint32_t)records[i].values[number];
        else
            numbers[used++] = records[i].values[number];
    }
}

void rows_records(struct rows *rows, const struct record *records, size_t count)
{
    assert(rows->schema->field_count <= RECORD_COLUMNS && count <= RECORDS_TOGETHER);
    uint64_t in_all = UINT64_MAX, in_some = 0;
    for (size_t i = 0; i < count; i++) {
        in_all &= records[i].present;
        in_some |= records[i].present;
    }
    for (size_t number = 0; number < rows->schema->field_count; number++)
        if (in_all >> number & 1)
            add_whole_column(rows, number, records, count);
        else if (in_some >> number & 1)
            add_mixed_column(rows, number, records, count);
        else
            rows_nulls(rows, number, count);
}

void rows_int(struct rows *rows, size_t column, int64_t value)
{
    *rows_numbers(rows, column, 1) = value;
}

void rows_double(struct rows *rows, size_t column, double value)
{
    memcpy(rows_numbers(rows, column, 1), &value, sizeof value);
}

void rows_name(struct rows *rows, size_t column, uint32_t name)
{
    *rows_names(rows, column, 1) = name;
}

uint32_t rows_own_name(struct rows *rows, struct text text)
{
    if (!text_equal(intern_text(&rows->own_names, rows->last_own_name), text))
        rows->last_own_name = intern_add(&rows->own_names, text);
    return rows->last_own_name | ROWS_OWN_NAME;
}

static void add_bytes(struct row_column *column, const char *data, size_t size)
{
    if (size == 0)
        return;
    array_reserve(&column->bytes, column->bytes.count + size);
    memcpy(column->bytes.items + column->bytes.count, data, size);
    column->bytes.count += size;
}

static void add_text(struct row_column *column, struct text text)
{
    for (size_t at = 0; at < text.size;) {
        size_t good = text_utf8_prefix(text.data + at, text.size - at);
        add_bytes(column, text.data + at, good);
        at += good;
        if (at < text.size) {
            add_bytes(column, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
            at++;
        }
    }
    *array_push(&column->ends) = (uint32_t)column->bytes.count;
}

void rows_text(struct rows *rows, size_t column, struct text text)
{
    add_text(add_rows(rows, column, 1, true), text);
}

void rows_item(struct rows *rows, size_t column, struct text text)
{
    add_text(&rows->columns[column], text);
}

void rows_number_item(struct rows *rows, size_t column, int64_t value)
{
    *array_push(&rows->columns[column].numbers) = value;
}

void rows_end_texts(struct rows *rows, size_t column, const uint8_t *present, size_t count)
{
    add_presence(rows, column, present, count);
}

void rows_end_lists(struct rows *rows, size_t number, const uint32_t *items, size_t count)
{
    struct row_column *column = &rows->columns[number];
    array_reserve(&column->items, column->items.count + count);
    for (size_t i = 0; i < count; i++)
        column->items.items[column->items.count++] = items[i];
    for (size_t i = 0, run; i < count; i += run) {
        bool present = items[i] > 0;
        for (run = 1; i + run < count && (items[i + run] > 0) == present;)
            run++;
        add_rows(rows, number, run, present);
    }
}

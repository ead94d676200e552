/*
 * What is read of one side: its rows and their values in steps, by queries.
 */
#include "report/compare/side.h"

#include <math.h>
#include <stdlib.h>

const char *const diff_kind_names[] = {"steps",    "ranks",   "machines",    "operators",
                                       "families", "kernels", "collectives", "copies",
                                       "host",     "memory",  NULL};

double number_of(struct text value)
{
    char digits[64];
    if (!value.data || value.size >= sizeof digits)
        return NAN;
    memcpy(digits, value.data, value.size);
    digits[value.size] = '\0';
    return strtod(digits, NULL);
}

bool read_rows(struct reading *reading, const char *sql, take_row *take, enum diff_kind kind,
               struct error *err)
{
    struct output query;
    struct sql_result *result = NULL;
    size_t rows = 1;
    output_memory(&query);
    if (reading->side->present)
        relations_put(&query, reading->side->present, &(struct relation_options){0}, sql);
    else
        definitions_put(&query, &reading->definitions, sql);
    output_char(&query, '\0');
    bool ok = sql_ask_texts(&result, reading->connection, query.data, err);
    while (ok && rows > 0 && (ok = sql_next(result, &rows, err)))
        for (size_t row = 0; row < rows; row++)
            take(reading, result, row, kind);
    sql_free(result);
    output_discard(&query);
    return ok;
}

static struct text keep(struct diff_side *side, struct text text)
{
    return (struct text){arena_copy_text(&side->texts, text.data ? text.data : "", text.size),
                         text.size};
}

void put_row_key(struct output *key, enum diff_kind kind, struct text name, struct text layer,
                 struct text shape)
{
    output_char(key, (char)('0' + kind));
    output_write(key, name.data, name.size);
    output_char(key, '\0');
    output_write(key, layer.data, layer.size);
    output_char(key, '\0');
    output_write(key, shape.data, shape.size);
}

/* Names beyond these are one row: a program that makes up names must not fill the memory. */
enum { MAX_ROWS = 200000 };
#define FURTHER_NAMES TEXT("(further names)")

struct side_row *row_for(struct diff_side *side, enum diff_kind kind, struct text name,
                         struct text layer, struct text shape)
{
    struct output key;
    output_memory(&key);
    put_row_key(&key, kind, name, layer, shape);
    uint32_t id = intern_find(&side->keys, (struct text){key.data, key.size});
    bool is_further =
        id == INTERN_NONE && side->rows.count >= MAX_ROWS && !text_equal(name, FURTHER_NAMES);
    if (id == INTERN_NONE && !is_further) {
        id = intern_add(&side->keys, (struct text){key.data, key.size});
        *array_push(&side->rows) = (struct side_row){.kind = kind,
                                                     .name = keep(side, name),
                                                     .layer = keep(side, layer),
                                                     .shape = keep(side, shape),
                                                     .inclusive = NAN,
                                                     .skew = NAN,
                                                     .bandwidth = NAN};
    }
    output_discard(&key);
    return is_further ? row_for(side, kind, FURTHER_NAMES, TEXT(""), TEXT(""))
                      : &side->rows.items[id - 1];
}

void add_value(struct side_row *row, uint32_t step, double count, double amount)
{
    struct step_value *value = array_push(&row->values);
    *value = (struct step_value){.step = step, .count = count, .amount = amount};
}

void add_step_row(struct diff_side *side, const char *name, uint32_t step, double ns)
{
    struct side_row *row = row_for(side, DIFF_STEPS, text_of(name), TEXT(""), TEXT(""));
    row->count += 1;
    row->amount += ns;
    add_value(row, step, 1, ns);
}

bool read_queries(struct reading *reading, const struct side_query *queries, size_t count,
                  unsigned kinds, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if ((kinds >> queries[i].kind & 1) &&
            !read_rows(reading, queries[i].sql, queries[i].take, queries[i].kind, err))
            return false;
    return true;
}

void take_value(struct reading *reading, const struct sql_result *result, size_t at,
                enum diff_kind kind)
{
    enum { NAME, LAYER, SHAPE, STEP, COUNT, AMOUNT, INCLUSIVE, IS_COMMUNICATION };
    struct side_row *row = row_for(reading->side, kind, sql_value(result, at, NAME),
                                   sql_value(result, at, LAYER), sql_value(result, at, SHAPE));
    double count = number_of(sql_value(result, at, COUNT));
    double amount = number_of(sql_value(result, at, AMOUNT));
    double inclusive = number_of(sql_value(result, at, INCLUSIVE));
    double step_id = number_of(sql_value(result, at, STEP));
    row->count += count;
    row->amount += amount;
    if (!isnan(inclusive))
        row->inclusive = inclusive + (isnan(row->inclusive) ? 0 : row->inclusive);
    row->is_communication |= text_equal(sql_value(result, at, IS_COMMUNICATION), TEXT("true"));
    uint32_t step =
        isnan(step_id) ? IDMAP_NONE : idmap_get(&reading->steps, (uint64_t)(int64_t)step_id);
    if (step == IDMAP_NONE)
        return;
    double devices = reading->side->steps.items[step].devices;
    add_value(row, step, count / devices, amount / devices);
}

struct reading reading_begin(const char *name, struct sql_connection *connection)
{
    struct reading reading = {.side = mem_zeroed(1, sizeof *reading.side),
                              .connection = connection};
    reading.side->name = mem_copy_text(name, strlen(name));
    intern_init(&reading.side->keys);
    output_memory(&reading.definitions);
    return reading;
}

bool reading_end(struct reading *reading, bool ok, struct diff_side **side)
{
    output_discard(&reading->definitions);
    idmap_free(&reading->steps);
    if (ok)
        *side = reading->side;
    else
        diff_side_free(reading->side);
    return ok;
}

void diff_side_free(struct diff_side *side)
{
    struct side_row *row;
    if (!side)
        return;
    array_each (row, &side->rows)
        array_free(&row->values);
    array_free(&side->rows);
    array_free(&side->steps);
    intern_free(&side->keys);
    arena_free(&side->texts);
    present_free(side->present);
    mem_free(side->name);
    mem_free(side->device_name);
    mem_free(side);
}

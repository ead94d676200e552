/*
 * Writes a comparison; for programs as JSON and CSV.
 */
#include "base/wire/wire.h"
#include "report/compare/compare.h"

#include <math.h>

void diff_write(const struct diff *diff, const struct diff_options *options, struct output *out)
{
    switch (options->format) {
    case DIFF_TEXT:
        diff_write_text(diff, options, out);
        break;
    case DIFF_MARKDOWN:
        diff_write_markdown(diff, options, out);
        break;
    case DIFF_JSON:
        diff_write_json(diff, options, out);
        break;
    case DIFF_CSV:
        diff_write_csv(diff, options, out);
        break;
    }
}

/* --- the columns of rows, in JSON and CSV --- */

typedef void put_text(void *writer, const char *key, struct text value);
typedef void put_number(void *writer, const char *key, double value); /* NAN: no value */

static struct text unit_of(const struct diff_row *row)
{
    return row->kind == DIFF_MEMORY ? TEXT("B") : TEXT("ns");
}

/* A side that does not have the row has no figures of it. */
static void put_sides(const struct diff_row *row, put_number *number, void *writer,
                      const char *const keys[static SIDES], size_t field)
{
    for (enum side side = SIDE_A; side < SIDES; side++) {
        const struct figures *figures = &row->of[side];
        double value;
        memcpy(&value, (const char *)figures + field, sizeof value);
        number(writer, keys[side], figures->is_there ? value : NAN);
    }
}

/* The one list of columns: JSON and CSV both pass their writers, so that they cannot drift apart.
 * Scripts rely on names and order. */
static void put_fields(const struct diff_row *row, put_text *text, put_number *number, void *writer)
{
#define BOTH(key, field)                                                                           \
    put_sides(row, number, writer, (const char *const[]){key "a", key "b"},                        \
              offsetof(struct figures, field))
    text(writer, "kind", text_of(diff_kind_names[row->kind]));
    text(writer, "change", text_of(change_word(row)));
    text(writer, "significance", text_of(significance_words[row->significance]));
    text(writer, "name", row->name);
    text(writer, "layer", row->layer);
    text(writer, "shape", row->shape);
    text(writer, "matched", text_of(match_words[row->match]));
    text(writer, "unit", unit_of(row));
    BOTH("", amount);
    number(writer, "difference", row->difference);
    number(writer, "ratio", row->ratio);
    BOTH("count_", count);
    number(writer, "p_value", row->p);
    number(writer, "p_adjusted", row->adjusted_p);
    BOTH("total_", total_amount);
    BOTH("total_count_", total_count);
    BOTH("inclusive_", inclusive);
    BOTH("skew_", skew);
    BOTH("bus_bandwidth_", bandwidth);
#undef BOTH
}

/* --- JSON --- */

static void put_json_text(void *writer, const char *key, struct text value)
{
    json_put_text(writer, key, value);
}

static void put_json_number(void *writer, const char *key, double value)
{
    json_key(writer, key);
    if (isnan(value))
        json_null(writer);
    else
        json_double(writer, value);
}

/* Which names were taken for one another. */
static void put_names(struct json *json, const char *key, const row_list *rows)
{
    json_key(json, key);
    json_open(json, '[');
    for (size_t i = 0; i < rows->count; i++)
        json_text(json, rows->items[i]->name);
    json_close(json, ']');
}

static void put_row(struct json *json, const struct diff_row *row)
{
    json_open_row(json, '{');
    put_fields(row, put_json_text, put_json_number, json);
    if (row->match == MATCH_NAME) {
        put_names(json, "names_a", &row->group->rows[SIDE_A]);
        put_names(json, "names_b", &row->group->rows[SIDE_B]);
    }
    json_close_row(json, '}');
}

static void put_side(struct json *json, const char *key, const struct diff_side *side)
{
    const struct side_step *step;
    json_key(json, key);
    json_open(json, '{');
    json_put_text(json, "name", text_of(side->name));
    if (side->is_run)
        json_put_uint(json, "ranks", side->rank_count);
    json_put_uint(json, "devices", side->device_count);
    json_put_text(json, "device_name", text_of(side->device_name ? side->device_name : ""));
    json_key(json, "steps");
    json_open(json, '[');
    array_each (step, &side->steps) {
        json_open_row(json, '{');
        json_put_int(json, "number", step->number);
        json_put_int(json, "start_ns", step->start_ns);
        json_put_double(json, "duration_ns", step->duration_ns);
        json_key(json, "left_out");
        json_bool(json, step->is_left_out);
        json_close_row(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void put_step(struct json *json, const struct diff *diff)
{
    json_key(json, "step_time");
    if (!diff->step) {
        json_null(json);
        return;
    }
    json_open(json, '{');
    put_json_number(json, "a_ns", diff->step->of[SIDE_A].amount);
    put_json_number(json, "b_ns", diff->step->of[SIDE_B].amount);
    put_json_number(json, "median_a_ns", diff->medians[SIDE_A]);
    put_json_number(json, "median_b_ns", diff->medians[SIDE_B]);
    put_json_number(json, "difference_ns", diff->step->difference);
    put_json_number(json, "ratio", diff->step->ratio);
    put_json_number(json, "p_value", diff->step->p);
    json_put_text(json, "significance", text_of(significance_words[diff->step->significance]));
    json_close(json, '}');
}

/* Rows, others and rest add up to the difference of the part; a part that no kind of rows explains
 * has none of them. */
static void put_contribution(struct json *json, const struct contribution *part)
{
    json_open(json, '{');
    json_put_text(json, "name", text_of(part->name));
    put_json_number(json, "a_ns", part->of[SIDE_A]);
    put_json_number(json, "b_ns", part->of[SIDE_B]);
    put_json_number(json, "difference_ns", part->difference);
    if (part->has_rows) {
        json_put_text(json, "kind", text_of(part->rows_name));
        json_key(json, "rows");
        json_open(json, '[');
        for (size_t i = 0; i < part->cause_count; i++) {
            json_open_row(json, '{');
            json_put_text(json, "name", part->causes[i]->name);
            json_put_text(json, "layer", part->causes[i]->layer);
            json_put_text(json, "shape", part->causes[i]->shape);
            json_put_text(json, "matched", text_of(match_words[part->causes[i]->match]));
            put_json_number(json, "difference_ns", part->causes[i]->difference);
            json_close_row(json, '}');
        }
        json_close(json, ']');
        put_json_number(json, "others_ns", part->others);
        put_json_number(json, "rest_ns", part->rest);
        json_put_text(json, "rest", text_of(part->rest_name));
    }
    json_close(json, '}');
}

static void put_rows(struct json *json, const struct diff *diff, const struct diff_options *options)
{
    size_t counts[DIFF_KINDS][CHANGES] = {0};
    const struct diff_row *row;
    json_key(json, "rows");
    json_open(json, '[');
    array_each (row, &diff->rows)
        if (is_row_shown(options, row, counts[row->kind][row->change]++))
            put_row(json, row);
    json_close(json, ']');
    json_key(json, "counts");
    json_open(json, '{');
    for (enum diff_kind kind = 0; kind < DIFF_KINDS; kind++) {
        static const char *const words[] = {"more", "less", "new", "gone", "same"};
        json_key(json, diff_kind_names[kind]);
        json_open_row(json, '{');
        for (enum change change = 0; change < CHANGES; change++)
            json_put_uint(json, words[change], counts[kind][change]);
        json_close_row(json, '}');
    }
    json_close(json, '}');
}

/* Includes how the result was reached (test, correction, level), so that a script can judge it
 * without knowing this version's defaults. */
void diff_write_json(const struct diff *diff, const struct diff_options *options,
                     struct output *out)
{
    static const char *const tests[] = {
        [TEST_NONE] = "", [TEST_WELCH] = "Welch's t-test", [TEST_RANKS] = "Mann-Whitney U test"};
    const char *note = diff_note(diff);
    struct json json;
    json_begin(&json, out, true);
    json_open(&json, '{');
    json_key(&json, "warnings");
    json_open(&json, '[');
    for (size_t i = 0; i < diff->warnings.count; i++)
        json_text(&json, text_of(diff->warnings.items[i]));
    json_close(&json, ']');
    put_side(&json, "a", diff->sides[SIDE_A]);
    put_side(&json, "b", diff->sides[SIDE_B]);
    json_put_text(&json, "of", diff->is_of_runs ? TEXT("runs") : TEXT("profiles"));
    json_put_text(&json, "basis", diff->is_per_step ? TEXT("step") : TEXT("capture"));
    json_put_text(&json, "test", text_of(tests[diff->test]));
    json_put_text(&json, "correction", TEXT("Benjamini-Hochberg"));
    json_put_double(&json, "level", SIGNIFICANCE_LEVEL);
    json_put_text(&json, "note", text_of(note ? note : ""));
    put_step(&json, diff);
    json_key(&json, "contributions");
    json_open(&json, '[');
    for (size_t i = 0; i < diff->contribution_count; i++)
        put_contribution(&json, &diff->contributions[i]);
    json_close(&json, ']');
    put_rows(&json, diff, options);
    json_close(&json, '}');
    output_char(out, '\n');
}

/* --- CSV --- */

struct csv {
    struct output *out;
    bool has_cells;
};

static void put_comma(struct csv *csv)
{
    if (csv->has_cells)
        output_char(csv->out, ',');
    csv->has_cells = true;
}

/* An empty text means no value. */
static void put_csv_text(void *writer, const char *key, struct text value)
{
    struct csv *csv = writer;
    (void)key;
    put_comma(csv);
    if (value.size > 0)
        export_csv_value(csv->out, value, CSV_QUOTED_IF_NEEDED);
}

static void put_csv_number(void *writer, const char *key, double value)
{
    struct csv *csv = writer;
    char digits[JSON_DOUBLE_SIZE];
    (void)key;
    put_comma(csv);
    if (isfinite(value))
        output_write(csv->out, digits, json_double_digits(value, digits));
}

static void put_csv_key(void *writer, const char *key, struct text value)
{
    (void)value;
    put_csv_text(writer, key, text_of(key));
}

static void put_csv_number_key(void *writer, const char *key, double value)
{
    (void)value;
    put_csv_text(writer, key, text_of(key));
}

void diff_write_csv(const struct diff *diff, const struct diff_options *options, struct output *out)
{
    size_t counts[DIFF_KINDS][CHANGES] = {0};
    const struct diff_row nothing = {.name = TEXT("")}, *row;
    struct csv csv = {.out = out};
    put_fields(&nothing, put_csv_key, put_csv_number_key, &csv);
    output_char(out, '\n');
    array_each (row, &diff->rows) {
        if (!is_row_shown(options, row, counts[row->kind][row->change]++))
            continue;
        csv.has_cells = false;
        put_fields(row, put_csv_text, put_csv_number, &csv);
        output_char(out, '\n');
    }
}

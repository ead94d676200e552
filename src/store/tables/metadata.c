/*
 * Tables about the profile itself: when and where it was taken, warnings, the schema.
 */
#include "store/tables/device_tables.h"

#include <stdio.h>
#include <time.h>

/* "2026-11-14T22:42:23.123456789Z" */
static void put_date(struct filler *filler, size_t column, int64_t time_ps)
{
    int64_t epoch_ns = filler->catalog->start_epoch_ns;
    char text[64] = "";
    if (epoch_ns != TIME_UNSET) {
        int64_t ns = add_saturated(epoch_ns, whole_ns(time_ps));
        time_t seconds = (time_t)(ns >= 0 ? ns / 1000000000 : -((999999999 - ns) / 1000000000));
        struct tm parts;
        gmtime_r(&seconds, &parts);
        size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
        snprintf(text + size, sizeof text - size, ".%09lldZ",
                 (long long)(ns - (int64_t)seconds * 1000000000));
    }
    rows_text(&filler->rows, column, text_of(text));
}

static void put_epoch(struct filler *filler, size_t column, int64_t time_ps)
{
    int64_t epoch_ns = filler->catalog->start_epoch_ns;
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%lld",
             (long long)add_saturated(epoch_ns == TIME_UNSET ? 0 : epoch_ns, whole_ns(time_ps)));
    rows_text(&filler->rows, column, text_of(text));
}

/* The arg with this key of the first source that has it. */
static const struct arg *find_arg(const struct catalog *catalog, struct text key)
{
    const struct track *track;
    array_each (track, &catalog->tracks) {
        const struct arg *arg =
            track->level == TRACK_SOURCE ? catalog_arg(catalog, &track->args, key) : NULL;
        if (arg)
            return arg;
    }
    return NULL;
}

static double found_number(const struct catalog *catalog, struct text key)
{
    const struct arg *arg = find_arg(catalog, key);
    return arg ? arg_number(arg) : 0;
}

/* A size in bytes; 0 if missing or invalid. */
static int64_t found_size(const struct catalog *catalog, struct text key)
{
    double number = found_number(catalog, key);
    return number > 0 && number < 0x1p63 ? (int64_t)number : 0;
}

static void put_found_text(struct filler *filler, size_t column, struct text key)
{
    const struct arg *arg = find_arg(filler->catalog, key);
    if (arg && arg_text(filler->catalog, arg).size > 0)
        fill_word(filler, column, arg_text(filler->catalog, arg));
}

/* The model of the first device that tells one. */
static void put_model(struct filler *filler, size_t column)
{
    const struct catalog *catalog = filler->catalog;
    char made[MAX_MODEL_NAME];
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        struct text model = TEXT("");
        if (track->level == TRACK_SOURCE && track->source == SOURCE_DEVICE)
            model = device_model(catalog, i, made);
        if (model.size > 0) {
            fill_word(filler, column, model);
            return;
        }
    }
}

bool make_system_metadata(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_SYSTEM_METADATA, err);
    const struct summary *summary = &maker->analysis->summary;
    put_date(&filler, SYSTEM_FIRST, summary->first_ps);
    put_date(&filler, SYSTEM_LAST, summary->last_ps);
    put_epoch(&filler, SYSTEM_FIRST_NS, summary->first_ps);
    put_epoch(&filler, SYSTEM_LAST_NS, summary->last_ps);
    rows_int(&filler.rows, SYSTEM_NTFF, 0);
    rows_int(&filler.rows, SYSTEM_HBM, found_size(filler.catalog, TEXT("memory_size")));
    return fill_end(&filler);
}

/* Sets the columns without a value to zero or NULL. */
static void fill_unknown(struct filler *filler)
{
    const struct table_schema *schema = filler->rows.schema;
    for (size_t i = 0; i < schema->field_count; i++) {
        if (filler->rows.columns[i].rows > 0)
            continue;
        if (schema->fields[i].required)
            rows_int(&filler->rows, i, 0);
        else
            rows_nulls(&filler->rows, i, 1);
    }
}

static struct extent device_extent(const struct analysis *analysis)
{
    struct extent whole = {0};
    for (size_t i = 0; i < analysis->catalog->tracks.count; i++) {
        const struct track *track = &analysis->catalog->tracks.items[i];
        const struct extent *extent = &analysis->summary.sources[i].extent;
        if (track->level != TRACK_SOURCE || track->source != SOURCE_DEVICE || !extent->has_times)
            continue;
        if (!whole.has_times || extent->first_ps < whole.first_ps)
            whole.first_ps = extent->first_ps;
        if (!whole.has_times || extent->last_ps > whole.last_ps)
            whole.last_ps = extent->last_ps;
        whole.has_times = true;
    }
    return whole;
}

/* What sources say of their devices and of themselves. */
static void put_found_facts(struct filler *filler)
{
    rows_double(&filler->rows, META_HBM_BANDWIDTH,
                found_number(filler->catalog, TEXT("memory_bandwidth")));
    rows_double(&filler->rows, META_CORE_CLOCK,
                found_number(filler->catalog, TEXT("clock_rate")) / 1e6);
    rows_int(&filler->rows, META_TICKS, 1);
    put_model(filler, META_INSTANCE_TYPE);
    put_found_text(filler, META_DRIVER_VERSION, TEXT("cuda_driver_version"));
    put_found_text(filler, META_RUNTIME_VERSION, TEXT("cuda_runtime_version"));
    put_found_text(filler, META_COMPILER_VERSION, TEXT("jaxlib_version"));
    rows_int(&filler->rows, META_SIMULATION, false);
}

bool make_metadata(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_METADATA, err);
    struct rows *rows = &filler.rows;
    const struct summary *summary = &maker->analysis->summary;
    struct extent device = device_extent(maker->analysis);
    char version[64];
    snprintf(version, sizeof version, "kymo %s", maker->version);
    rows_text(rows, META_SCHEMA, TEXT(SCHEMA_VERSION));
    rows_int(rows, META_FIRST_HARDWARE, whole_ns(device.first_ps));
    rows_int(rows, META_LAST_HARDWARE, whole_ns(device.last_ps));
    put_date(&filler, META_FIRST, summary->first_ps);
    put_date(&filler, META_LAST, summary->last_ps);
    if (maker->devices)
        fill_device_metadata(&filler, maker->devices);
    else
        put_found_facts(&filler);
    fill_word(&filler, META_EXPLORER_VERSION, text_of(version));
    if (maker->name)
        fill_word(&filler, META_PROFILE, text_of(maker->name));
    fill_unknown(&filler);
    return fill_end(&filler);
}

bool make_warnings(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_WARNINGS, err);
    const struct message *message;
    array_each (message, &filler.catalog->messages) {
        rows_text(&filler.rows, WARNING_MESSAGE, catalog_text(filler.catalog, message->text));
        fill_word(&filler, WARNING_CATEGORY, message->is_error ? TEXT("error") : TEXT("warning"));
        if (!fill_continue(&filler))
            break;
    }
    return fill_end(&filler);
}

static void put_maybe(struct filler *filler, size_t column, const char *text)
{
    if (text && text[0])
        fill_word(filler, column, text_of(text));
    else
        rows_nulls(&filler->rows, column, 1);
}

/* JSON and dates are recognized by column name, percentages by unit. */
static const char *format_of(const struct field *field)
{
    struct text name = text_of(field->name);
    if (text_ends(name, TEXT("_json")))
        return "json";
    return field->type == FIELD_TEXT && text_ends(name, TEXT("_ts")) ? "date-time" : NULL;
}

static void put_schema_field(struct filler *filler, const struct table_schema *table,
                             const struct field *field)
{
    struct rows *rows = &filler->rows;
    bool is_percent = strcmp(field->unit, "%") == 0;
    fill_word(filler, SCHEMA_TABLE, text_of(table->name));
    fill_word(filler, SCHEMA_TABLE_MEANING, text_of(table->meaning));
    fill_word(filler, SCHEMA_FIELD, text_of(field->name));
    fill_word(filler, SCHEMA_MEANING, text_of(field->meaning));
    put_maybe(filler, SCHEMA_EXAMPLE, field->example);
    fill_word(filler, SCHEMA_TYPE, text_of(field_type_name(field->type)));
    rows_int(rows, SCHEMA_REQUIRED, field->required);
    put_maybe(filler, SCHEMA_FORMAT, format_of(field));
    put_maybe(filler, SCHEMA_UNIT, field->unit);
    if (is_percent) {
        rows_double(rows, SCHEMA_MINIMUM, 0);
        rows_double(rows, SCHEMA_MAXIMUM, 100);
    } else {
        rows_nulls(rows, SCHEMA_MINIMUM, 1);
        rows_nulls(rows, SCHEMA_MAXIMUM, 1);
    }
    put_maybe(filler, SCHEMA_CHOICES, field->choices);
}

bool make_schema_fields(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_SCHEMA_FIELDS, err);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        for (size_t k = 0; k < table_schemas[i].field_count; k++)
            put_schema_field(&filler, &table_schemas[i], &table_schemas[i].fields[k]);
    return fill_end(&filler);
}

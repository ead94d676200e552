/*
 * Parquet files, read back by an independent simple reader: rows of all types added in every way,
 * numbers at the limits of their ranges, row groups out of order and from several threads.
 */
#include "parquet_rows.h"

#include <pthread.h>

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

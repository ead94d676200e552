/*
 * XPlane export to several files: a session of files within a size limit has every event once and
 * in order, whole planes where they fit, and in each file what readers need to align it.
 */
#include "support.h"

#include "base/wire/wire.h"
#include "export/export.h"
#include "import/import.h"

enum { LINES = 4, MAX_FILES = 64 };

/* Lines by id from 1: two of one plane, an empty one, and one of another plane. */
static const uint64_t line_events[LINES] = {20000, 0, 5000, 9000};

static void put_name(struct output *out, uint32_t field, uint64_t id, const char *name)
{
    size_t entry = pb_begin(out, field), value;
    pb_put_varint(out, 1, id);
    value = pb_begin(out, 2);
    pb_put_varint(out, 1, id);
    pb_put_text(out, 2, text_of(name));
    pb_end(out, value);
    pb_end(out, entry);
}

static void put_line(struct output *out, uint64_t id)
{
    size_t line = pb_begin(out, 3);
    pb_put_varint(out, 1, id);
    pb_put_text(out, 2, TEXT("line"));
    for (uint64_t i = 0; i < line_events[id - 1]; i++) {
        size_t event = pb_begin(out, 4);
        pb_put_varint(out, 1, 1);
        pb_put_varint(out, 2, i * 1000 + id);
        pb_put_varint(out, 3, 5);
        pb_end(out, event);
    }
    pb_end(out, line);
}

static void put_plane(struct output *out, const char *name, uint64_t first_line, uint64_t end_line)
{
    size_t plane = pb_begin(out, 1);
    pb_put_text(out, 2, text_of(name));
    for (uint64_t id = first_line; id < end_line; id++)
        put_line(out, id);
    put_name(out, 4, 1, "event");
    pb_end(out, plane);
}

static void put_environment(struct output *out)
{
    size_t plane = pb_begin(out, 1);
    pb_put_text(out, 2, TEXT("Task Environment"));
    put_name(out, 5, 1, "profile_start_time");
    size_t stat = pb_begin(out, 6);
    pb_put_varint(out, 1, 1);
    pb_put_varint(out, 3, 1700000000000000000u);
    pb_end(out, stat);
    pb_end(out, plane);
}

struct space {
    struct output bytes;
    struct pool *pool;
    struct source *source;
};

static void space_make(struct space *space)
{
    struct error err;
    output_memory(&space->bytes);
    put_plane(&space->bytes, "/host:CPU", 1, 4);
    put_environment(&space->bytes);
    put_plane(&space->bytes, "/device:GPU:0", 4, 5);
    pb_put_text(&space->bytes, 3, TEXT("a warning"));
    pb_put_text(&space->bytes, 4, TEXT("node"));
    space->pool = pool_create(3);
    assert_true(import_xplane_bytes("memory", (const uint8_t *)space->bytes.data, space->bytes.size,
                                    space->pool, &space->source, &err));
}

static void space_free(struct space *space)
{
    source_close(space->source);
    pool_destroy(space->pool);
    output_discard(&space->bytes);
}

/* The contents of the files of a session, in order. */
struct found {
    uint64_t events[LINES]; /* with the expected offsets */
    uint64_t lines[LINES];
    uint64_t environments, warnings, hostnames, largest_file;
    bool has_plane[MAX_FILES][2];
};

static void read_event(const struct pb_field *field, uint64_t id, struct found *found)
{
    struct pb_reader in = pb_enter(field);
    struct pb_field value;
    while (pb_next(&in, &value))
        if (value.tag == PB_TAG(2, PB_VARINT))
            assert_int_equal(value.value, found->events[id - 1] * 1000 + id);
    found->events[id - 1]++;
}

static void read_line(const struct pb_field *field, struct found *found)
{
    struct pb_reader in = pb_enter(field);
    struct pb_field value;
    uint64_t id = 0;
    while (pb_next(&in, &value)) {
        if (value.tag == PB_TAG(1, PB_VARINT))
            id = value.value;
        else if (value.tag == PB_TAG(4, PB_BYTES))
            read_event(&value, id, found);
    }
    assert_in_range(id, 1, LINES);
    found->lines[id - 1]++;
}

static void read_plane(const struct pb_field *field, size_t file, struct found *found)
{
    struct pb_reader in = pb_enter(field);
    struct pb_field value;
    bool has_types = false, is_environment = false;
    while (pb_next(&in, &value)) {
        if (value.tag == PB_TAG(2, PB_BYTES)) {
            is_environment = text_equal(pb_text(&value), TEXT("Task Environment"));
            found->environments += is_environment;
            found->has_plane[file][0] |= text_equal(pb_text(&value), TEXT("/host:CPU"));
            found->has_plane[file][1] |= text_equal(pb_text(&value), TEXT("/device:GPU:0"));
        } else if (value.tag == PB_TAG(3, PB_BYTES)) {
            read_line(&value, found);
        }
        has_types |= value.tag == PB_TAG(4, PB_BYTES);
    }
    assert_null(in.problem);
    assert_true(has_types || is_environment);
}

static void read_file(const char *path, size_t number, struct found *found)
{
    size_t size;
    char *data = read_whole_file(path, &size);
    struct pb_reader in = pb_read((const uint8_t *)data, size);
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(1, PB_BYTES))
            read_plane(&field, number, found);
        found->warnings += field.tag == PB_TAG(3, PB_BYTES);
        found->hostnames += field.tag == PB_TAG(4, PB_BYTES);
    }
    assert_null(in.problem);
    if (size > found->largest_file)
        found->largest_file = size;
    free(data);
}

/* Writes a session and reads it back; returns the number of files. */
static size_t write_session(void **state, struct space *space, uint64_t largest,
                            struct found *found)
{
    const struct scratch *scratch = *state;
    struct error err;
    *found = (struct found){0};
    assert_true(export_xplane_session(space->source, space->pool, largest, scratch->path, &err));
    size_t files = scratch_entries(state);
    assert_in_range(files, 1, MAX_FILES);
    for (size_t i = 0; i < files; i++) {
        char name[64] = "node.xplane.pb";
        if (i > 0)
            snprintf(name, sizeof name, "node_%zu.xplane.pb", i);
        read_file(scratch_name(state, name).path, i, found);
    }
    for (size_t i = 0; i < LINES; i++)
        assert_int_equal(found->events[i], line_events[i]);
    assert_true(found->largest_file <= largest);
    assert_int_equal(found->environments, files);
    assert_int_equal(found->hostnames, files);
    assert_int_equal(found->warnings, 1);
    return files;
}

TEST(what_fits_is_one_file)
{
    struct space space;
    struct found found;
    space_make(&space);
    assert_int_equal(write_session(state, &space, XPLANE_MAX_BYTES, &found), 1);
    for (size_t i = 0; i < LINES; i++)
        assert_int_equal(found.lines[i], 1);
    space_free(&space);
}

TEST(planes_that_do_not_fit_together_get_a_file_each_and_stay_whole)
{
    struct space space;
    struct found found;
    space_make(&space);
    assert_int_equal(write_session(state, &space, 350000, &found), 2);
    for (size_t i = 0; i < LINES; i++)
        assert_int_equal(found.lines[i], 1);
    assert_true(found.has_plane[0][0] && !found.has_plane[0][1]);
    assert_true(found.has_plane[1][1] && !found.has_plane[1][0]);
    space_free(&space);
}

TEST(a_plane_that_is_too_large_is_cut_and_each_part_has_its_names)
{
    struct space space;
    struct found found;
    space_make(&space);
    size_t files = write_session(state, &space, 100000, &found);
    assert_true(files >= 4);
    assert_true(found.lines[0] > 1);
    assert_int_equal(found.lines[1], 1); /* the one without events */
    space_free(&space);
}

TEST(every_limit_that_can_be_kept_is_kept)
{
    struct space space;
    struct found found;
    space_make(&space);
    size_t files = MAX_FILES;
    for (uint64_t largest = 60000; largest < 600000; largest += 23456) {
        size_t now = write_session(state, &space, largest, &found);
        assert_true(now <= files); /* files of the earlier session are gone */
        files = now;
    }
    assert_int_equal(files, 1);
    space_free(&space);
}

TEST(a_session_in_parts_is_read_as_the_whole)
{
    const struct scratch *scratch = *state;
    struct space space;
    struct found found;
    struct capture capture;
    struct source *source;
    struct error err;
    space_make(&space);
    write_session(state, &space, 100000, &found);
    assert_true(capture_find(&capture, scratch->path, &err));
    assert_true(import_capture(&capture, space.pool, &source, &err));
    uint64_t events = 0;
    const struct track *track;
    array_each (track, &source->catalog.tracks)
        events += track->events;
    assert_int_equal(events, 34000);
    const struct host *host;
    array_each (host, &source->catalog.hosts)
        assert_int_equal(host->start_epoch_ns, 1700000000000000000);
    source_close(source);
    capture_free(&capture);
    space_free(&space);
}

TEST(a_limit_that_not_even_names_fit_in_is_an_error_that_leaves_nothing)
{
    const struct scratch *scratch = *state;
    struct space space;
    struct error err;
    space_make(&space);
    assert_false(export_xplane_session(space.source, space.pool, 100, scratch->path, &err));
    assert_non_null(strstr(err.text, "plane /host:CPU"));
    assert_non_null(strstr(err.text, "100 bytes"));
    assert_int_equal(scratch_entries(state), 0);
    space_free(&space);
}

TEST(one_file_that_would_be_too_large_is_refused)
{
    struct space space;
    struct output out;
    struct error err;
    space_make(&space);
    output_memory(&out);
    assert_false(export_xplane(space.source, space.pool, 350000, &out, &err));
    assert_non_null(strstr(err.text, "write to a directory"));
    assert_int_equal(out.size, 0);
    assert_true(export_xplane(space.source, space.pool, XPLANE_MAX_BYTES, &out, &err));
    assert_true(out.size > 350000);
    output_discard(&out);
    space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(what_fits_is_one_file),
        SCRATCH_TEST(planes_that_do_not_fit_together_get_a_file_each_and_stay_whole),
        SCRATCH_TEST(a_plane_that_is_too_large_is_cut_and_each_part_has_its_names),
        SCRATCH_TEST(every_limit_that_can_be_kept_is_kept),
        SCRATCH_TEST(a_session_in_parts_is_read_as_the_whole),
        SCRATCH_TEST(a_limit_that_not_even_names_fit_in_is_an_error_that_leaves_nothing),
        cmocka_unit_test(one_file_that_would_be_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Timeline index files: empty indexes and odd names, failing writes, and damage of every kind,
 * which must be rejected or harmless, never cause a wrong result.
 */
#include "store/timeline/format.h"
#include "timeline_model.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- Contents of an index. ---- */

static void an_index_without_tracks_is_an_index(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct indexed indexed = index_make(path.path, NULL, 0, 0, add_one_by_one);
    struct timeline_result answer = {0};
    struct timeline_query query = {.to_ps = 1, .width = 100};
    ask(indexed.timeline, indexed.models, &query, &answer);
    assert_int_equal(timeline_track_count(indexed.timeline), 0);
    int64_t first, last;
    timeline_span(indexed.timeline, &first, &last);
    assert_true(first == 0 && last == 0);
    index_free(&indexed);
}

static void tracks_without_events_have_no_rows(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct trace traces[3] = {0};
    struct indexed indexed = index_make(path.path, traces, COUNT_OF(traces), 77, add_one_by_one);
    struct timeline_result answer = {0};
    struct timeline_query query = {
        .tracks = indexed.tracks, .track_count = COUNT_OF(traces), .to_ps = 1, .width = 100};
    ask(indexed.timeline, indexed.models, &query, &answer);
    assert_int_equal(answer.rows.count, 0);
    assert_int_equal(timeline_track_count(indexed.timeline), COUNT_OF(traces));
    assert_int_equal(timeline_track_at(indexed.timeline, 2)->row_count, 0);
    assert_int_equal(timeline_track_at(indexed.timeline, 2)->events, 0);
    timeline_result_free(&answer);
    index_free(&indexed);
}

/* Bytes of all kinds, larger than a page. */
static void names_are_any_bytes(void **state)
{
    enum { MANY = 20000, LONG = 200000 };
    struct scratch_name path = scratch_name(state, "timeline");
    struct error err;
    struct timeline_writer *writer;
    struct rng rng = {5};
    char *long_name = malloc(LONG);
    rng_fill(&rng, long_name, LONG);
    const struct text odd[] = {TEXT(""),     TEXT("\0"),     TEXT("\0\0x"),        TEXT("\xff\xfe"),
                               TEXT("a\nb"), TEXT("\"\\\t"), {long_name, LONG},    TEXT("a"),
                               TEXT("a\0"),  TEXT(" "),      {long_name, LONG - 1}};
    uint32_t numbers[COUNT_OF(odd)], many[MANY];
    assert_true(timeline_create(&writer, path.path, 0, &err));
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        numbers[i] = timeline_name(writer, odd[i]);
    for (size_t i = 0; i < MANY; i++)
        many[i] = timeline_name(writer, (struct text){(const char *)&i, sizeof i});
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        assert_int_equal(timeline_name(writer, odd[i]), numbers[i]);
    int64_t zero = 0;
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct timeline_track track = {
            .parent = TIMELINE_NONE, .name = numbers[i], .table = many[i], .first_id = i};
        struct timeline_events event = {
            .count = 1, .start_ps = &zero, .duration_ps = &zero, .name = &numbers[i]};
        assert_true(timeline_add(writer, timeline_add_track(writer, &track), &event, &err));
    }
    assert_true(timeline_commit(writer, &err));
    struct timeline *timeline;
    assert_true(timeline_open(&timeline, path.path, &err));
    for (uint32_t i = 0; i < COUNT_OF(odd); i++) {
        struct timeline_query query = {.tracks = &i, .track_count = 1, .to_ps = 1, .width = 1};
        struct timeline_result answer = {0};
        assert_true(timeline_query(timeline, &query, &answer, &err));
        const struct timeline_item *item = answer.items.items;
        assert_int_equal(item->id, i);
        assert_true(text_equal(timeline_name_at(timeline, item->name), odd[i]));
        const struct timeline_track *track = timeline_track_at(timeline, i);
        assert_true(text_equal(timeline_name_at(timeline, track->name), odd[i]));
        timeline_result_free(&answer);
    }
    for (size_t i = 0; i < MANY; i++)
        assert_true(text_equal(timeline_name_at(timeline, many[i]),
                               (struct text){(const char *)&i, sizeof i}));
    assert_int_equal(timeline_name_at(timeline, UINT32_MAX).size, 0);
    timeline_close(timeline);
    free(long_name);
}

static size_t size_of_index(const char *path, int64_t unit_ps)
{
    struct rng rng = {1};
    struct trace trace = trace_make(&rng, SEQUENTIAL, 20000);
    for (size_t i = 0; i < trace.count; i++) {
        trace.start_ps[i] *= unit_ps;
        trace.duration_ps[i] *= unit_ps;
    }
    struct indexed indexed = index_make(path, &trace, 1, 0, add_one_by_one);
    size_t size;
    free(read_whole_file(path, &size));
    index_free(&indexed);
    return size;
}

static void times_in_whole_nanoseconds_take_no_more_room_than_in_picoseconds(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    size_t size = size_of_index(path.path, 1);
    assert_true(size < 20000 * 8);
    assert_in_range(size_of_index(path.path, 1000), size * 9 / 10, size * 11 / 10);
    assert_true(size_of_index(path.path, 1001) > size * 11 / 10);
}

/* ---- An index to damage, and queries. ---- */

static struct indexed small_index(const char *path)
{
    struct rng rng = {11};
    struct trace traces[4] = {trace_make(&rng, NESTED, 20), trace_make(&rng, INSTANTS, 5),
                              trace_make(&rng, SEQUENTIAL, 6)};
    trace_add_values(&traces[2], &rng, FRACTIONS);
    return index_make(path, traces, COUNT_OF(traces), 0, add_one_by_one);
}

/* Several pages; the directory is only in the last. */
static struct indexed larger_index(const char *path)
{
    struct rng rng = {12};
    struct trace traces[4] = {trace_make(&rng, NESTED, 20000), trace_make(&rng, OVERLAPPING, 9000),
                              trace_make(&rng, SEQUENTIAL, 20000), trace_make(&rng, DENSE, 30000)};
    trace_add_values(&traces[2], &rng, FRACTIONS);
    return index_make(path, traces, COUNT_OF(traces), 0, add_one_by_one);
}

struct outcomes {
    size_t refused, failed, answered; /* failed to open; failed to query; correct results */
};

static void check_error(const struct error *err, const char *path)
{
    check(strcmp(err->file, path) == 0, "an error names the file");
    check(strlen(err->text) > 5, "an error says what is wrong");
}

/* Opens a file that may be damaged and queries it: each step is correct or fails cleanly. */
static void try_file(const char *path, const struct indexed *sound, struct outcomes *outcomes)
{
    struct error err = {0};
    struct timeline *timeline;
    if (!timeline_open(&timeline, path, &err)) {
        check_error(&err, path);
        outcomes->refused++;
        return;
    }
    struct indexed damaged = *sound;
    damaged.timeline = timeline;
    check_directory(&damaged);
    int64_t middle = sound->first_ps + (sound->last_ps - sound->first_ps) / 2;
    struct timeline_result answer = {0};
    for (uint32_t track = 0; track < sound->track_count; track++) {
        const struct timeline_query queries[] = {
            {&track, 1, sound->first_ps, sound->last_ps + 1, 3, NULL},
            {&track, 1, sound->first_ps, sound->last_ps + 1, 2000, NULL},
            {&track, 1, middle - 50, middle + 50, 100, NULL},
        };
        for (size_t i = 0; i < COUNT_OF(queries); i++) {
            if (timeline_query(timeline, &queries[i], &answer, &err)) {
                check_answer(sound->models, &queries[i], &answer);
                outcomes->answered++;
            } else {
                check_error(&err, path);
                outcomes->failed++;
            }
        }
    }
    timeline_result_free(&answer);
    timeline_close(timeline);
}

static void a_file_cut_off_anywhere_is_refused(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline"), cut = scratch_name(state, "cut");
    struct indexed indexed = small_index(path.path);
    size_t size;
    char *data = read_whole_file(path.path, &size);
    assert_true(size < 6000);
    struct outcomes outcomes = {0};
    trial.shape = "cut off";
    write_whole_file(cut.path, data, size);
    for (size_t left = size; left > 0; left--) {
        trial.seed = left - 1;
        assert_int_equal(truncate(cut.path, (off_t)left - 1), 0);
        try_file(cut.path, &indexed, &outcomes);
    }
    assert_int_equal(outcomes.refused, size);
    print_message("             %zu lengths refused\n", size);
    write_whole_file(cut.path, data, size);
    try_file(cut.path, &indexed, &outcomes);
    assert_int_equal(outcomes.refused, size); /* the intact file is not */
    free(data);
    index_free(&indexed);
}

static void a_file_with_a_wrong_bit_is_refused(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct indexed indexed = small_index(path.path);
    size_t size;
    char *data = read_whole_file(path.path, &size);
    struct outcomes outcomes = {0};
    int fd = open(path.path, O_WRONLY);
    assert_true(fd >= 0);
    trial.shape = "wrong bit";
    for (size_t bit = 0; bit < size * 8; bit++) {
        char wrong = (char)(data[bit / 8] ^ 1 << bit % 8);
        trial.seed = bit;
        assert_int_equal(pwrite(fd, &wrong, 1, (off_t)(bit / 8)), 1);
        try_file(path.path, &indexed, &outcomes);
        assert_int_equal(pwrite(fd, &data[bit / 8], 1, (off_t)(bit / 8)), 1);
    }
    close(fd);
    assert_int_equal(outcomes.refused, size * 8);
    print_message("             %zu bits refused\n", size * 8);
    free(data);
    index_free(&indexed);
}

/* Damage to the directory is detected on open, other damage when the page is read. */
static void damage_to_a_larger_file_is_noticed_before_it_is_answered(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct indexed indexed = larger_index(path.path);
    struct rng rng = {3};
    size_t size;
    char *data = read_whole_file(path.path, &size);
    assert_true(size > 6 * 65536);
    struct outcomes outcomes = {0};
    int fd = open(path.path, O_WRONLY);
    assert_true(fd >= 0);
    trial.shape = "larger, damaged";
    for (size_t round = 0; round < 150; round++) {
        char wrong[300];
        size_t length = round % 2 ? 1 : 1 + rng_below(&rng, sizeof wrong);
        size_t at = rng_below(&rng, size - length);
        if (round % 10 == 0)
            at = rng_below(&rng, 65536 / 8) * 8;
        trial.seed = round;
        memcpy(wrong, data + at, length);
        if (round % 3 == 0) /* another part of the file */
            memcpy(wrong, data + rng_below(&rng, size - length), length);
        else
            wrong[rng_below(&rng, length)] ^= (char)(1 << rng_below(&rng, 8));
        assert_int_equal(pwrite(fd, wrong, length, (off_t)at), (ssize_t)length);
        try_file(path.path, &indexed, &outcomes);
        assert_int_equal(pwrite(fd, data + at, length, (off_t)at), (ssize_t)length);
    }
    close(fd);
    print_message("             refused %zu, failed when asked %zu, answered right %zu\n",
                  outcomes.refused, outcomes.failed, outcomes.answered);
    assert_true(outcomes.refused > 5 && outcomes.failed > 100 && outcomes.answered > 100);
    free(data);
    index_free(&indexed);
}

static void two_pages_that_changed_places_are_noticed(void **state)
{
    enum { PAGE = 65536 };
    struct scratch_name path = scratch_name(state, "timeline"),
                        other = scratch_name(state, "other");
    struct indexed indexed = larger_index(path.path);
    size_t size;
    char *data = read_whole_file(path.path, &size), *page = malloc(PAGE);
    memcpy(page, data + PAGE, PAGE);
    memcpy(data + PAGE, data + 2 * PAGE, PAGE);
    memcpy(data + 2 * PAGE, page, PAGE);
    write_whole_file(other.path, data, size);
    struct outcomes outcomes = {0};
    try_file(other.path, &indexed, &outcomes);
    assert_true(outcomes.failed > 0);
    free(page);
    free(data);
    index_free(&indexed);
}

static void a_larger_file_that_is_cut_off_is_refused(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline"), cut = scratch_name(state, "cut");
    struct indexed indexed = larger_index(path.path);
    struct rng rng = {4};
    size_t size;
    char *data = read_whole_file(path.path, &size);
    struct outcomes outcomes = {0};
    write_whole_file(cut.path, data, size);
    size_t lengths[60];
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        lengths[i] = i % 3 ? rng_below(&rng, size) : rng_below(&rng, size / 65536 + 1) * 65536;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        trial.seed = lengths[i];
        write_whole_file(cut.path, data, lengths[i]);
        try_file(cut.path, &indexed, &outcomes);
    }
    assert_int_equal(outcomes.refused, COUNT_OF(lengths));
    free(data);
    index_free(&indexed);
}

static void more_behind_the_end_is_refused(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct indexed indexed = small_index(path.path);
    size_t size;
    char *data = read_whole_file(path.path, &size);
    char *longer = calloc(3, size);
    memcpy(longer, data, size);
    memcpy(longer + size, data, size);
    struct outcomes outcomes = {0};
    for (size_t more = 1; more < 200; more++) {
        write_whole_file(path.path, longer, size + more);
        try_file(path.path, &indexed, &outcomes);
    }
    write_whole_file(path.path, longer, 2 * size); /* two indexes, concatenated */
    try_file(path.path, &indexed, &outcomes);
    assert_int_equal(outcomes.refused, 200);
    free(longer);
    free(data);
    index_free(&indexed);
}

static void expect_refusal(const char *path, const char *reason)
{
    struct error err = {0};
    struct timeline *timeline;
    assert_false(timeline_open(&timeline, path, &err));
    assert_string_equal(err.file, path);
    assert_non_null(strstr(err.text, reason));
}

static void what_is_no_index_is_refused_with_the_reason(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    expect_refusal(path.path, "cannot open");
    write_whole_file(path.path, "", 0);
    expect_refusal(path.path, "not a timeline index");
    char zeros[70000] = {0};
    write_whole_file(path.path, zeros, sizeof zeros);
    expect_refusal(path.path, "not a timeline index");
    write_whole_file(path.path, "PAR1 and more, but not what was asked for", 40);
    expect_refusal(path.path, "not a timeline index");
    memcpy(zeros, "KYMOTL\0\2", 8);
    write_whole_file(path.path, zeros, sizeof zeros);
    expect_refusal(path.path, "truncated");
    memcpy(zeros, "KYMOTL\0\1", 8);
    write_whole_file(path.path, zeros, sizeof zeros);
    expect_refusal(path.path, "of this version");
    const struct scratch *folder = *state;
    expect_refusal(folder->path, "not a regular file");
}

/* ---- Malformed indexes with correct checksums. ---- */

static void mend_checksums(uint8_t *data, size_t size)
{
    struct trailer trailer;
    memcpy(&trailer, data + size - sizeof trailer, sizeof trailer);
    size_t body = size - sizeof trailer - sizeof(uint64_t);
    assert_true(body < PAGE_SIZE);
    uint64_t sum = hash_content(data, body, CHECKSUM_SEED);
    memcpy(data + body, &sum, sizeof sum);
    uint64_t own =
        hash_content(&trailer, offsetof(struct trailer, checksum_of_checksums), CHECKSUM_SEED);
    trailer.checksum_of_checksums = hash_content(&sum, sizeof sum, own);
    memcpy(data + size - sizeof trailer, &trailer, sizeof trailer);
}

/* Queries may return anything, but terminate, within bounds. */
static void ask_whatever(const char *path, struct outcomes *outcomes)
{
    struct error err = {0};
    struct timeline *timeline;
    if (!timeline_open(&timeline, path, &err)) {
        check_error(&err, path);
        outcomes->refused++;
        return;
    }
    struct timeline_result answer = {0};
    int64_t first, last;
    timeline_span(timeline, &first, &last);
    for (uint32_t track = 0; track < timeline_track_count(timeline); track++) {
        const struct timeline_query queries[] = {
            {&track, 1, first, add_saturated(last, 1), 30, NULL},
            {&track, 1, INT64_MIN, INT64_MAX, 3, NULL},
            {&track, 1, 10, 5000, 2000, NULL},
        };
        for (size_t i = 0; i < COUNT_OF(queries); i++) {
            if (queries[i].from_ps >= queries[i].to_ps)
                continue;
            bool ok = timeline_query(timeline, &queries[i], &answer, &err);
            outcomes->answered += ok;
            outcomes->failed += !ok;
            if (!ok)
                check_error(&err, path);
            for (size_t k = 0; ok && k < answer.items.count; k++) {
                struct text name = timeline_name_at(timeline, answer.items.items[k].name);
                check(answer.items.items[k].count > 0, "no item of nothing");
                check(name.size < 5000, "names inside the file");
            }
        }
    }
    timeline_result_free(&answer);
    timeline_close(timeline);
}

static void any_byte_that_was_written_wrong_does_no_harm(void **state)
{
    static const uint8_t wrong[] = {0x01, 0x80, 0xff};
    struct scratch_name path = scratch_name(state, "timeline");
    struct indexed indexed = small_index(path.path);
    size_t size;
    uint8_t *data = (uint8_t *)read_whole_file(path.path, &size), *copy = malloc(size);
    struct outcomes outcomes = {0};
    int fd = open(path.path, O_WRONLY);
    trial.shape = "written wrong";
    for (size_t at = 0; at < size; at++)
        for (size_t i = 0; i < COUNT_OF(wrong); i++) {
            trial.seed = at;
            memcpy(copy, data, size);
            copy[at] ^= wrong[i];
            mend_checksums(copy, size);
            assert_int_equal(pwrite(fd, copy, size, 0), (ssize_t)size);
            ask_whatever(path.path, &outcomes);
        }
    close(fd);
    print_message("             refused %zu, failed when asked %zu, answered %zu\n",
                  outcomes.refused, outcomes.failed, outcomes.answered);
    assert_true(outcomes.refused > 500 && outcomes.failed > 500 && outcomes.answered > 500);
    free(copy);
    free(data);
    index_free(&indexed);
}

/* A handmade file: one row, whose block table refers a thousand times to one block of overlapping
 * events, and a tree of as many nodes. */
enum { HOSTILE_BLOCKS = 1000, HOSTILE_NODES = 64 };

struct hostile {
    char magic[MAGIC_SIZE];
    struct block_head head;
    uint64_t gaps[BLOCK_EVENTS]; /* each back to the start of the previous one */
    uint64_t durations[BLOCK_EVENTS / 64];
    uint64_t table[HOSTILE_BLOCKS];
    struct node nodes[HOSTILE_NODES];
    struct track_entry track;
    struct row_entry row;
    uint64_t name_end, checksum;
    struct trailer trailer;
};

static struct hostile hostile_file(void)
{
    enum { EVENTS = HOSTILE_BLOCKS * BLOCK_EVENTS };
    struct hostile file = {
        .magic = TIMELINE_MAGIC,
        .head = {.gap_bits = 64, .duration_bits = 1},
        .track = {.parent = TIMELINE_NONE, .events = EVENTS, .row_count = 1},
        .row = {.events = EVENTS,
                .blocks = offsetof(struct hostile, table),
                .nodes = offsetof(struct hostile, nodes),
                .node_count = HOSTILE_NODES},
        .trailer = {.directory = offsetof(struct hostile, track),
                    .checksums = offsetof(struct hostile, checksum),
                    .last_ps = 1,
                    .track_count = 1,
                    .row_count = 1,
                    .name_count = 1},
    };
    for (size_t i = 1; i < BLOCK_EVENTS; i++)
        file.gaps[i] = UINT64_MAX;
    memset(file.durations, 0xff, sizeof file.durations);
    for (size_t i = 0; i < HOSTILE_BLOCKS; i++)
        file.table[i] = offsetof(struct hostile, head);
    for (size_t i = 0; i < HOSTILE_NODES; i++)
        file.nodes[i] = (struct node){.end_ps = 1, .count = EVENTS, .level = TOP_LEVEL};
    memcpy(file.trailer.magic, TIMELINE_TRAILER, MAGIC_SIZE);
    return file;
}

static void tracks_that_name_what_is_not_there_are_refused(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    static const struct track_entry wrong[] = {
        {.parent = TIMELINE_NONE, .row_count = 2},
        {.parent = TIMELINE_NONE, .first_row = 1, .row_count = 1},
        {.parent = TIMELINE_NONE, .first_row = UINT32_MAX, .row_count = 2},
        {.parent = TIMELINE_NONE, .row_count = UINT32_MAX},
        {.parent = TIMELINE_NONE, .name = 1},
        {.parent = TIMELINE_NONE, .table = 1},
        {.parent = 0},
        {.parent = 1},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct hostile file = hostile_file();
        file.track = wrong[i];
        mend_checksums((uint8_t *)&file, sizeof file);
        write_whole_file(path.path, &file, sizeof file);
        expect_refusal(path.path, "damaged");
    }
}

static void counts_larger_than_the_file_are_refused(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    for (size_t i = 0; i < 6; i++) {
        struct hostile file = hostile_file();
        struct trailer *trailer = &file.trailer;
        uint32_t *counts[] = {&trailer->track_count, &trailer->row_count, &trailer->name_count};
        if (i < 3)
            *counts[i] = UINT32_MAX;
        else if (i == 3)
            trailer->name_count = 0;
        else if (i == 4)
            trailer->directory = trailer->checksums + 8;
        else
            file.name_end = 1; /* there are no names */
        mend_checksums((uint8_t *)&file, sizeof file);
        write_whole_file(path.path, &file, sizeof file);
        expect_refusal(path.path, "damaged");
    }
}

/* Queries everything in one pixel; a result has at most two items. */
static void ask_hostile(struct hostile *file, const char *path)
{
    mend_checksums((uint8_t *)file, sizeof *file);
    write_whole_file(path, file, sizeof *file);
    struct timeline *timeline;
    struct error err = {0};
    assert_true(timeline_open(&timeline, path, &err));
    struct timeline_query query = {
        .tracks = (uint32_t[]){0}, .track_count = 1, .to_ps = 1, .width = 1};
    struct timeline_result answer = {0};
    if (timeline_query(timeline, &query, &answer, &err))
        assert_in_range(answer.items.count, 1, 2);
    else
        check_error(&err, path);
    timeline_result_free(&answer);
    timeline_close(timeline);
}

/* 128,000 events, all as wide as the one pixel. */
static void an_answer_stays_small_whatever_the_file_says(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct hostile file = hostile_file();
    ask_hostile(&file, path.path);
}

/* Every node is a child of the four before it: exponentially many paths. The last ones hold one
 * small event. */
static void a_tree_that_is_none_is_given_up(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    for (uint8_t children = 2; children <= 4; children++) {
        struct hostile file = hostile_file();
        file.durations[0] = 0;
        for (uint32_t i = 0; i < HOSTILE_NODES; i++) {
            bool is_leaf = i + 4 >= HOSTILE_NODES;
            file.nodes[i].count = 1;
            file.nodes[i].children = is_leaf ? 0 : children;
            file.nodes[i].first_child = is_leaf ? 0 : i + 1;
        }
        ask_hostile(&file, path.path);
    }
}

/* A row whose leaves each cover all of its events: quadratic in the file size if followed. Instants
 * are merged, so the result stays small. */
static void each_event_is_read_once_at_most(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct hostile file = hostile_file();
    memset(file.gaps, 0, sizeof file.gaps);
    memset(file.durations, 0, sizeof file.durations);
    for (uint32_t i = 0; i < HOSTILE_NODES; i++) {
        bool is_leaf = 4 * i + 4 >= HOSTILE_NODES;
        file.nodes[i].children = is_leaf ? 0 : 4;
        file.nodes[i].first_child = is_leaf ? 0 : 4 * i + 1;
    }
    mend_checksums((uint8_t *)&file, sizeof file);
    write_whole_file(path.path, &file, sizeof file);
    struct timeline *timeline;
    struct error err = {0};
    assert_true(timeline_open(&timeline, path.path, &err));
    struct timeline_query query = {
        .tracks = (uint32_t[]){0}, .track_count = 1, .to_ps = 1, .width = 1};
    struct timeline_result answer = {0};
    if (timeline_query(timeline, &query, &answer, &err))
        assert_in_range(answer.items.items[0].count, 1, HOSTILE_BLOCKS * BLOCK_EVENTS);
    else
        check_error(&err, path.path);
    timeline_result_free(&answer);
    timeline_close(timeline);
}

/* ---- Writing. ---- */

static void an_index_that_is_given_up_leaves_nothing(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct indexed indexed = small_index(path.path);
    size_t size, again;
    char *before = read_whole_file(path.path, &size);
    struct timeline_writer *writer;
    struct error err;
    assert_true(timeline_create(&writer, path.path, 0, &err));
    struct naming naming = add_names(writer);
    for (uint32_t i = 0; i < indexed.track_count; i++)
        timeline_add_track(writer, &indexed.models[i].track);
    add_one_by_one(writer, &indexed, &naming);
    timeline_discard(writer);
    timeline_discard(NULL);
    assert_int_equal(scratch_entries(state), 1);
    char *after = read_whole_file(path.path, &again);
    assert_true(size == again && memcmp(before, after, size) == 0);
    free(before);
    free(after);
    index_free(&indexed);
}

static void an_index_in_use_outlives_its_replacement(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct indexed old = larger_index(path.path), new = small_index(path.path);
    struct timeline_result answer = {0};
    struct timeline_query query = {
        .tracks = old.tracks, .track_count = 4, .to_ps = old.last_ps + 1, .width = 500};
    ask(old.timeline, old.models, &query, &answer);
    ask(new.timeline, new.models, &query, &answer);
    ask(old.timeline, old.models, &query, &answer);
    timeline_result_free(&answer);
    index_free(&old);
    index_free(&new);
}

static void a_place_that_is_not_there_is_named(void **state)
{
    struct scratch_name path = scratch_name(state, "missing/timeline");
    struct timeline_writer *writer;
    struct error err = {0};
    assert_false(timeline_create(&writer, path.path, 0, &err));
    assert_string_equal(err.file, path.path);
}

enum { WRITERS = 4, TRACKS_EACH = 1500, MOST_EVENTS = 15000 };

struct writing {
    struct timeline_writer *writer;
    struct timeline_events events;
    uint32_t first_track;
    bool failed;
    struct error err;
};

static void *write_until_full(void *context)
{
    struct writing *writing = context;
    for (uint32_t i = 0; i < TRACKS_EACH && !writing->failed; i++)
        writing->failed = !timeline_add(writing->writer, writing->first_track + i, &writing->events,
                                        &writing->err);
    return NULL;
}

/* One thread writes long tracks, the others very short ones. */
static void fill_the_disk(struct timeline_writer *writer, const struct timeline_events *events,
                          const char *path)
{
    struct writing writings[WRITERS];
    pthread_t threads[WRITERS];
    for (uint32_t i = 0; i < WRITERS; i++) {
        writings[i] =
            (struct writing){.writer = writer, .events = *events, .first_track = i * TRACKS_EACH};
        writings[i].events.count = i == 0 ? MOST_EVENTS : 1;
        assert_int_equal(pthread_create(&threads[i], NULL, write_until_full, &writings[i]), 0);
    }
    for (size_t i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_true(writings[0].failed);
    for (size_t i = 0; i < WRITERS; i++)
        if (writings[i].failed)
            assert_string_equal(writings[i].err.file, path);
}

/* While several threads write; RLIMIT_FSIZE simulates a full disk. */
static void a_full_disk_is_an_error_that_names_the_file(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct rng rng = {9};
    struct trace trace = trace_make(&rng, SEQUENTIAL, MOST_EVENTS);
    trace_sort(&trace);
    trace_store_in_order(&trace);
    struct timeline_events events = {
        .start_ps = trace.start_ps, .duration_ps = trace.duration_ps, .name = trace.name};
    struct rlimit usual, limited;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    limited = usual;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t round = 1; round <= 10; round++) {
        struct timeline_writer *writer;
        struct error err = {0};
        assert_true(timeline_create(&writer, path.path, 0, &err));
        struct timeline_track track = {.parent = TIMELINE_NONE};
        for (uint32_t i = 0; i < WRITERS * TRACKS_EACH; i++)
            timeline_add_track(writer, &track);
        limited.rlim_cur = round << 18;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
        fill_the_disk(writer, &events, path.path);
        bool ok = timeline_commit(writer, &err);
        setrlimit(RLIMIT_FSIZE, &usual);
        assert_false(ok);
        assert_string_equal(err.file, path.path);
        assert_non_null(strstr(err.text, "cannot write"));
        assert_int_equal(scratch_entries(state), 0);
    }
    signal(SIGXFSZ, handler);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(an_index_without_tracks_is_an_index),
        SCRATCH_TEST(tracks_without_events_have_no_rows),
        SCRATCH_TEST(names_are_any_bytes),
        SCRATCH_TEST(times_in_whole_nanoseconds_take_no_more_room_than_in_picoseconds),
        SCRATCH_TEST(a_file_cut_off_anywhere_is_refused),
        SCRATCH_TEST(a_file_with_a_wrong_bit_is_refused),
        SCRATCH_TEST(damage_to_a_larger_file_is_noticed_before_it_is_answered),
        SCRATCH_TEST(two_pages_that_changed_places_are_noticed),
        SCRATCH_TEST(a_larger_file_that_is_cut_off_is_refused),
        SCRATCH_TEST(more_behind_the_end_is_refused),
        SCRATCH_TEST(what_is_no_index_is_refused_with_the_reason),
        SCRATCH_TEST(any_byte_that_was_written_wrong_does_no_harm),
        SCRATCH_TEST(tracks_that_name_what_is_not_there_are_refused),
        SCRATCH_TEST(counts_larger_than_the_file_are_refused),
        SCRATCH_TEST(an_answer_stays_small_whatever_the_file_says),
        SCRATCH_TEST(a_tree_that_is_none_is_given_up),
        SCRATCH_TEST(each_event_is_read_once_at_most),
        SCRATCH_TEST(an_index_that_is_given_up_leaves_nothing),
        SCRATCH_TEST(an_index_in_use_outlives_its_replacement),
        SCRATCH_TEST(a_place_that_is_not_there_is_named),
        SCRATCH_TEST(a_full_disk_is_an_error_that_names_the_file),
    };
    return cmocka_run_group_tests_name("files of the timeline", tests, NULL, NULL);
}

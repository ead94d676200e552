/*
 * Merged sources: all that parts say and push is there once, under the merged catalog's numbers, on
 * one clock.
 */
#include "support.h"

#include "import/merged/merged.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LANES = 5, TYPES = 6, KEYS = 8, LANE_EVENTS = 40, PS_PER_NS = 1000 };

/* A source of one machine, with events worked out from a number. */
struct made {
    struct source source;
    uint64_t seed;
    uint32_t lanes[LANES], keys[KEYS];
    uint32_t fails_at; /* the lane whose reading fails */
    const uint8_t *wanted;
    _Atomic unsigned closed;
};

static uint64_t number_of(const struct made *made, uint32_t lane, uint32_t event, uint32_t what)
{
    struct rng rng = {made->seed * 1000003 + lane * 1009 + event * 17 + what};
    return rng_u64(&rng);
}

static int64_t start_of(const struct made *made, uint32_t lane, uint32_t event)
{
    return (int64_t)(number_of(made, lane, event, 0) % 1000000);
}

static uint32_t args_of(const struct made *made, uint32_t lane, uint32_t event, struct arg *args)
{
    uint32_t count = (uint32_t)(number_of(made, lane, event, 1) % 4);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = number_of(made, lane, event, 2 + i);
        bool is_string = value & 1;
        arg_put(&args[i], made->keys[value / 2 % KEYS], is_string ? ARG_STRING : ARG_UINT, 0,
                is_string ? made->keys[value / 64 % KEYS] : value / 64);
    }
    return count;
}

static bool push_lane(void *context, const struct part *part, struct error *err)
{
    struct made *made = context;
    uint32_t lane = (uint32_t)part->number;
    if (lane == made->fails_at)
        return error_set(err, "lane %u is damaged", lane);
    struct batch batch;
    batch_init(&batch);
    batch.track = made->lanes[lane];
    batch.sequence = part->sequence;
    batch.last = part->is_last;
    batch.count = LANE_EVENTS;
    for (uint32_t i = 0; i < LANE_EVENTS; i++) {
        struct arg args[4];
        uint32_t count = args_of(made, lane, i, args);
        batch.start_ps[i] = start_of(made, lane, i);
        batch.duration_ps[i] = i;
        batch.type[i] = (uint32_t)(number_of(made, lane, i, 9) % TYPES);
        for (uint32_t k = 0; k < count; k++)
            if (!part->sink->wanted || part->sink->wanted[args[k].key])
                *array_push(&batch.args) = args[k];
        batch.arg_end[i] = (uint32_t)batch.args.count;
    }
    bool ok = part->sink->batch(part->sink, &batch, part->worker, err);
    batch_free(&batch);
    return ok;
}

static bool made_read(struct source *base, struct sink *sink, struct pool *pool, struct error *err)
{
    return parts_read(base, LANES, push_lane, base, sink, pool, err);
}

static void made_close(struct source *base)
{
    struct made *made = (struct made *)base;
    catalog_free(&base->catalog);
    made->closed++;
}

struct shape {
    const char *machine;
    int64_t process, first_thread, start_ns, stop_ns;
};

static void name(struct catalog *catalog, const char *format, uint64_t number, uint32_t *string)
{
    char text[64];
    snprintf(text, sizeof text, format, (unsigned)number);
    *string = catalog_string(catalog, text_of(text));
}

/* The same names come in another order in each source, so that their numbers differ. */
static void make(struct made *made, uint64_t seed, const struct shape *shape)
{
    *made = (struct made){.seed = seed, .fails_at = LANES};
    struct catalog *catalog = &made->source.catalog;
    made->source.read = made_read;
    made->source.close = made_close;
    catalog_init(catalog);
    catalog->format = seed % 2 ? "odd" : "even";
    catalog->start_epoch_ns = shape->start_ns;
    catalog->stop_epoch_ns = shape->stop_ns;
    for (uint32_t i = 0; i < KEYS; i++)
        name(catalog, "key %u", (i * 3 + seed) % KEYS, &made->keys[i]);
    struct host host = {.start_epoch_ns = shape->start_ns, .stop_epoch_ns = shape->stop_ns};
    host.name = catalog_string(catalog, text_of(shape->machine));
    name(catalog, "file %u", seed, &host.file);
    *array_push(&catalog->hosts) = host;
    uint32_t instance = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, 0, host.name);
    uint32_t process = catalog_group(catalog, instance, TRACK_PROCESS, shape->process, STRING_NONE);
    uint32_t source = catalog_group(catalog, process, TRACK_SOURCE, 0, made->keys[0]);
    catalog->tracks.items[source].source = SOURCE_HOST;
    for (uint32_t i = 0; i < LANES; i++) {
        struct track *lane = catalog_add_track(catalog, source, TRACK_LANE);
        lane->id = shape->first_thread + i;
        lane->events = LANE_EVENTS;
        lane->name = made->keys[i];
        made->lanes[i] = (uint32_t)(lane - catalog->tracks.items);
    }
    for (uint32_t i = 1; i < TYPES; i++) {
        struct event_type *type = array_push(&catalog->types);
        *type = (struct event_type){.source = source, .id = i};
        name(catalog, "type %u", seed * 100 + i, &type->name);
        struct arg arg = {.key = made->keys[i], .type = ARG_STRING, .string = made->keys[i - 1]};
        type->args = catalog_keep_args(catalog, &arg, 1);
    }
}

/* What a merged source pushes, held against the parts it was made of. */
struct check {
    struct sink sink;
    struct made *parts;
    size_t count;
    const struct catalog *catalog;
    pthread_mutex_t lock;
    unsigned begun, canceled;
    uint64_t events, args, dropped;
    bool sequences[64];
    uint8_t *wanted;
    const char *only; /* the key that is wanted, NULL: all are */
};

static bool check_begin(struct sink *sink, const struct catalog *catalog, unsigned workers,
                        struct error *err)
{
    (void)workers, (void)err;
    struct check *check = (struct check *)sink;
    check->begun++;
    if (check->only) {
        check->wanted = calloc(catalog->strings.by_id.count, 1);
        check->wanted[intern_find(&catalog->strings, text_of(check->only))] = 1;
        sink->wanted = check->wanted;
    }
    return true;
}

/* Lanes are in the order of parts: it finds the lane with its number among all. */
static void find_lane(const struct check *check, uint32_t track, uint32_t *part, uint32_t *lane)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < track; i++)
        number += check->catalog->tracks.items[i].level == TRACK_LANE;
    *part = number / LANES;
    *lane = number % LANES;
}

static void check_args(struct check *check, const struct made *made, const struct arg *expected,
                       uint32_t count, struct arg_list found)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct text key = catalog_text(&made->source.catalog, expected[i].key);
        if (check->only && !text_equal(key, text_of(check->only))) {
            check->dropped++;
            continue;
        }
        assert_true(at < found.count);
        const struct arg *arg = &found.items[at++];
        assert_string_equal(catalog_text(check->catalog, arg->key).data, key.data);
        assert_int_equal(arg->type, expected[i].type);
        if (arg->type == ARG_STRING)
            assert_string_equal(catalog_text(check->catalog, arg->string).data,
                                catalog_text(&made->source.catalog, expected[i].string).data);
        else
            assert_int_equal(arg->uinteger, expected[i].uinteger);
        check->args++;
    }
    assert_int_equal(at, found.count);
}

static bool check_batch(struct sink *sink, const struct batch *batch, unsigned worker,
                        struct error *err)
{
    (void)worker, (void)err;
    struct check *check = (struct check *)sink;
    uint32_t part, lane;
    pthread_mutex_lock(&check->lock);
    find_lane(check, batch->track, &part, &lane);
    const struct made *made = &check->parts[part];
    int64_t start_ns = made->source.catalog.start_epoch_ns;
    int64_t shift =
        start_ns == TIME_UNSET ? 0 : (start_ns - check->catalog->start_epoch_ns) * PS_PER_NS;
    assert_true(batch->sequence < COUNT_OF(check->sequences));
    assert_false(check->sequences[batch->sequence]);
    check->sequences[batch->sequence] = batch->last;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct arg args[4];
        uint32_t count = args_of(made, lane, (uint32_t)batch->first + i, args);
        uint32_t type = (uint32_t)(number_of(made, lane, i, 9) % TYPES);
        assert_int_equal(batch->start_ps[i], start_of(made, lane, i) + shift);
        assert_int_equal(batch->duration_ps[i], i);
        assert_string_equal(catalog_type_label(check->catalog, batch->type[i]).data,
                            catalog_type_label(&made->source.catalog, type).data);
        check_args(check, made, args, count, batch_args(batch, i));
        check->events++;
    }
    pthread_mutex_unlock(&check->lock);
    return true;
}

static void check_cancel(struct sink *sink)
{
    ((struct check *)sink)->canceled++;
}

static struct source *merge(struct made *parts, size_t count)
{
    source_list list = {0};
    for (size_t i = 0; i < count; i++)
        *array_push(&list) = &parts[i].source;
    struct source *source = merged_open(&list);
    assert_int_equal(list.count, 0);
    return source;
}

static struct check check_of(struct made *parts, size_t count, const struct source *source)
{
    return (struct check){.sink = {check_begin, check_batch, check_cancel, NULL, 1},
                          .parts = parts,
                          .count = count,
                          .catalog = &source->catalog,
                          .lock = PTHREAD_MUTEX_INITIALIZER};
}

TEST(every_event_of_each_part_is_there_once_with_its_args)
{
    struct rng rng = {11};
    struct pool *pool = pool_create(4);
    for (unsigned round = 0; round < 40; round++) {
        struct made parts[3];
        size_t count = 2 + rng_below(&rng, 2);
        for (size_t i = 0; i < count; i++) {
            struct shape shape = {.machine = rng_below(&rng, 2) ? "a" : "b",
                                  .process = (int64_t)rng_below(&rng, 3),
                                  .first_thread = (int64_t)rng_below(&rng, 9) + 1,
                                  .start_ns = rng_below(&rng, 4)
                                                  ? 1000000 + (int64_t)rng_below(&rng, 5000)
                                                  : TIME_UNSET,
                                  .stop_ns = TIME_UNSET};
            make(&parts[i], round * 10 + i, &shape);
        }
        struct source *source = merge(parts, count);
        for (unsigned time = 0; time < 3; time++) { /* it can be read again */
            struct error err;
            struct check check = check_of(parts, count, source);
            check.only = time == 2 ? "key 3" : NULL;
            check.sink.together = 1 + time;
            assert_true(source_read(source, &check.sink, pool, &err));
            assert_int_equal(check.begun, 1);
            assert_int_equal(check.canceled, 0);
            assert_int_equal(check.events, count * LANES * LANE_EVENTS);
            assert_int_equal(source->parts_done, check.events);
            assert_int_equal(source->parts, check.events);
            assert_true(check.args > 0 && (check.dropped > 0) == (time == 2));
            size_t sequences = 0; /* without gaps */
            while (sequences < COUNT_OF(check.sequences) && check.sequences[sequences])
                sequences++;
            size_t expected = count * ((LANES + time) / (1 + time));
            assert_int_equal(sequences, expected);
            free(check.wanted);
        }
        source_close(source);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(parts[i].closed, 1);
    }
    pool_destroy(pool);
}

TEST(the_failure_of_a_part_is_the_failure_of_the_whole)
{
    struct made parts[2];
    struct error err;
    struct pool *pool = pool_create(2);
    make(&parts[0], 1, &(struct shape){"a", 1, 1, 0, 0});
    make(&parts[1], 2, &(struct shape){"a", 2, 50, 0, 0});
    parts[1].fails_at = 2;
    struct source *source = merge(parts, 2);
    struct check check = check_of(parts, 2, source);
    assert_false(source_read(source, &check.sink, pool, &err));
    assert_string_equal(err.text, "lane 2 is damaged");
    assert_true(check.canceled > 0);
    source_close(source);
    pool_destroy(pool);
}

static size_t count_of(const struct catalog *catalog, enum track_level level)
{
    size_t count = 0;
    const struct track *track;
    array_each (track, &catalog->tracks)
        count += track->level == level;
    return count;
}

static void expect_tracks(const struct shape *first, const struct shape *second, size_t machines,
                          size_t processes)
{
    struct made parts[2];
    make(&parts[0], 1, first);
    make(&parts[1], 2, second);
    struct source *source = merge(parts, 2);
    const struct catalog *catalog = &source->catalog;
    assert_string_equal(catalog->format, "odd+even");
    assert_int_equal(count_of(catalog, TRACK_INSTANCE), machines);
    assert_int_equal(count_of(catalog, TRACK_PROCESS), processes);
    assert_int_equal(count_of(catalog, TRACK_SOURCE), 2);
    assert_int_equal(count_of(catalog, TRACK_LANE), 2 * LANES);
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        assert_true(track->level == TRACK_INSTANCE || track->parent < i);
        assert_true(track->level == TRACK_INSTANCE ||
                    catalog->tracks.items[track->parent].level + 1 == track->level);
    }
    source_close(source);
}

TEST(machines_are_told_by_name_and_processes_by_id_or_by_their_threads)
{
    struct shape known = {"a", 70, 100, 0, 0};
    expect_tracks(&known, &(struct shape){"a", 70, 900, 0, 0}, 1, 1);
    expect_tracks(&known, &(struct shape){"a", 71, 100, 0, 0}, 1, 2);
    expect_tracks(&known, &(struct shape){"a", 0, 102, 0, 0}, 1, 1);
    expect_tracks(&known, &(struct shape){"a", 0, 900, 0, 0}, 1, 2);
    expect_tracks(&known, &(struct shape){"b", 0, 102, 0, 0}, 2, 2);
    expect_tracks(&known, &(struct shape){"rank 0", 70, 102, 0, 0}, 1, 1);
    expect_tracks(&known, &(struct shape){"rank 0", 70, 900, 0, 0}, 2, 2);
}

TEST(processes_that_both_have_devices_stay_apart)
{
    struct made parts[2];
    for (uint32_t i = 0; i < 2; i++) {
        make(&parts[i], i, &(struct shape){"a", 70, 100, 0, 0});
        struct track *source = catalog_add_track(&parts[i].source.catalog, 1, TRACK_SOURCE);
        source->source = SOURCE_DEVICE;
    }
    struct source *source = merge(parts, 2);
    assert_int_equal(count_of(&source->catalog, TRACK_INSTANCE), 1);
    assert_int_equal(count_of(&source->catalog, TRACK_PROCESS), 2);
    source_close(source);
}

static size_t choose(struct made *first, struct made *second)
{
    source_list list = {0};
    *array_push(&list) = &first->source;
    *array_push(&list) = &second->source;
    merged_leave_out(&list);
    size_t count = list.count;
    source_close(merged_open(&list));
    return count;
}

TEST(what_is_of_another_time_or_there_already_is_left_out)
{
    static const int64_t hour = 3600000000000, day = 24 * hour, at = 20000 * day;
    static const struct {
        const char *machine;
        int64_t start_ns, stop_ns;
        size_t kept;
    } cases[] = {
        {"a", at + 5, at + 9, 2},
        {"a", at + hour, at + 2 * hour, 2},
        {"a", at + day, at + day + 9, 1},
        {"a", at - day, at - day + 9, 1},
        {"a", at - day, at + day, 2},
        {"a", TIME_UNSET, TIME_UNSET, 2},
        {"a", at, at + 10, 1},
        {"b", at, at + 10, 2},
        {"a", at, at + 11, 2},
        {"a", INT64_MIN + 1, INT64_MIN + 1, 1},
        {"a", INT64_MAX, INT64_MAX, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made first, second;
        make(&first, 1, &(struct shape){"a", 1, 1, at, at + 10});
        make(&second, 2,
             &(struct shape){cases[i].machine, 1, 1, cases[i].start_ns, cases[i].stop_ns});
        assert_int_equal(choose(&first, &second), cases[i].kept);
        assert_int_equal(first.closed + second.closed, 2);
    }
}

TEST(a_part_without_a_time_starts_with_the_others_and_says_so)
{
    struct made parts[2];
    make(&parts[0], 1, &(struct shape){"a", 1, 1, TIME_UNSET, TIME_UNSET});
    make(&parts[1], 2, &(struct shape){"a", 2, 50, 77, 99});
    struct source *source = merge(parts, 2);
    assert_int_equal(source->catalog.start_epoch_ns, 77);
    assert_int_equal(source->catalog.stop_epoch_ns, 99);
    assert_int_equal(source->catalog.messages.count, 1);
    assert_int_equal(source->catalog.messages.items[0].host, 0);
    source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_of_each_part_is_there_once_with_its_args),
        cmocka_unit_test(the_failure_of_a_part_is_the_failure_of_the_whole),
        cmocka_unit_test(machines_are_told_by_name_and_processes_by_id_or_by_their_threads),
        cmocka_unit_test(processes_that_both_have_devices_stay_apart),
        cmocka_unit_test(what_is_of_another_time_or_there_already_is_left_out),
        cmocka_unit_test(a_part_without_a_time_starts_with_the_others_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The Chrome trace importer: guarantees to sinks, for any number of workers and parts in flight,
 * and files that change while being read.
 */
#include "import/chrome/chrome_passes.h"

#include "support.h"

#include <stdatomic.h>

/* A trace of many threads, counters and pairs, large enough for many chunks. */
static void make_trace(struct output *out, size_t events)
{
    struct rng rng = {7};
    output_memory(out);
    output_text(out, "{\"traceEvents\": [\n");
    for (size_t i = 0; i < events; i++) {
        static const char phases[] = "XXXXXXXBEiCstf";
        char phase = phases[rng_below(&rng, sizeof phases - 1)];
        output_format(out,
                      "%s{\"ph\": \"%c\", \"name\": \"event %zu\", \"cat\": \"%s\", \"pid\": %zu, "
                      "\"tid\": %zu, \"ts\": %zu.%03zu, \"dur\": %zu, \"id\": %zu, \"args\": "
                      "{\"number\": %zu, \"text\": \"a\\u00e9\", \"list\": [1, {\"a\": [2]}]}}",
                      i ? ",\n" : "", phase, rng_below(&rng, 40),
                      rng_below(&rng, 2) ? "cpu_op" : "other", rng_below(&rng, 3),
                      rng_below(&rng, 9), 5000 + i, rng_below(&rng, 1000), rng_below(&rng, 50),
                      rng_below(&rng, 20), i);
    }
    output_text(out, "\n], \"traceName\": \"made\"}");
}

/* Checks what sinks rely on. */
struct checker {
    struct sink sink;
    const struct catalog *catalog;
    pthread_mutex_t lock;
    uint64_t *seen;          /* events by track */
    bool *covered;           /* by number of an event over all tracks */
    uint64_t *first;         /* by track: the number of its first event */
    uint64_t total, largest; /* events, and the largest sequence number */
    struct {
        unsigned worker;
        bool begun, ended;
    } sequences[4096];
    uint64_t digest; /* of all events, in any order */
};

static bool check_begin(struct sink *sink, const struct catalog *catalog, unsigned workers,
                        struct error *err)
{
    (void)workers, (void)err;
    struct checker *checker = (struct checker *)sink;
    size_t tracks = catalog->tracks.count;
    checker->catalog = catalog;
    checker->seen = calloc(tracks, sizeof *checker->seen);
    checker->first = calloc(tracks, sizeof *checker->first);
    for (size_t i = 0; i < tracks; i++) {
        checker->first[i] = checker->total;
        checker->total += catalog->tracks.items[i].events;
    }
    checker->covered = calloc(checker->total + 1, sizeof *checker->covered);
    return true;
}

static uint64_t digest_event(const struct batch *batch, uint32_t i)
{
    uint64_t facts[5] = {batch->track, batch->first + i, (uint64_t)batch->start_ps[i],
                         (uint64_t)batch->duration_ps[i], batch->type[i]};
    uint64_t digest = hash_content(facts, sizeof facts, 0);
    struct arg_list args = batch_args(batch, i);
    for (uint32_t k = 0; k < args.count; k++) {
        const struct arg *arg = &args.items[k];
        bool has_data = arg->type == ARG_TEXT || arg->type == ARG_JSON;
        uint64_t value = has_data ? hash_content(arg->data, arg->size, 1) : arg->uinteger;
        digest = hash_content(&value, sizeof value, digest + arg->key + arg->type);
    }
    return digest;
}

static bool check_batch(struct sink *sink, const struct batch *batch, unsigned worker,
                        struct error *err)
{
    (void)err;
    struct checker *checker = (struct checker *)sink;
    pthread_mutex_lock(&checker->lock);
    const struct track *track = &checker->catalog->tracks.items[batch->track];
    assert_int_equal(track->level, TRACK_LANE);
    assert_int_equal(batch->has_values, track->lane == LANE_COUNTER);
    assert_in_range(batch->count, 1, BATCH_EVENTS);
    assert_true(batch->first + batch->count <= track->events);
    assert_true(batch->sequence < COUNT_OF(checker->sequences));
    assert_false(checker->sequences[batch->sequence].ended);
    if (checker->sequences[batch->sequence].begun)
        assert_int_equal(checker->sequences[batch->sequence].worker, worker);
    checker->sequences[batch->sequence].begun = true;
    checker->sequences[batch->sequence].worker = worker;
    checker->sequences[batch->sequence].ended = batch->last;
    checker->largest = batch->sequence > checker->largest ? batch->sequence : checker->largest;
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t number = checker->first[batch->track] + batch->first + i;
        assert_false(checker->covered[number]);
        checker->covered[number] = true;
        assert_true(batch->type[i] < checker->catalog->types.count);
        checker->digest += digest_event(batch, i);
    }
    pthread_mutex_unlock(&checker->lock);
    return true;
}

/* Reads the source once and returns a digest of all events. */
static uint64_t check_read(struct source *source, unsigned workers, unsigned together)
{
    struct checker *checker = calloc(1, sizeof *checker);
    checker->sink = (struct sink){.begin = check_begin, .batch = check_batch, .together = together};
    pthread_mutex_init(&checker->lock, NULL);
    struct pool *pool = pool_create(workers);
    struct error err;
    assert_true(source_read(source, &checker->sink, pool, &err));
    for (uint64_t i = 0; i < checker->total; i++)
        assert_true(checker->covered[i]);
    for (uint64_t i = 0; i <= checker->largest; i++)
        assert_true(checker->sequences[i].ended);
    uint64_t digest = checker->digest;
    pool_destroy(pool);
    pthread_mutex_destroy(&checker->lock);
    free(checker->seen);
    free(checker->first);
    free(checker->covered);
    free(checker);
    return digest;
}

static struct source *import(struct text text, unsigned workers)
{
    struct pool *pool = pool_create(workers);
    struct source *source = NULL;
    struct error err;
    bool ok =
        import_chrome_bytes("test", (const uint8_t *)text.data, text.size, pool, &source, &err);
    pool_destroy(pool);
    return ok ? source : NULL;
}

TEST(batches_keep_the_contract_however_the_source_is_read)
{
    struct output text;
    make_trace(&text, 3000);
    uint64_t digest = 0;
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        struct source *source = import((struct text){text.data, text.size}, workers);
        assert_non_null(source);
        const struct chrome_source *chrome = (const struct chrome_source *)source;
        assert_true(chrome->chunks.count > 30);
        for (unsigned together = 0; together <= 32; together += 1 + together * 3) {
            uint64_t found = check_read(source, 1 + together % 4, together);
            assert_true(digest == 0 || digest == found);
            digest = found;
        }
        source_close(source);
    }
    output_discard(&text);
}

/* A sink that fails after some batches. */
struct failing {
    struct sink sink;
    atomic_int left;
    atomic_bool canceled;
};

static bool fail_batch(struct sink *sink, const struct batch *batch, unsigned worker,
                       struct error *err)
{
    (void)batch, (void)worker;
    struct failing *failing = (struct failing *)sink;
    return atomic_fetch_sub(&failing->left, 1) > 0 || error_set(err, "enough");
}

static void note_cancel(struct sink *sink)
{
    atomic_store(&((struct failing *)sink)->canceled, true);
}

TEST(a_sink_that_fails_ends_the_reading)
{
    struct output text;
    make_trace(&text, 2000);
    struct source *source = import((struct text){text.data, text.size}, 2);
    struct failing failing = {.sink = {.batch = fail_batch, .cancel = note_cancel}, .left = 20};
    struct pool *pool = pool_create(3);
    struct error err;
    assert_false(source_read(source, &failing.sink, pool, &err));
    assert_string_equal(err.text, "enough");
    assert_true(atomic_load(&failing.canceled));
    pool_destroy(pool);
    source_close(source);
    output_discard(&text);
}

TEST(a_file_that_changes_between_the_passes_does_no_harm)
{
    struct rng rng = {3};
    struct output text;
    make_trace(&text, 120);
    struct pool *pool = pool_create(1);
    size_t refused = 0;
    for (int round = 0; round < 1500; round++) {
        char *data = exact_copy(text.data, text.size);
        struct source *source = import((struct text){data, text.size}, 1);
        struct error err;
        assert_non_null(source);
        for (size_t i = rng_below(&rng, 4); i < 4; i++) {
            size_t at = rng_below(&rng, text.size), from = rng_below(&rng, text.size);
            size_t size = rng_below(&rng, 2) ? 1 : rng_below(&rng, 200);
            size_t room = text.size - (at > from ? at : from);
            memmove(data + at, data + from, size < room ? size : room);
        }
        refused += !source_read(source, &sink_discard, pool, &err);
        source_close(source);
        free(data);
    }
    assert_true(refused > 500); /* not all changes are detectable */
    pool_destroy(pool);
    output_discard(&text);
}

static int64_t picoseconds(const char *text, int64_t from_us)
{
    struct json_reader in = json_read(text_of(text));
    struct json_number number;
    int64_t ps;
    assert_true(json_read_number(&in, &number));
    assert_true(chrome_picoseconds(&number, from_us, &ps));
    return ps;
}

TEST(times_are_exact_to_the_picosecond)
{
    assert_int_equal(picoseconds("0", 0), 0);
    assert_int_equal(picoseconds("1", 0), 1000000);
    assert_int_equal(picoseconds("-1.5", 0), -1500000);
    assert_int_equal(picoseconds("0.000001", 0), 1);
    assert_int_equal(picoseconds("0.0000005", 0), 1);
    assert_int_equal(picoseconds("0.00000049999999999999999999999999999", 0), 0);
    assert_int_equal(picoseconds("4.5439999999999996", 0), 4544000);
    assert_int_equal(picoseconds("3844027233438.733", 3844027233438), 733000);
    assert_int_equal(picoseconds("1661938466265032.123456", 1661938466265032), 123456);
    assert_int_equal(picoseconds("1661938466265032.1234565", 1661938466265032), 123457);
    assert_int_equal(picoseconds("1661938466265032.123456499999999999999999", 1661938466265032),
                     123456);
    assert_int_equal(picoseconds("1.661938466265032123456e15", 1661938466265032), 123456);
    assert_int_equal(picoseconds("12e-1", 1), 200000);
    assert_int_equal(picoseconds("1e-60", 0), 0);
    assert_int_equal(picoseconds("4611686018427.387904", 0), (int64_t)1 << 62);
}

TEST(times_too_far_away_stop_at_the_end)
{
    static const char *const far[] = {"4611686018427.387905", "1e30", "9e99999",
                                      "18446744073709551615",
                                      "99999999999999999999999999999999999999999999"};
    for (size_t i = 0; i < COUNT_OF(far); i++) {
        struct json_reader in = json_read(text_of(far[i]));
        struct json_number number;
        int64_t ps;
        assert_true(json_read_number(&in, &number));
        assert_false(chrome_picoseconds(&number, 0, &ps));
        assert_int_equal(ps, (int64_t)1 << 62);
        number.is_negative = true;
        assert_false(chrome_picoseconds(&number, 0, &ps));
        assert_int_equal(ps, -((int64_t)1 << 62));
    }
}

/* Where a byte-by-byte scan would end each chunk. */
static size_t next_cut(const char *text, size_t at, size_t size, size_t target, bool *at_end)
{
    int64_t depth = 0;
    bool in_string = false, is_escaped = false;
    *at_end = false;
    for (size_t i = at; i < size; i++) {
        char c = text[i];
        in_string ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        if (in_string)
            continue;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (depth < 0) {
            *at_end = true;
            return i;
        }
        if (depth == 0 && (c == '}' || c == ']') && i >= target)
            return i + 1;
    }
    return size;
}

TEST(chunks_end_where_a_look_at_every_byte_ends_them)
{
    static const char alphabet[] = "{}[]\"\"\\\\,: ab\n";
    struct rng rng = {11};
    for (int round = 0; round < 3000; round++) {
        enum { LONGEST = 14000 };
        char text[LONGEST];
        size_t size = 1 + rng_below(&rng, LONGEST - 1);
        text[0] = '[';
        for (size_t i = 1; i < size; i++)
            text[i] = rng_below(&rng, 30) ? alphabet[2 * rng_below(&rng, 2) + rng_below(&rng, 12)]
                                          : alphabet[rng_below(&rng, sizeof alphabet - 1)];
        struct json_file file = {.data = text, .size = size};
        struct chrome_cutter cutter;
        struct chrome_chunk chunk;
        chrome_cutter_init(&cutter, &file);
        size_t at = 1;
        bool at_end = false;
        while (!at_end && at < size) {
            size_t target = at + cutter.chunk_size < size ? at + cutter.chunk_size : size;
            size_t end = next_cut(text, at, size, target, &at_end);
            assert_true(chrome_cut(&cutter, &chunk));
            assert_int_equal(chunk.data - text, at);
            assert_int_equal(chunk.size, end - at);
            at = end;
        }
        chrome_cutter_free(&cutter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_keep_the_contract_however_the_source_is_read),
        cmocka_unit_test(a_sink_that_fails_ends_the_reading),
        cmocka_unit_test(a_file_that_changes_between_the_passes_does_no_harm),
        cmocka_unit_test(times_are_exact_to_the_picosecond),
        cmocka_unit_test(times_too_far_away_stop_at_the_end),
        cmocka_unit_test(chunks_end_where_a_look_at_every_byte_ends_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

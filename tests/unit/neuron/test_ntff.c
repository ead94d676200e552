/*
 * NTFF: notifications come back as they were pushed; a file that was cut anywhere gives the whole
 * blocks before the cut; damage is found.
 */
#include "neuron/profile_file/format.h"
#include "neuron/profile_file/ntff.h"
#include "support.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const struct ntff_header header = {.neff_uuid = {1, 2, 3},
                                          .neff_name = "gpt",
                                          .instance_type = "trn2.48xlarge",
                                          .instance_id = "i-0123",
                                          .core_version = 3,
                                          .device_index = 4,
                                          .core_index = 5,
                                          .logical_core = 6,
                                          .core_in_logical = 1,
                                          .rank = 7,
                                          .rank_count = 8,
                                          .ticks_per_us = 4800,
                                          .process_id = 9,
                                          .is_simulation = true,
                                          .dge_notifications = true};

static void assert_same(const struct notification *a, const struct notification *b)
{
    assert_int_equal(a->time, b->time);
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->value, b->value);
    assert_int_equal(a->detail, b->detail);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->unit, b->unit);
}

static struct notification any_notification(struct rng *rng)
{
    return (struct notification){.time = rng_any_width(rng),
                                 .id = (uint32_t)rng_any_width(rng),
                                 .value = (uint32_t)rng_any_width(rng),
                                 .detail = (uint32_t)rng_any_width(rng),
                                 .type = (uint8_t)rng_below(rng, NOTIFICATION_TYPES),
                                 .phase = (uint8_t)rng_below(rng, NTFF_PHASES),
                                 .unit = (uint8_t)rng_below(rng, 3)};
}

/* Instructions one after the other, as an engine runs them. */
static void run_engine(struct notification *items, size_t count, uint8_t unit, struct rng *rng)
{
    uint64_t time = 0;
    for (size_t i = 0; i < count; i++) {
        time += 64 + rng_below(rng, 512);
        items[i] = (struct notification){.time = time,
                                         .id = (uint32_t)(i / 2),
                                         .value = i % 2 ? 0 : (uint32_t)rng_below(rng, 256),
                                         .type = NOTIFICATION_TRACE,
                                         .phase = i % 2 ? PHASE_END : PHASE_START,
                                         .unit = unit};
    }
}

static struct ntff_execution execution_of(uint32_t index)
{
    return (struct ntff_execution){.index = index,
                                   .start_ns = 1000 + index,
                                   .end_ns = 2000 + index,
                                   .start_ticks = 3000 + index,
                                   .end_ticks = UINT64_MAX - index,
                                   .status = index * 5};
}

static const struct ntff_neff other = {.uuid = {9, 8, 7}, .name = "other"};

/* Writes executions of these notifications, half of them in each, the second of another NEFF. */
static void write_two(const char *path, const struct notification *items, size_t count)
{
    struct error err;
    struct ntff_writer *writer = ntff_create(path, &header, &err);
    assert_non_null(writer);
    for (uint32_t i = 0; i < 2; i++) {
        const struct ntff_execution execution = execution_of(i);
        const struct notification *part = i && count > 0 ? items + count / 2 : items;
        size_t size = i ? count - count / 2 : count / 2;
        if (i > 0)
            ntff_use_neff(writer, &other);
        ntff_begin(writer, i);
        for (size_t at = 0, step = 1; at < size; at += step, step = step * 3 % 1009)
            ntff_push(writer, part + at, step < size - at ? step : size - at);
        ntff_end(writer, &execution);
    }
    assert_true(ntff_finish(writer, &err));
}

/* Each block has the next notifications of its execution, type and unit. Returns how many
 * notifications there are. */
static size_t compare(const struct ntff *ntff, const struct notification *items, size_t count)
{
    static struct notification block[NTFF_BLOCK_MAX];
    size_t next[2][NOTIFICATION_TYPES][3] = {0}, block_count, total = 0;
    const struct ntff_block *blocks = ntff_blocks(ntff, &block_count);
    for (size_t i = 0; i < block_count; i++) {
        struct error err;
        uint64_t first = UINT64_MAX, last = 0;
        assert_true(ntff_read_block(ntff, i, block, &err));
        size_t *at = &next[blocks[i].execution][blocks[i].type][blocks[i].unit];
        size_t end = blocks[i].execution ? count : count / 2;
        assert_int_equal(blocks[i].neff, blocks[i].execution);
        if (*at == 0 && blocks[i].execution)
            *at = count / 2;
        for (uint32_t k = 0; k < blocks[i].count; k++) {
            while (*at < end &&
                   (items[*at].type != blocks[i].type || items[*at].unit != blocks[i].unit))
                ++*at;
            assert_true(*at < end);
            assert_same(&items[(*at)++], &block[k]);
            first = block[k].time < first ? block[k].time : first;
            last = block[k].time > last ? block[k].time : last;
        }
        assert_int_equal(first, blocks[i].first_time);
        assert_int_equal(last, blocks[i].last_time);
        total += blocks[i].count;
    }
    return total;
}

TEST(notifications_come_back_as_they_were_pushed)
{
    enum { COUNT = 50000 };
    struct rng rng = {1};
    struct notification *items = malloc(COUNT * sizeof *items);
    struct scratch_name name = scratch_name(state, "a.ntff");
    struct error err;
    size_t executions;
    for (size_t i = 0; i < COUNT; i++)
        items[i] = any_notification(&rng);
    write_two(name.path, items, COUNT);
    struct ntff *ntff = ntff_open(name.path, &err);
    assert_non_null(ntff);
    assert_false(ntff_is_partial(ntff));
    struct ntff_header expected = header;
    expected.version = NTFF_VERSION;
    assert_memory_equal(ntff_header(ntff), &expected, sizeof expected);
    const struct ntff_execution *list = ntff_executions(ntff, &executions);
    assert_int_equal(executions, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct ntff_execution execution = execution_of(i);
        assert_int_equal(list[i].index, execution.index);
        assert_int_equal(list[i].start_ns, execution.start_ns);
        assert_int_equal(list[i].end_ns, execution.end_ns);
        assert_int_equal(list[i].start_ticks, execution.start_ticks);
        assert_int_equal(list[i].end_ticks, execution.end_ticks);
        assert_int_equal(list[i].status, execution.status);
        assert_int_equal(list[i].neff, i);
    }
    const struct ntff_neff *neffs = ntff_neffs(ntff, &executions);
    assert_int_equal(executions, 2);
    assert_memory_equal(neffs[0].uuid, header.neff_uuid, sizeof neffs->uuid);
    assert_string_equal(neffs[0].name, header.neff_name);
    assert_memory_equal(&neffs[1], &other, sizeof other);
    assert_int_equal(compare(ntff, items, COUNT), COUNT);
    ntff_close(ntff);
    free(items);
}

/* The format is that of the committed sample. With KYMO_WRITE_SAMPLES set, the sample is written.
 */
TEST(the_format_is_that_of_the_sample)
{
    enum { COUNT = 600 };
    static const char path[] = KYMO_TEST_DATA "/ntff/model.ntff";
    struct rng rng = {7};
    struct notification items[COUNT];
    struct scratch_name name = scratch_name(state, "a.ntff");
    size_t size, expected_size;
    run_engine(items, COUNT / 2, 1, &rng);
    for (size_t i = COUNT / 2; i < COUNT; i++) {
        items[i] = items[i - COUNT / 2];
        items[i].type = (uint8_t)(i % NOTIFICATION_TYPES);
        items[i].unit = i % 2;
    }
    write_two(name.path, items, COUNT);
    if (getenv("KYMO_WRITE_SAMPLES"))
        write_two(path, items, COUNT);
    char *bytes = read_whole_file(name.path, &size),
         *expected = read_whole_file(path, &expected_size);
    assert_int_equal(size, expected_size);
    assert_memory_equal(bytes, expected, size);
    free(bytes);
    free(expected);
}

/* NEFFs are written once, and their number is the one they had. */
TEST(a_neff_that_is_used_again_is_the_same)
{
    static const uint32_t used[] = {0, 1, 2, 1, 0, 2};
    struct ntff_neff neffs[3] = {[1] = other, [2] = other};
    struct scratch_name name = scratch_name(state, "a.ntff");
    struct error err;
    size_t count;
    memcpy(neffs[0].uuid, header.neff_uuid, sizeof neffs[0].uuid);
    memcpy(neffs[0].name, header.neff_name, sizeof neffs[0].name);
    neffs[2].uuid[15] = 1;
    struct ntff_writer *writer = ntff_create(name.path, &header, &err);
    for (uint32_t i = 0; i < sizeof used / sizeof *used; i++) {
        const struct ntff_execution execution = execution_of(i + 1);
        ntff_use_neff(writer, &neffs[used[i]]);
        ntff_begin(writer, i + 1);
        ntff_end(writer, &execution);
    }
    assert_true(ntff_finish(writer, &err));
    struct ntff *ntff = ntff_open(name.path, &err);
    assert_non_null(ntff);
    const struct ntff_neff *found = ntff_neffs(ntff, &count);
    assert_int_equal(count, 3);
    assert_memory_equal(found, neffs, sizeof neffs);
    const struct ntff_execution *executions = ntff_executions(ntff, &count);
    assert_int_equal(count, sizeof used / sizeof *used);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(executions[i].neff, used[i]);
    ntff_close(ntff);
}

TEST(instructions_take_less_than_five_bytes)
{
    enum { COUNT = 100000 };
    struct rng rng = {2};
    struct notification *items = malloc(COUNT * sizeof *items);
    struct scratch_name name = scratch_name(state, "a.ntff");
    size_t size;
    run_engine(items, COUNT, 0, &rng);
    write_two(name.path, items, COUNT);
    free(read_whole_file(name.path, &size));
    assert_true(size < COUNT * 3);
    free(items);
}

/* A file in memory, with a path: thousands of changes to it take no time. */
static int memory_file(char path[static 64])
{
    int fd = memfd_create("ntff", MFD_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* Files whose writer was killed: everything up to the last whole frame is there. */
TEST(a_file_cut_anywhere_gives_its_whole_blocks)
{
    enum { COUNT = 700 };
    struct rng rng = {3};
    struct notification items[COUNT];
    struct error err;
    char path[64];
    int fd = memory_file(path);
    for (size_t i = 0; i < COUNT; i++)
        items[i] = any_notification(&rng);
    write_two(path, items, COUNT);
    size_t left = COUNT;
    const off_t whole = lseek(fd, 0, SEEK_END);
    for (off_t size = whole - 1; size >= 0; size--) {
        assert_int_equal(ftruncate(fd, size), 0);
        struct ntff *ntff = ntff_open(path, &err);
        assert_true((ntff != NULL) == (size >= NTFF_HEADER_SIZE));
        if (!ntff)
            continue;
        assert_true(ntff_is_partial(ntff));
        size_t total = compare(ntff, items, COUNT);
        assert_true(total <= left);
        if (size == whole - 1) /* what is cut is the index: nothing is missing */
            assert_int_equal(total, COUNT);
        left = total;
        ntff_close(ntff);
    }
    assert_int_equal(left, 0);
    close(fd);
}

TEST(a_writer_that_stops_leaves_what_it_wrote)
{
    enum { COUNT = 3 * NTFF_BLOCK_MAX + 100 };
    struct rng rng = {4};
    struct notification *items = malloc(COUNT * sizeof *items);
    struct scratch_name name = scratch_name(state, "a.ntff");
    struct error err;
    size_t blocks, executions;
    run_engine(items, COUNT, 1, &rng);
    struct ntff_writer *writer = ntff_create(name.path, &header, &err);
    ntff_begin(writer, 0);
    ntff_push(writer, items, COUNT);
    struct ntff *ntff = ntff_open(name.path, &err); /* nobody ended it */
    assert_non_null(ntff);
    assert_true(ntff_is_partial(ntff));
    ntff_blocks(ntff, &blocks);
    ntff_executions(ntff, &executions);
    assert_int_equal(blocks, 3);
    assert_int_equal(executions, 0);
    ntff_close(ntff);
    assert_true(ntff_finish(writer, &err));
    free(items);
}

/* How many notifications of undamaged blocks there are. What is damaged is added to the loss. */
static size_t count_intact(const struct ntff *ntff, struct ntff_loss *loss)
{
    static struct notification read[NTFF_BLOCK_MAX];
    struct error err;
    size_t count, intact = 0;
    const struct ntff_block *blocks = ntff_blocks(ntff, &count);
    *loss = *ntff_loss(ntff);
    for (size_t i = 0; i < count; i++) {
        const struct ntff_loss block = ntff_block_loss(&blocks[i]);
        if (ntff_read_block(ntff, i, read, &err))
            intact += blocks[i].count;
        else
            ntff_loss_add(loss, &block);
    }
    return intact;
}

/* A flipped bit is in the header, or in a frame or the trailer, which alone is left out. */
TEST(damage_is_found_and_nothing_else_is_lost)
{
    enum { COUNT = 400 };
    struct rng rng = {5};
    struct notification items[COUNT];
    struct ntff_loss loss;
    struct error err;
    char path[64];
    int fd = memory_file(path);
    for (size_t i = 0; i < COUNT; i++)
        items[i] = any_notification(&rng);
    write_two(path, items, COUNT);
    size_t size = (size_t)lseek(fd, 0, SEEK_END);
    for (size_t round = 0; round < 1500; round++) {
        off_t at = (off_t)rng_below(&rng, size);
        uint8_t before, after;
        assert_int_equal(pread(fd, &before, 1, at), 1);
        after = (uint8_t)(before ^ 1u << rng_below(&rng, 8));
        assert_int_equal(pwrite(fd, &after, 1, at), 1);
        struct ntff *ntff = ntff_open(path, &err);
        assert_int_equal(ntff != NULL, at >= NTFF_HEADER_SIZE);
        if (ntff) {
            assert_false(ntff_is_partial(ntff));
            size_t intact = count_intact(ntff, &loss);
            assert_int_equal(loss.places, 1);
            assert_in_range(at, loss.offset, loss.offset + loss.bytes - 1);
            assert_int_equal(intact + loss.notifications, COUNT);
        }
        ntff_close(ntff);
        assert_int_equal(pwrite(fd, &before, 1, at), 1);
    }
    close(fd);
}

/* Where bytes are missing, the index is of no use: frames behind them are found all the same. */
TEST(what_is_behind_missing_bytes_is_found)
{
    enum { COUNT = 400 };
    struct rng rng = {7};
    struct notification items[COUNT];
    struct scratch_name name = scratch_name(state, "whole.ntff");
    struct error err;
    char path[64];
    size_t size, count;
    for (size_t i = 0; i < COUNT; i++)
        items[i] = any_notification(&rng);
    write_two(name.path, items, COUNT);
    struct ntff *whole = ntff_open(name.path, &err);
    const struct ntff_block *blocks = ntff_blocks(whole, &count);
    uint8_t *bytes = (uint8_t *)read_whole_file(name.path, &size), *cut = malloc(size);
    for (size_t round = 0; round < 300; round++) {
        int fd = memory_file(path);
        size_t from = NTFF_HEADER_SIZE + rng_below(&rng, size - NTFF_HEADER_SIZE - 2000);
        size_t to = from + 1 + rng_below(&rng, 1000), intact = 0;
        bool has_neff = true; /* its frame, which is just before the first block, is not hit */
        memcpy(cut, bytes, from);
        memcpy(cut + from, bytes + to, size - to);
        for (size_t i = 0; i < count; i++) {
            uint64_t at = blocks[i].offset; /* what moved up may be the same bytes */
            bool is_hit = at < from ? memcmp(cut + at, bytes + at, blocks[i].bytes) != 0 : at < to;
            intact += is_hit ? 0 : blocks[i].count;
            if (i + 1 < count && blocks[i].neff != blocks[i + 1].neff)
                has_neff = to <= blocks[i + 1].offset - sizeof(struct frame_neff) -
                                     sizeof(struct ntff_frame) ||
                           from >= blocks[i + 1].offset;
        }
        assert_int_equal(write(fd, cut, size - (to - from)), size - (to - from));
        struct ntff *ntff = ntff_open(path, &err);
        struct ntff_loss loss;
        assert_non_null(ntff);
        assert_false(ntff_is_partial(ntff));
        if (has_neff)
            assert_int_equal(count_intact(ntff, &loss), intact);
        else
            assert_true(count_intact(ntff, &loss) <= intact);
        size_t differs = from;
        while (cut[differs] == bytes[differs])
            differs++;
        assert_in_range(loss.offset, NTFF_HEADER_SIZE, differs);
        ntff_close(ntff);
        close(fd);
    }
    ntff_close(whole);
    free(bytes);
    free(cut);
}

/* Bytes that look like the head of a large block everywhere: each would have to be checked. */
TEST(a_file_of_heads_alone_is_searched_in_linear_time)
{
    enum { HEADS = 200000 };
    struct ntff_frame head = {
        .payload_bytes = COLUMNS_MAX_BYTES, .kind = FRAME_NOTIFICATIONS, .count = 1};
    struct scratch_name name = scratch_name(state, "heads.ntff");
    struct error err;
    write_two(name.path, NULL, 0);
    assert_int_equal(truncate(name.path, NTFF_HEADER_SIZE), 0);
    FILE *file = fopen(name.path, "ab");
    for (size_t i = 0; i < HEADS; i++)
        assert_int_equal(fwrite(&head, sizeof head, 1, file), 1);
    fclose(file);
    clock_t start = clock();
    struct ntff *ntff = ntff_open(name.path, &err);
    assert_true(clock() - start < 5 * CLOCKS_PER_SEC); /* all of them: 39 GB */
    assert_int_equal(ntff_loss(ntff)->bytes, HEADS * sizeof head);
    ntff_close(ntff);
}

/* The decoder behind the checksums. */
TEST(columns_of_any_bytes_do_no_harm)
{
    struct rng rng = {6};
    static struct notification items[NTFF_BLOCK_MAX], decoded[NTFF_BLOCK_MAX];
    static uint8_t encoded[COLUMNS_MAX_BYTES];
    for (size_t round = 0; round < 300; round++) {
        uint32_t count = 1 + (uint32_t)rng_below(&rng, round % 10 ? 300 : NTFF_BLOCK_MAX);
        for (uint32_t i = 0; i < count; i++)
            items[i] = any_notification(&rng);
        size_t size = columns_encode(items, count, encoded);
        for (int damage = 0; damage < 20; damage++) {
            size_t part = damage % 2 ? size : rng_below(&rng, size + 1);
            uint8_t *copy = exact_copy(encoded, part);
            if (damage > 0 && part > 0)
                copy[rng_below(&rng, part)] = (uint8_t)rng_u64(&rng);
            bool ok = columns_decode(copy, part, decoded, count);
            assert_true(ok || damage > 0 || part < size);
            free(copy);
        }
    }
}

TEST(the_largest_block_fits_its_buffer)
{
    static struct notification items[NTFF_BLOCK_MAX], decoded[NTFF_BLOCK_MAX];
    static uint8_t encoded[COLUMNS_MAX_BYTES];
    for (uint32_t i = 0; i < NTFF_BLOCK_MAX; i++)
        items[i] = (struct notification){.time = i % 2 ? UINT64_MAX / 2 : 0,
                                         .id = i % 2 ? UINT32_MAX : 0,
                                         .value = i % 2 ? UINT32_MAX : 0,
                                         .detail = i % 2 ? UINT32_MAX : 0,
                                         .phase = (uint8_t)(i / 2 % 3)};
    size_t size = columns_encode(items, NTFF_BLOCK_MAX, encoded);
    assert_true(columns_decode(encoded, size, decoded, NTFF_BLOCK_MAX));
    for (uint32_t i = 0; i < NTFF_BLOCK_MAX; i++)
        assert_same(&items[i], &decoded[i]);
}

TEST(writing_fails_where_it_cannot)
{
    struct error err = {0};
    assert_null(ntff_create("/nonexistent/a.ntff", &header, &err));
    assert_non_null(strstr(err.text, "cannot write"));
    struct ntff_writer *writer = ntff_create("/dev/full", &header, &err);
    assert_non_null(writer);
    assert_false(ntff_finish(writer, &err));
    assert_non_null(strstr(err.text, "cannot write"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(notifications_come_back_as_they_were_pushed),
        SCRATCH_TEST(the_format_is_that_of_the_sample),
        SCRATCH_TEST(a_neff_that_is_used_again_is_the_same),
        SCRATCH_TEST(instructions_take_less_than_five_bytes),
        cmocka_unit_test(a_file_cut_anywhere_gives_its_whole_blocks),
        SCRATCH_TEST(a_writer_that_stops_leaves_what_it_wrote),
        cmocka_unit_test(damage_is_found_and_nothing_else_is_lost),
        SCRATCH_TEST(what_is_behind_missing_bytes_is_found),
        SCRATCH_TEST(a_file_of_heads_alone_is_searched_in_linear_time),
        cmocka_unit_test(columns_of_any_bytes_do_no_harm),
        cmocka_unit_test(the_largest_block_fits_its_buffer),
        cmocka_unit_test(writing_fails_where_it_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * File-backed blocks: they keep their contents when pages are released, grow and shrink like
 * others, and leave no files behind. An analysis with everything in files equals one in memory.
 */
#include "base/memory_limit.h"
#include "base/scratch.h"
#include "export/export.h"
#include "import/import.h"

#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, ONE_PAGE = 4096, AT_ONCE_OPEN = 128 };

/* Blocks of a page or more become files in the test's folder; pages are released at every check. */
static int limit_hard(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    const struct scratch *folder = *state;
    mem_limit(&(struct mem_limits){.directory = folder->path,
                                   .large_bytes = ONE_PAGE,
                                   .plain_bytes = 0,
                                   .resident_bytes = MIB});
    return 0;
}

static int limit_no_more(void **state)
{
    mem_limit(&(struct mem_limits){
        .directory = "/nowhere", .plain_bytes = SIZE_MAX, .resident_bytes = SIZE_MAX});
    return scratch_remove(state);
}

#define LIMITED_TEST(name) cmocka_unit_test_setup_teardown(name, limit_hard, limit_no_more)

/* A byte that identifies the block and the position in it. */
static unsigned char byte_of(uint64_t seed, size_t at)
{
    return (unsigned char)((at * 0x9E3779B97F4A7C15u + seed * 0xBF58476D1CE4E5B9u) >> 56);
}

static void fill(unsigned char *block, size_t from, size_t to, uint64_t seed)
{
    for (size_t i = from; i < to; i++)
        block[i] = byte_of(seed, i);
}

static size_t wrong_bytes(const unsigned char *block, size_t size, uint64_t seed)
{
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++)
        wrong += block[i] != byte_of(seed, i);
    return wrong;
}

static size_t resident_file_bytes(void)
{
    FILE *statm = fopen("/proc/self/statm", "r");
    size_t pages, resident, of_files;
    assert_int_equal(fscanf(statm, "%zu %zu %zu", &pages, &resident, &of_files), 3);
    fclose(statm);
    return of_files * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(a_large_block_is_a_file_without_a_name_and_a_small_one_is_not)
{
    unsigned char *small = mem_alloc(ONE_PAGE - 1), *large = mem_alloc(MIB + 1);
    assert_int_equal(scratch_size(small), 0);
    assert_in_range(scratch_size(large), MIB + 1, 2 * MIB);
    assert_int_equal(scratch_entries(state), 0);
    fill(large, 0, MIB + 1, 1);
    assert_int_equal(wrong_bytes(large, MIB + 1, 1), 0);
    mem_free(small);
    mem_free(large);
    struct mapping mapping;
    assert_false(memory_limit_find(large, &mapping));
}

TEST(blocks_become_files_when_plain_memory_is_used_up)
{
    const struct scratch *folder = *state;
    struct mem_limits limits = mem_default_limits();
    limits.directory = folder->path;
    limits.plain_bytes = 4 * MIB;
    mem_limit(&limits);
    char *first = mem_alloc(3 * MIB), *second = mem_alloc(2 * MIB), *third = mem_alloc(MIB / 2);
    assert_int_equal(scratch_size(first), 0);
    assert_int_equal(scratch_size(second), 2 * MIB);
    assert_int_equal(scratch_size(third), 0);
    mem_free(first);
    char *fourth = mem_alloc(3 * MIB);
    assert_int_equal(scratch_size(fourth), 0);
    mem_free(second);
    mem_free(third);
    mem_free(fourth);
}

TEST(a_zeroed_file_is_zero_even_where_another_was_before)
{
    for (unsigned round = 0; round < 4; round++) {
        unsigned char *block = mem_zeroed(1000, 777);
        size_t sum = 0;
        for (size_t i = 0; i < 777000; i++)
            sum += block[i];
        assert_int_equal(sum, 0);
        memset(block, 0xAA, 777000);
        mem_free(block);
    }
}

TEST(a_block_keeps_its_bytes_on_its_way_from_memory_to_a_file_and_through_all_sizes)
{
    static const size_t sizes[] = {100,     ONE_PAGE - 1, ONE_PAGE, ONE_PAGE + 1, 3 * MIB,
                                   3 * MIB, MIB,          20 * MIB, 8 * ONE_PAGE, 1,
                                   0,       5000,         4096,     12288};
    unsigned char *block = NULL;
    size_t size = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        block = mem_resize(block, sizes[i], 1);
        assert_non_null(block);
        size_t kept = size < sizes[i] ? size : sizes[i];
        assert_int_equal(wrong_bytes(block, kept, 2), 0);
        fill(block, kept, sizes[i], 2);
        size = sizes[i];
    }
    mem_free(block);
}

TEST(pages_that_were_let_go_of_come_back_with_what_they_held)
{
    enum { SIZE = 48 * MIB };
    unsigned char *block = mem_alloc(SIZE);
    fill(block, 0, SIZE, 3);
    mem_check_limit();
    assert_true(resident_file_bytes() < 40 * MIB);
    assert_int_equal(wrong_bytes(block, SIZE, 3), 0);
    mem_free(block);
}

TEST(what_is_written_past_the_mapping_is_read_through_it)
{
    struct rng rng = {4};
    unsigned char *block = mem_zeroed(MIB, 1), *copy = malloc(MIB), piece[9000];
    memset(copy, 0, MIB);
    for (unsigned round = 0; round < 400; round++) {
        size_t size = rng_below(&rng, sizeof piece), at = rng_below(&rng, MIB - size);
        rng_fill(&rng, piece, size);
        memcpy(copy + at, piece, size);
        if (round % 3 == 0)
            memcpy(block + at, piece, size);
        else
            mem_write(block, block + at, piece, size);
        if (round % 7 == 0)
            mem_check_limit();
    }
    assert_memory_equal(block, copy, MIB);
    mem_free(block);
    unsigned char plain[64] = {0};
    mem_write(plain, plain + 10, "text", 4);
    assert_memory_equal(plain + 9, "\0text\0", 6);
    free(copy);
}

/* One thread's blocks: grown, shrunk and freed, with their contents checked. */
static void *shuffle_blocks(void *argument)
{
    enum { BLOCKS = AT_ONCE_OPEN, LARGEST = 12 * ONE_PAGE };
    struct rng rng = {(uint64_t)(uintptr_t)argument};
    unsigned char *blocks[BLOCKS] = {0};
    size_t sizes[BLOCKS] = {0}, wrong = 0;
    for (unsigned round = 0; round < 1200; round++) {
        size_t i = rng_below(&rng, BLOCKS), size = rng_below(&rng, LARGEST);
        wrong += wrong_bytes(blocks[i], sizes[i], i);
        if (rng_below(&rng, 5) == 0) {
            mem_free(blocks[i]);
            blocks[i] = NULL;
            size = 0;
        } else {
            size_t kept = size < sizes[i] ? size : sizes[i];
            blocks[i] = mem_resize(blocks[i], size, 1);
            wrong += wrong_bytes(blocks[i], kept, i);
            fill(blocks[i], kept, size, i);
        }
        sizes[i] = size;
        mem_touched(MIB);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        wrong += wrong_bytes(blocks[i], sizes[i], i);
        mem_free(blocks[i]);
    }
    return (void *)(uintptr_t)wrong;
}

TEST(hundreds_of_blocks_of_several_threads_do_not_disturb_each_other)
{
    unsigned char *ballast = mem_zeroed(40, MIB); /* something to release */
    pthread_t threads[3];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, shuffle_blocks, (void *)(uintptr_t)(i + 1)), 0);
    for (size_t at = 0; at < 40 * (size_t)MIB; at += ONE_PAGE)
        ballast[at] = 1;
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_int_equal((uintptr_t)wrong, 0);
    }
    for (size_t at = 0; at < 40 * (size_t)MIB; at += ONE_PAGE)
        assert_int_equal(ballast[at], 1);
    mem_free(ballast);
    assert_int_equal(scratch_entries(state), 0);
}

TEST(a_thousand_blocks_need_no_more_than_a_few_open_files)
{
    enum { BLOCKS = 1000 };
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit few = {AT_ONCE_OPEN + 60, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    unsigned char *blocks[BLOCKS];
    size_t files = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = mem_alloc(2 * ONE_PAGE);
        fill(blocks[i], 0, 2 * ONE_PAGE, i);
        files += scratch_size(blocks[i]) > 0;
    }
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(files, BLOCKS);
    mem_check_limit();
    for (size_t i = 0; i < BLOCKS; i++) {
        assert_int_equal(wrong_bytes(blocks[i], 2 * ONE_PAGE, i), 0);
        blocks[i] = mem_resize(blocks[i], 3, ONE_PAGE);
        assert_int_equal(wrong_bytes(blocks[i], 2 * ONE_PAGE, i), 0);
        mem_free(blocks[i]);
    }
}

TEST(where_no_file_can_be_made_blocks_are_plain_memory)
{
    mem_limit(&(struct mem_limits){.directory = "/nowhere/at/all",
                                   .large_bytes = ONE_PAGE,
                                   .plain_bytes = 0,
                                   .resident_bytes = MIB});
    unsigned char *block = mem_alloc(MIB);
    assert_int_equal(scratch_size(block), 0);
    fill(block, 0, MIB, 5);
    block = mem_resize(block, 2, MIB);
    assert_int_equal(wrong_bytes(block, MIB, 5), 0);
    mem_free(block);
    assert_true(mem_available() > 0);
}

TEST(a_mapped_file_is_let_go_of_and_read_again)
{
    enum { SIZE = 40 * MIB };
    struct scratch_name name = scratch_name(state, "file");
    unsigned char *content = malloc(SIZE);
    fill(content, 0, SIZE, 6);
    write_whole_file(name.path, content, SIZE);
    struct file file;
    struct error err;
    assert_true(file_open(&file, name.path, &err));
    assert_int_equal(wrong_bytes(file.data, SIZE, 6), 0);
    mem_check_limit();
    assert_true(resident_file_bytes() < SIZE);
    assert_int_equal(wrong_bytes(file.data, SIZE, 6), 0);
    const uint8_t *data = file.data;
    file_close(&file);
    struct mapping mapping;
    assert_false(memory_limit_find(data, &mapping));
    free(content);
}

/* Runs `use` in a child; its exit code, and what it printed. */
static int exit_code_of(void (*use)(void), char message[static 512])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        use();
        _exit(0);
    }
    close(ends[1]);
    memset(message, 0, 512);
    ssize_t size = read(ends[0], message, 511);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(size >= 0 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* RLIMIT_FSIZE simulates a full disk. */
static void fill_the_disk(void)
{
    struct rlimit limit = {MIB, MIB};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    mem_alloc(4 * MIB);
}

TEST(a_full_disk_ends_the_program_with_a_sentence)
{
    char message[512];
    const struct scratch *folder = *state;
    assert_int_equal(exit_code_of(fill_the_disk, message), 1);
    assert_non_null(strstr(message, "out of disk space for temporary data in"));
    assert_non_null(strstr(message, folder->path));
}

/* A block of 7 MiB at a time, through all ways in which blocks come and go. */
static void stay_below_8_mib(void)
{
    scratch_limit(8 * MIB);
    for (unsigned i = 0; i < 20; i++) {
        char *block = mem_resize(mem_alloc(MIB), 7 * MIB, 1);
        mem_free(mem_resize(block, i % 2 ? MIB : 7 * MIB, 1));
    }
}

static void take_9_mib(void)
{
    scratch_limit(8 * MIB);
    mem_alloc(4 * MIB);
    mem_resize(mem_alloc(MIB), 5 * MIB, 1);
}

TEST(files_take_no_more_than_their_limit_together)
{
    char message[512];
    assert_int_equal(exit_code_of(stay_below_8_mib, message), 0);
    assert_int_equal(exit_code_of(take_9_mib, message), 1);
    assert_non_null(strstr(message, "--scratch-limit GIB allows more"));
}

static void take_more_than_an_input_of_10_mib_does(void)
{
    mem_given(10 * MIB);
    mem_alloc((size_t)(1024 + 321) * MIB);
}

TEST(files_are_limited_by_the_size_of_the_input)
{
    char message[512];
    assert_int_equal(exit_code_of(take_more_than_an_input_of_10_mib_does, message), 1);
    assert_non_null(strstr(message, "--scratch-limit GIB allows more"));
}

/* The complete analysis of a capture as text. */
static struct output whole_analysis(const char *capture_name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/xplane/%s", KYMO_TEST_DATA, capture_name);
    struct capture capture;
    struct source *source;
    struct analysis analysis;
    struct error err;
    struct output out;
    struct pool *pool = pool_create(2);
    assert_true(capture_find(&capture, path, &err));
    if (!import_capture(&capture, pool, &source, &err))
        fail_msg("%s", err.text);
    assert_true(analyze(&analysis, source, pool, &err));
    output_memory(&out);
    export_summary_json(&analysis, false, &out);
    assert_true(export_json(&analysis, source, pool, &(struct json_options){0}, &out, &err));
    analysis_free(&analysis);
    source_close(source);
    capture_free(&capture);
    pool_destroy(pool);
    return out;
}

TEST(an_analysis_in_files_finds_what_one_in_memory_does)
{
    static const char *const captures[] = {"jax_gpt_python_h200.xplane.pb",
                                           "jax_matmul_h200.xplane.pb", "tpu_inference.xplane.pb"};
    const struct scratch *folder = *state;
    struct mem_limits hard = {.directory = folder->path,
                              .large_bytes = ONE_PAGE,
                              .plain_bytes = 0,
                              .resident_bytes = MIB},
                      none = hard;
    none.plain_bytes = SIZE_MAX;
    for (size_t i = 0; i < COUNT_OF(captures); i++) {
        mem_limit(&none);
        struct output in_memory = whole_analysis(captures[i]);
        mem_limit(&hard);
        struct output in_files = whole_analysis(captures[i]);
        assert_true(in_memory.size > 100000);
        assert_int_equal(in_files.size, in_memory.size);
        assert_memory_equal(in_files.data, in_memory.data, in_memory.size);
        output_discard(&in_memory);
        output_discard(&in_files);
    }
    assert_int_equal(scratch_entries(state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIMITED_TEST(a_large_block_is_a_file_without_a_name_and_a_small_one_is_not),
        LIMITED_TEST(blocks_become_files_when_plain_memory_is_used_up),
        LIMITED_TEST(a_zeroed_file_is_zero_even_where_another_was_before),
        LIMITED_TEST(
            a_block_keeps_its_bytes_on_its_way_from_memory_to_a_file_and_through_all_sizes),
        LIMITED_TEST(pages_that_were_let_go_of_come_back_with_what_they_held),
        LIMITED_TEST(what_is_written_past_the_mapping_is_read_through_it),
        LIMITED_TEST(hundreds_of_blocks_of_several_threads_do_not_disturb_each_other),
        LIMITED_TEST(a_thousand_blocks_need_no_more_than_a_few_open_files),
        LIMITED_TEST(where_no_file_can_be_made_blocks_are_plain_memory),
        LIMITED_TEST(a_mapped_file_is_let_go_of_and_read_again),
        LIMITED_TEST(a_full_disk_ends_the_program_with_a_sentence),
        LIMITED_TEST(files_take_no_more_than_their_limit_together),
        LIMITED_TEST(files_are_limited_by_the_size_of_the_input),
        LIMITED_TEST(an_analysis_in_files_finds_what_one_in_memory_does),
    };
    return cmocka_run_group_tests_name("scratch", tests, NULL, NULL);
}

/*
 * File input and output: non-files are rejected without blocking, released pages can be read again,
 * and an output is either complete and in place or does not exist.
 */
#include "base/file.h"
#include "base/output.h"

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

TEST(a_file_is_mapped_whole)
{
    enum { SIZE = 100001 };
    struct rng rng = {9};
    char *data = malloc(SIZE);
    rng_fill(&rng, data, SIZE);
    struct scratch_name name = scratch_name(state, "input");
    write_whole_file(name.path, data, SIZE);
    struct file file;
    struct error err;
    assert_true(file_open(&file, name.path, &err));
    assert_int_equal(file.size, SIZE);
    assert_memory_equal(file.data, data, SIZE);
    file_close(&file);
    assert_null(file.data);
    assert_int_equal(file.size, 0);
    free(data);
}

TEST(an_empty_file_is_open_and_has_no_data)
{
    struct scratch_name name = scratch_name(state, "empty");
    write_whole_file(name.path, "", 0);
    struct file file = {(const uint8_t *)"x", 1};
    struct error err;
    assert_true(file_open(&file, name.path, &err));
    assert_null(file.data);
    assert_int_equal(file.size, 0);
    file_close(&file);
}

TEST(a_missing_file_is_an_error_that_names_it)
{
    struct scratch_name name = scratch_name(state, "missing");
    struct file file = {(const uint8_t *)"x", 1};
    struct error err;
    assert_false(file_open(&file, name.path, &err));
    assert_string_equal(err.file, name.path);
    assert_non_null(strstr(err.text, strerror(ENOENT)));
    assert_int_equal(file.size, 0);
    file_close(&file);
}

TEST(a_folder_is_not_a_file)
{
    const struct scratch *scratch = *state;
    struct file file;
    struct error err;
    assert_false(file_open(&file, scratch->path, &err));
    assert_string_equal(err.file, scratch->path);
    assert_non_null(strstr(err.text, "not a regular file"));
}

TEST(a_fifo_is_refused_without_waiting_for_a_writer)
{
    struct scratch_name name = scratch_name(state, "fifo");
    assert_int_equal(mkfifo(name.path, 0600), 0);
    struct file file;
    struct error err;
    alarm(10); /* ends the program if it blocks */
    assert_false(file_open(&file, name.path, &err));
    alarm(0);
    assert_string_equal(err.file, name.path);
    assert_false(file_open(&file, "/dev/null", &err));
}

static size_t open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    size_t count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

TEST(opening_and_failing_to_open_keep_no_descriptor)
{
    const struct scratch *scratch = *state;
    struct scratch_name name = scratch_name(state, "input");
    write_whole_file(name.path, "x", 1);
    size_t before = open_descriptors();
    struct file file, not_a_file;
    struct error err;
    assert_true(file_open(&file, name.path, &err));
    assert_false(file_open(&not_a_file, scratch->path, &err));
    assert_int_equal(open_descriptors(), before);
    file_close(&file);
}

TEST(a_mapped_file_outlives_its_name)
{
    struct scratch_name name = scratch_name(state, "input");
    write_whole_file(name.path, "still here", 10);
    struct file file;
    struct error err;
    assert_true(file_open(&file, name.path, &err));
    assert_int_equal(unlink(name.path), 0);
    assert_memory_equal(file.data, "still here", 10);
    file_close(&file);
}

TEST(released_pages_can_be_read_again)
{
    enum { SIZE = (1 << 20) + 123 };
    struct rng rng = {10};
    unsigned char *data = malloc(SIZE);
    rng_fill(&rng, data, SIZE);
    struct scratch_name name = scratch_name(state, "input");
    write_whole_file(name.path, data, SIZE);
    struct file file;
    struct error err;
    assert_true(file_open(&file, name.path, &err));
    for (unsigned round = 0; round < 200; round++) {
        size_t start = rng_below(&rng, SIZE), size = rng_below(&rng, SIZE - start + 1);
        file_release(&file, file.data + start, size);
        size_t look = rng_below(&rng, SIZE);
        assert_int_equal(file.data[look], data[look]);
    }
    file_release(&file, file.data, file.size);
    assert_memory_equal(file.data, data, SIZE);
    file_release(&file, NULL, 0);
    file_close(&file);
    free(data);
}

static bool page_is_present(int pagemap, const void *address)
{
    uint64_t entry = 0;
    off_t at = (off_t)((uintptr_t)address / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof entry);
    assert_int_equal(pread(pagemap, &entry, sizeof entry, at), sizeof entry);
    return entry >> 63;
}

TEST(only_pages_wholly_inside_the_range_are_released)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page * 8;
    int pagemap = open("/proc/self/pagemap", O_RDONLY);
    if (pagemap < 0)
        skip();
    char *data = calloc(1, size);
    struct scratch_name name = scratch_name(state, "input");
    write_whole_file(name.path, data, size);
    struct file file;
    struct error err;
    assert_true(file_open(&file, name.path, &err));
    assert_memory_equal(file.data, data, size);
    file_release(&file, file.data + page + 1, page * 4); /* touches pages 1 to 5, holds 2 to 4 */
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(page_is_present(pagemap, file.data + i * page), i < 2 || i > 4);
    file_close(&file);
    free(data);
    close(pagemap);
}

TEST(memory_that_is_not_the_files_is_left_alone)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE) * 4;
    unsigned char *other = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), size);
    memset(other, 7, size);
    struct scratch_name name = scratch_name(state, "input");
    write_whole_file(name.path, other, size);
    struct file file, none = {0};
    struct error err;
    assert_true(file_open(&file, name.path, &err));
    file_release(&file, other, size);
    file_release(&none, other, size);
    file_release(&file, file.data, size + 1);
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++)
        wrong += other[i] != 7;
    assert_int_equal(wrong, 0);
    file_close(&file);
    free(other);
}

TEST(folders_are_told_from_files_and_from_nothing)
{
    const struct scratch *scratch = *state;
    struct scratch_name file = scratch_name(state, "file"), link = scratch_name(state, "link");
    write_whole_file(file.path, "x", 1);
    assert_int_equal(symlink(scratch->path, link.path), 0);
    assert_true(file_is_directory(scratch->path));
    assert_true(file_is_directory(link.path));
    assert_false(file_is_directory(file.path));
    assert_false(file_is_directory(scratch_name(state, "missing").path));
    assert_false(file_is_directory(""));
}

static void assert_file_holds(const char *path, const char *expected, size_t expected_size)
{
    size_t size;
    char *data = read_whole_file(path, &size);
    assert_int_equal(size, expected_size);
    assert_memory_equal(data, expected, size);
    free(data);
}

TEST(a_file_appears_under_its_name_only_when_it_is_whole)
{
    struct scratch_name name = scratch_name(state, "report.json");
    struct output out;
    struct error err;
    assert_true(output_open(&out, name.path, &err));
    output_text(&out, "hello");
    assert_int_not_equal(access(name.path, F_OK), 0);
    assert_true(output_commit(&out, &err));
    assert_file_holds(name.path, "hello", 5);
    assert_int_equal(scratch_entries(state), 1);
}

TEST(an_old_file_is_there_until_the_new_one_is_whole)
{
    struct scratch_name name = scratch_name(state, "report.json");
    write_whole_file(name.path, "old", 3);
    struct output out;
    struct error err;
    assert_true(output_open(&out, name.path, &err));
    char *large = calloc(1, 1 << 20);
    output_write(&out, large, 1 << 20);
    assert_file_holds(name.path, "old", 3);
    assert_true(output_commit(&out, &err));
    assert_file_holds(name.path, large, 1 << 20);
    assert_int_equal(scratch_entries(state), 1);
    free(large);
}

TEST(an_empty_output_makes_an_empty_file)
{
    struct scratch_name name = scratch_name(state, "empty");
    struct output out;
    struct error err;
    assert_true(output_open(&out, name.path, &err));
    assert_true(output_commit(&out, &err));
    assert_file_holds(name.path, "", 0);
}

TEST(a_discarded_output_leaves_nothing_behind)
{
    struct scratch_name name = scratch_name(state, "report.json");
    struct output out;
    struct error err;
    size_t descriptors = open_descriptors();
    assert_true(output_open(&out, name.path, &err));
    char large[1 << 10] = {0};
    for (unsigned i = 0; i < 1024; i++)
        output_write(&out, large, sizeof large);
    assert_int_equal(scratch_entries(state), 1);
    output_discard(&out);
    assert_int_equal(scratch_entries(state), 0);
    assert_int_equal(open_descriptors(), descriptors);
}

static atomic_bool is_over, has_changed;
static _Thread_local bool is_handler;

/* Instead of libc's: a handler takes its time over a name, which stays the same meanwhile. */
int unlink(const char *path)
{
    char before[16], after[16];
    snprintf(before, sizeof before, "%s", path);
    for (int i = 0; is_handler && i < 10; i++)
        sched_yield();
    snprintf(after, sizeof after, "%s", path);
    if (strcmp(before, after) != 0)
        atomic_store(&has_changed, true);
    return unlinkat(AT_FDCWD, path, 0);
}

static void *keep_removing(void *unused)
{
    is_handler = true;
    while (!atomic_load(&is_over)) {
        output_remove_unfinished(); /* as a signal handler does on any thread */
        sched_yield();
    }
    return unused;
}

TEST(names_live_until_a_handler_on_another_thread_has_read_them)
{
    struct scratch_name name = scratch_name(state, "output");
    struct error err;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, keep_removing, NULL), 0);
    for (int i = 0; i < 200; i++) {
        struct output out;
        assert_true(output_open(&out, name.path, &err));
        output_discard(&out);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    assert_false(has_changed);
    assert_int_equal(scratch_entries(state), 0);
}

TEST(a_discarded_output_leaves_the_old_file_alone)
{
    struct scratch_name name = scratch_name(state, "report.json");
    write_whole_file(name.path, "old", 3);
    struct output out;
    struct error err;
    assert_true(output_open(&out, name.path, &err));
    output_text(&out, "new");
    output_discard(&out);
    assert_file_holds(name.path, "old", 3);
    assert_int_equal(scratch_entries(state), 1);
}

/* Takes the place of libc's: to read the umask is to change it, for other threads too. */
static unsigned umask_changes;
mode_t umask(mode_t mask)
{
    umask_changes++;
    return (mode_t)syscall(SYS_umask, mask);
}

TEST(a_new_file_gets_the_permissions_the_umask_leaves)
{
    struct scratch_name name = scratch_name(state, "report.json");
    struct output out;
    struct error err;
    mode_t before = umask(027);
    unsigned changes = umask_changes;
    assert_true(output_open(&out, name.path, &err));
    assert_true(output_commit(&out, &err));
    assert_int_equal(umask_changes, changes);
    assert_int_equal(umask(before), 027);
    struct stat status;
    assert_int_equal(stat(name.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
}

TEST(a_folder_cannot_be_written_over)
{
    const struct scratch *scratch = *state;
    struct output out;
    struct error err;
    assert_false(output_open(&out, scratch->path, &err));
    assert_string_equal(err.file, scratch->path);
    assert_non_null(strstr(err.text, "directory"));
    assert_int_equal(scratch_entries(state), 0);
}

TEST(a_file_in_a_missing_folder_cannot_be_opened)
{
    struct scratch_name name = scratch_name(state, "missing/report.json");
    struct output out;
    struct error err;
    assert_false(output_open(&out, name.path, &err));
    assert_string_equal(err.file, name.path);
    assert_non_null(strstr(err.text, strerror(ENOENT)));
    assert_int_equal(scratch_entries(state), 0);
}

TEST(an_output_that_could_not_be_opened_may_be_discarded)
{
    struct output out;
    struct error err;
    assert_false(output_open(&out, scratch_name(state, "missing/report.json").path, &err));
    assert_null(out.temporary); /* or output_discard would free it a second time */
    output_discard(&out);
}

TEST(a_folder_that_takes_the_place_before_commit_is_an_error)
{
    struct scratch_name name = scratch_name(state, "report.json");
    struct output out;
    struct error err;
    assert_true(output_open(&out, name.path, &err));
    output_text(&out, "hello");
    assert_int_equal(mkdir(name.path, 0700), 0);
    assert_false(output_commit(&out, &err));
    assert_string_equal(err.file, name.path);
    assert_non_null(strstr(err.text, strerror(EISDIR)));
    assert_int_equal(scratch_entries(state), 1);
}

TEST(a_full_device_is_reported_on_commit)
{
    struct output out;
    struct error err;
    assert_true(output_open(&out, "/dev/full", &err));
    output_text(&out, "hello");
    assert_false(output_commit(&out, &err));
    assert_string_equal(err.file, "/dev/full");
    assert_non_null(strstr(err.text, strerror(ENOSPC)));
    assert_int_equal(access("/dev/full", F_OK), 0);
}

TEST(after_a_failure_writing_goes_on_into_nothing)
{
    struct output out;
    struct error err;
    assert_true(output_open(&out, "/dev/full", &err));
    size_t capacity = out.capacity;
    char piece[1000] = {0};
    for (unsigned i = 0; i < 100000; i++) {
        output_write(&out, piece, sizeof piece);
        output_char(&out, 'x');
        output_format(&out, "%d", 12345);
    }
    assert_true(out.failed);
    assert_int_equal(out.capacity, capacity);
    assert_false(output_commit(&out, &err));
    assert_non_null(strstr(err.text, strerror(ENOSPC)));
}

TEST(a_disk_that_fills_up_leaves_the_old_file_and_no_other)
{
    struct scratch_name name = scratch_name(state, "report.json");
    write_whole_file(name.path, "old", 3);
    struct output out;
    struct error err;
    assert_true(output_open(&out, name.path, &err));
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){300000, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    char piece[1000] = {0};
    for (unsigned i = 0; i < 1000; i++)
        output_write(&out, piece, sizeof piece);
    bool committed = output_commit(&out, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_false(committed);
    assert_string_equal(err.file, name.path);
    assert_non_null(strstr(err.text, strerror(EFBIG)));
    assert_file_holds(name.path, "old", 3);
    assert_int_equal(scratch_entries(state), 1);
}

TEST(a_device_is_written_in_place)
{
    struct output out;
    struct error err;
    assert_true(output_open(&out, "/dev/null", &err));
    output_text(&out, "gone");
    assert_true(output_commit(&out, &err));
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
}

static void write_to_standard_output(const char *path, const char *text, int to)
{
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    dup2(to, STDOUT_FILENO);
    struct output out;
    struct error err;
    bool opened = output_open(&out, path, &err);
    output_text(&out, text);
    bool committed = output_commit(&out, &err);
    bool still_open = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_true(opened);
    assert_true(committed);
    assert_true(still_open);
}

TEST(no_name_and_a_dash_are_standard_output)
{
    struct scratch_name name = scratch_name(state, "stdout");
    int fd = open(name.path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    write_to_standard_output(NULL, "one ", fd);
    write_to_standard_output("-", "two", fd);
    close(fd);
    assert_file_holds(name.path, "one two", 7);
    assert_int_equal(scratch_entries(state), 1);
}

TEST(standard_output_that_is_full_is_an_error)
{
    fflush(stdout);
    int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
    dup2(full, STDOUT_FILENO);
    close(full);
    struct output out;
    struct error err;
    bool opened = output_open(&out, "-", &err);
    output_text(&out, "hello");
    bool committed = output_commit(&out, &err);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_true(opened);
    assert_false(committed);
    assert_string_equal(err.file, "standard output");
}

/* Writes the same random chunks to an output and to a plain buffer. */
struct plain {
    char *data;
    size_t size, capacity;
};

static void plain_add(struct plain *plain, const char *data, size_t size)
{
    if (plain->size + size > plain->capacity) {
        plain->capacity = plain->size * 2 + size;
        plain->data = realloc(plain->data, plain->capacity);
    }
    if (size > 0)
        memcpy(plain->data + plain->size, data, size);
    plain->size += size;
}

static void write_pieces(struct output *out, struct plain *plain, struct rng *rng, size_t steps)
{
    enum { LARGEST = 700000 };
    char *piece = malloc(LARGEST + 1);
    for (size_t step = 0; step < steps; step++) {
        size_t largest = rng_below(rng, 200) == 0 ? LARGEST : 300;
        size_t size = rng_below(rng, largest);
        memset(piece, (char)('a' + step % 26), size);
        piece[size] = '\0';
        switch (rng_below(rng, 4)) {
        case 0:
            output_write(out, piece, size);
            break;
        case 1:
            output_text(out, piece);
            break;
        case 2:
            output_format(out, "%s", piece);
            break;
        default:
            size = 1;
            piece[0] = '\0';
            output_char(out, '\0');
        }
        plain_add(plain, piece, size);
    }
    free(piece);
}

TEST(a_memory_output_holds_all_that_was_written)
{
    struct rng rng = {11};
    struct output out;
    struct plain plain = {0};
    output_memory(&out);
    assert_int_equal(out.size, 0);
    write_pieces(&out, &plain, &rng, 3000);
    assert_int_equal(out.size, plain.size);
    assert_memory_equal(out.data, plain.data, plain.size);
    output_discard(&out);
    free(plain.data);
}

TEST(a_file_output_holds_all_that_was_written)
{
    struct rng rng = {12};
    struct scratch_name name = scratch_name(state, "large");
    struct output out;
    struct error err;
    struct plain plain = {0};
    assert_true(output_open(&out, name.path, &err));
    write_pieces(&out, &plain, &rng, 3000);
    assert_true(output_commit(&out, &err));
    assert_file_holds(name.path, plain.data, plain.size);
    free(plain.data);
}

TEST(writing_nothing_is_fine_even_from_nowhere)
{
    struct output out;
    output_memory(&out);
    output_write(&out, NULL, 0);
    output_text(&out, "");
    output_format(&out, "%s", "");
    assert_int_equal(out.size, 0);
    output_discard(&out);
}

TEST(a_formatted_text_that_just_fills_the_buffer_is_whole)
{
    for (size_t left = 0; left < 12; left++) {
        struct output out;
        output_memory(&out);
        while (out.size + left < out.capacity)
            output_char(&out, '.');
        size_t before = out.size;
        output_format(&out, "%d", 1234567890);
        assert_int_equal(out.size, before + 10);
        assert_memory_equal(out.data + before, "1234567890", 10);
        assert_int_equal(out.data[before - 1], '.');
        output_discard(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_file_is_mapped_whole),
        SCRATCH_TEST(an_empty_file_is_open_and_has_no_data),
        SCRATCH_TEST(a_missing_file_is_an_error_that_names_it),
        SCRATCH_TEST(a_folder_is_not_a_file),
        SCRATCH_TEST(a_fifo_is_refused_without_waiting_for_a_writer),
        SCRATCH_TEST(opening_and_failing_to_open_keep_no_descriptor),
        SCRATCH_TEST(a_mapped_file_outlives_its_name),
        SCRATCH_TEST(released_pages_can_be_read_again),
        SCRATCH_TEST(only_pages_wholly_inside_the_range_are_released),
        SCRATCH_TEST(memory_that_is_not_the_files_is_left_alone),
        SCRATCH_TEST(folders_are_told_from_files_and_from_nothing),
        SCRATCH_TEST(a_file_appears_under_its_name_only_when_it_is_whole),
        SCRATCH_TEST(an_old_file_is_there_until_the_new_one_is_whole),
        SCRATCH_TEST(an_empty_output_makes_an_empty_file),
        SCRATCH_TEST(a_discarded_output_leaves_nothing_behind),
        SCRATCH_TEST(names_live_until_a_handler_on_another_thread_has_read_them),
        SCRATCH_TEST(a_discarded_output_leaves_the_old_file_alone),
        SCRATCH_TEST(a_new_file_gets_the_permissions_the_umask_leaves),
        SCRATCH_TEST(a_folder_cannot_be_written_over),
        SCRATCH_TEST(a_file_in_a_missing_folder_cannot_be_opened),
        SCRATCH_TEST(an_output_that_could_not_be_opened_may_be_discarded),
        SCRATCH_TEST(a_folder_that_takes_the_place_before_commit_is_an_error),
        cmocka_unit_test(a_full_device_is_reported_on_commit),
        cmocka_unit_test(after_a_failure_writing_goes_on_into_nothing),
        SCRATCH_TEST(a_disk_that_fills_up_leaves_the_old_file_and_no_other),
        cmocka_unit_test(a_device_is_written_in_place),
        SCRATCH_TEST(no_name_and_a_dash_are_standard_output),
        cmocka_unit_test(standard_output_that_is_full_is_an_error),
        cmocka_unit_test(a_memory_output_holds_all_that_was_written),
        SCRATCH_TEST(a_file_output_holds_all_that_was_written),
        cmocka_unit_test(writing_nothing_is_fine_even_from_nowhere),
        cmocka_unit_test(a_formatted_text_that_just_fills_the_buffer_is_whole),
    };
    return cmocka_run_group_tests_name("file and output", tests, NULL, NULL);
}

/*
 * The failure message of a child process, from its log and exit status.
 */
#include "serve/jobs/children.h"
#include "support.h"

#include <fcntl.h>
#include <signal.h>

enum { EXITED_WITH_1 = 1 << 8, EXITED_WITH_127 = 127 << 8 };

static struct processing_limits limits;

static void expect_reason(const char *log, int status, const char *expected)
{
    char path[] = "/tmp/kymo_children_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, log, strlen(log)), (ssize_t)strlen(log));
    close(fd);
    struct child child = {.progress = open("/dev/null", O_RDONLY),
                          .status = status,
                          .limits = limits,
                          .log = mem_copy_text(path, strlen(path))};
    char *reason = child_failure(&child);
    unlink(path);
    assert_string_equal(reason, expected);
    mem_free(reason);
}

TEST(the_fatal_line_is_the_reason)
{
    expect_reason("WARN[0000] one\nFATA[0000] a.json: the file is empty\n", EXITED_WITH_1,
                  "a.json: the file is empty");
    expect_reason("FATA[0001] the cause\nWARN[0001] a consequence\n", EXITED_WITH_1, "the cause");
}

TEST(a_warning_is_never_the_reason)
{
    expect_reason("WARN[0000] 2 other runs were skipped\nINFO[0000] other run: x\n"
                  "kymo: out of memory; nothing was written\n",
                  EXITED_WITH_1, "kymo: out of memory; nothing was written");
    expect_reason("WARN[0000] 2 other runs were skipped\n", EXITED_WITH_1,
                  "processing failed with exit code 1 and no message");
}

TEST(a_child_without_words_is_told_by_how_it_ended)
{
    expect_reason("", EXITED_WITH_127, "processing failed with exit code 127 and no message");
    expect_reason("", SIGSEGV, "processing was killed by signal 11 (Segmentation fault)");
    expect_reason("WARN[0000] one\n", SIGKILL,
                  "processing was killed by signal 9 (Killed), perhaps because the machine ran out "
                  "of memory");
}

TEST(the_last_line_of_progress_is_the_percentage_and_what_is_done)
{
    static const char lines[] = "3 1 of 27: Run\n12 4 of 27: Clock Sample\n";
    int ends[2];
    unsigned percent = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    struct child child = {.id = fork(), .progress = ends[0]};
    if (child.id == 0)
        _exit(0);
    assert_int_equal(write(ends[1], lines, strlen(lines)), (ssize_t)strlen(lines));
    child_poll(&child, &percent);
    assert_int_equal(percent, 12);
    assert_string_equal(child.doing, "4 of 27: Clock Sample");
    assert_int_equal(write(ends[1], "100\n", 4), 4);
    while (child_poll(&child, &percent))
        usleep(1000);
    assert_int_equal(percent, 99);
    assert_string_equal(child.doing, "");
    close(ends[0]);
    close(ends[1]);
}

TEST(a_line_of_progress_may_come_in_parts)
{
    static const char lines[] = "3 1 of 27: Run\n12 4 of 27: Clock Sample\n";
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    for (size_t cut = 0; cut < strlen(lines); cut++) {
        struct child child = {.id = getpid(), .progress = ends[0]}; /* of which none can be told */
        unsigned percent = 0;
        assert_int_equal(write(ends[1], lines, cut), (ssize_t)cut);
        child_poll(&child, &percent);
        assert_int_equal(percent, cut > strlen("3 1 of 27: Run") ? 3 : 0);
        assert_true(write(ends[1], lines + cut, strlen(lines) - cut) > 0);
        child_poll(&child, &percent);
        assert_int_equal(percent, 12);
        assert_string_equal(child.doing, "4 of 27: Clock Sample");
    }
    close(ends[0]);
    close(ends[1]);
}

TEST(a_child_that_writes_too_much_in_all_is_ended)
{
    struct child child = {.progress = open("/dev/null", O_RDONLY),
                          .limits = {.output_bytes = 3 << 20},
                          .log = mem_copy_text("/dev/null", strlen("/dev/null"))};
    unsigned percent;
    if ((child.id = fork()) == 0) {
        static const char part[1 << 20];
        int nothing = open("/dev/null", O_WRONLY);
        for (int i = 0; i < 4 && write(nothing, part, sizeof part) == sizeof part; i++)
            ;
        for (;;)
            pause();
    }
    while (child_poll(&child, &percent))
        usleep(1000);
    char *reason = child_failure(&child);
    assert_string_equal(
        reason, "processing wrote more than 3 MiB, the server's limit (--processing-output)");
    mem_free(reason);
}

TEST(a_limit_that_was_met_is_the_reason)
{
    limits =
        (struct processing_limits){.memory_bytes = 64 << 20, .cpu_s = 7, .output_bytes = 3 << 20};
    expect_reason("kymo: out of memory; nothing was written\n", EXITED_WITH_1,
                  "processing needs more than 64 MiB of memory, the server's limit "
                  "(--processing-memory)");
    expect_reason("terminate called after throwing an instance of 'std::bad_alloc'\n", SIGABRT,
                  "processing needs more than 64 MiB of memory, the server's limit "
                  "(--processing-memory)");
    expect_reason("", SIGXCPU,
                  "processing took more than 7 s of CPU time, the server's limit "
                  "(--processing-cpu)");
    expect_reason("FATA[0001] Event.parquet: cannot write: File too large\n", EXITED_WITH_1,
                  "processing wrote more than 3 MiB, the server's limit (--processing-output)");
    limits = (struct processing_limits){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fatal_line_is_the_reason),
        cmocka_unit_test(a_warning_is_never_the_reason),
        cmocka_unit_test(a_child_without_words_is_told_by_how_it_ended),
        cmocka_unit_test(the_last_line_of_progress_is_the_percentage_and_what_is_done),
        cmocka_unit_test(a_line_of_progress_may_come_in_parts),
        cmocka_unit_test(a_child_that_writes_too_much_in_all_is_ended),
        cmocka_unit_test(a_limit_that_was_met_is_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

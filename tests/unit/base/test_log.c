/*
 * The log, read back from a redirected standard error.
 */
#include "base/log.h"

#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>

enum { LINES_EACH = 500, WRITERS = 4 };

static struct timespec program_start;

__attribute__((constructor)) static void remember_program_start(void)
{
    clock_gettime(CLOCK_MONOTONIC, &program_start);
}

struct redirect {
    int saved;
};

static struct redirect redirect_errors(int to)
{
    struct redirect redirect = {dup(STDERR_FILENO)};
    dup2(to, STDERR_FILENO);
    return redirect;
}

static void restore_errors(struct redirect redirect)
{
    dup2(redirect.saved, STDERR_FILENO);
    close(redirect.saved);
}

static int open_log(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    return fd;
}

/* The text of a line "INFO[0000] text", or NULL if it looks different. */
static const char *text_of_line(const char *line, const char *level)
{
    size_t size = strlen(level);
    if (strncmp(line, level, size) != 0 || line[size] != '[')
        return NULL;
    const char *digits = line + size + 1;
    size_t count = strspn(digits, "0123456789");
    return count >= 4 && digits[count] == ']' && digits[count + 1] == ' ' ? digits + count + 2
                                                                          : NULL;
}

TEST(every_level_writes_its_name_the_seconds_and_the_text)
{
    struct scratch_name name = scratch_name(state, "log");
    int fd = open_log(name.path);
    struct redirect redirect = redirect_errors(fd);
    log_set_level(LOG_DEBUG);
    log_fatal("text %d", 1);
    log_error("text %d", 2);
    log_warn("text %d", 3);
    log_info("text %d", 4);
    log_debug("text %d", 5);
    log_set_level(LOG_INFO);
    restore_errors(redirect);
    close(fd);
    static const char *const levels[] = {"FATA", "ERRO", "WARN", "INFO", "DEBU"};
    size_t size;
    char *log = read_whole_file(name.path, &size), *rest = log;
    for (int i = 0; i < 5; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "text %d", i + 1);
        char *line = strsep(&rest, "\n");
        assert_non_null(text_of_line(line, levels[i]));
        assert_string_equal(text_of_line(line, levels[i]), expected);
    }
    assert_string_equal(rest, "");
    free(log);
}

static size_t lines_written_at(void **state, enum log_level level)
{
    struct scratch_name name = scratch_name(state, "log");
    int fd = open_log(name.path);
    struct redirect redirect = redirect_errors(fd);
    log_set_level(level);
    for (unsigned i = LOG_FATAL; i <= LOG_DEBUG; i++)
        log_line((enum log_level)i, "text");
    log_set_level(LOG_INFO);
    restore_errors(redirect);
    close(fd);
    size_t size, lines = 0;
    char *log = read_whole_file(name.path, &size);
    for (size_t i = 0; i < size; i++)
        lines += log[i] == '\n';
    free(log);
    unlink(name.path);
    return lines;
}

TEST(lines_above_the_level_are_not_written)
{
    assert_int_equal(lines_written_at(state, LOG_FATAL), 1);
    assert_int_equal(lines_written_at(state, LOG_ERROR), 2);
    assert_int_equal(lines_written_at(state, LOG_WARN), 3);
    assert_int_equal(lines_written_at(state, LOG_INFO), 4);
    assert_int_equal(lines_written_at(state, LOG_DEBUG), 5);
}

TEST(a_line_of_any_length_is_one_line_and_keeps_its_beginning)
{
    struct scratch_name name = scratch_name(state, "log");
    char *text = malloc(100001);
    memset(text, 'x', 100000);
    text[100000] = '\0';
    static const int sizes[] = {0,    1,    1000, 2030, 2031, 2032, 2033, 2034,  2035,
                                2036, 2037, 2038, 2040, 2047, 2048, 2049, 100000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        int fd = open_log(name.path);
        struct redirect redirect = redirect_errors(fd);
        log_info("%.*s", sizes[i], text);
        restore_errors(redirect);
        close(fd);
        size_t size;
        char *log = read_whole_file(name.path, &size);
        assert_int_equal(strlen(log), size);
        assert_ptr_equal(strchr(log, '\n'), log + size - 1);
        log[size - 1] = '\0';
        const char *written = text_of_line(log, "INFO");
        assert_non_null(written);
        assert_int_equal(strspn(written, "x"), strlen(written));
        size_t wanted = (size_t)sizes[i];
        assert_in_range(strlen(written), wanted < 2000 ? wanted : 2000, wanted);
        free(log);
        unlink(name.path);
    }
    free(text);
}

static void *write_lines(void *mark)
{
    for (unsigned i = 0; i < LINES_EACH; i++)
        log_info("%s%s%s%s", (const char *)mark, (const char *)mark, (const char *)mark,
                 (const char *)mark);
    return NULL;
}

TEST(lines_of_several_threads_do_not_mix)
{
    struct scratch_name name = scratch_name(state, "log");
    int fd = open_log(name.path);
    struct redirect redirect = redirect_errors(fd);
    char marks[WRITERS][101] = {0};
    pthread_t threads[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) {
        memset(marks[i], (char)('a' + i), 100);
        pthread_create(&threads[i], NULL, write_lines, marks[i]);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    restore_errors(redirect);
    close(fd);
    size_t size, counts[WRITERS] = {0};
    char *log = read_whole_file(name.path, &size), *rest = log;
    for (char *line; (line = strsep(&rest, "\n")) && rest;) {
        const char *text = text_of_line(line, "INFO");
        assert_non_null(text);
        assert_int_equal(strlen(text), 400);
        assert_in_range(text[0], 'a', 'a' + WRITERS - 1);
        assert_int_equal(strspn(text, (char[]){text[0], '\0'}), 400);
        counts[text[0] - 'a']++;
    }
    for (unsigned i = 0; i < WRITERS; i++)
        assert_int_equal(counts[i], LINES_EACH);
    free(log);
}

static double seconds_since_start(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - program_start.tv_sec) +
           1e-9 * (double)(now.tv_nsec - program_start.tv_nsec);
}

/* Checks right after the log's second has changed, which is not when a second has passed. */
TEST(the_number_is_the_whole_seconds_that_have_passed)
{
    struct scratch_name name = scratch_name(state, "log");
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    next = (struct timespec){next.tv_sec + 1, 0};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    int fd = open_log(name.path);
    struct redirect redirect = redirect_errors(fd);
    double before = seconds_since_start() - 0.001; /* the log started slightly before the test */
    log_info("now");
    double after = seconds_since_start() + 0.001;
    restore_errors(redirect);
    close(fd);
    size_t size;
    char *log = read_whole_file(name.path, &size);
    assert_non_null(text_of_line(log, "INFO"));
    assert_in_range(strtol(log + 5, NULL, 10), (long)before, (long)after);
    free(log);
}

/* The line as written to a terminal; false if no pseudo-terminal is available. */
static bool line_on_a_terminal(char *line, size_t size)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return false;
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (terminal < 0)
        return false;
    struct redirect redirect = redirect_errors(terminal);
    log_warn("careful");
    restore_errors(redirect);
    ssize_t got = read(master, line, size - 1);
    line[got > 0 ? got : 0] = '\0';
    close(terminal);
    close(master);
    return true;
}

TEST(a_terminal_gets_colors_unless_they_are_declined)
{
    char line[256];
    unsetenv("NO_COLOR");
    if (!line_on_a_terminal(line, sizeof line))
        skip();
    assert_memory_equal(line, "\033[33mWARN\033[0m[", 14);
    assert_non_null(strstr(line, "] careful"));
    setenv("NO_COLOR", "1", 1);
    assert_true(line_on_a_terminal(line, sizeof line));
    unsetenv("NO_COLOR");
    assert_null(strchr(line, '\033'));
    assert_non_null(text_of_line(line, "WARN"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(every_level_writes_its_name_the_seconds_and_the_text),
        SCRATCH_TEST(lines_above_the_level_are_not_written),
        SCRATCH_TEST(a_line_of_any_length_is_one_line_and_keeps_its_beginning),
        SCRATCH_TEST(lines_of_several_threads_do_not_mix),
        SCRATCH_TEST(the_number_is_the_whole_seconds_that_have_passed),
        cmocka_unit_test(a_terminal_gets_colors_unless_they_are_declined),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}

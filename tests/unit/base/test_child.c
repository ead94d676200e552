/*
 * Child processes: what a command gets from the process that starts it, what dies with that, and
 * how ends are told.
 */
#include "base/base.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* What a command writes to standard output. */
static const char *output_of(const char *const *arguments, struct child_command command)
{
    static char text[4096];
    int ends[2], status;
    pid_t id;
    size_t size = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    command.program = arguments[0];
    command.arguments = arguments;
    command.files[1] = ends[1];
    assert_int_equal(child_exec(&command, &id), 0);
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)got;
    close(ends[0]);
    assert_int_equal(child_wait(id, &status), CHILD_ENDED);
    assert_true(child_has_succeeded(status));
    text[size] = '\0';
    return text;
}

static const struct child_command own = {.files = {CHILD_NULL, CHILD_NULL, CHILD_SAME, CHILD_NONE}};
static const struct child_command users = {
    .files = {CHILD_SAME, CHILD_SAME, CHILD_SAME, CHILD_SAME}, .is_users = true};

TEST(a_command_gets_no_descriptors_but_its_own)
{
    static const char *const look[] = {
        "sh", "-c", "for i in 3 77; do test ! -e /proc/$$/fd/$i || echo $i; done", NULL};
    enum { LEAKED = 77 };
    assert_int_equal(dup2(STDERR_FILENO, LEAKED), LEAKED); /* not close-on-exec */
    assert_string_equal(output_of(look, own), "");
    assert_non_null(strstr(output_of(look, users), "77\n")); /* as a shell's commands do */
    close(LEAKED);
}

/* All ways to make descriptors 0 to 3 of what are 0 to 3 here: none is lost to another's place. */
TEST(descriptors_may_change_places)
{
    int saved[CHILD_FILES], status;
    struct scratch_name names[CHILD_FILES] = {scratch_name(state, "0"), scratch_name(state, "1"),
                                              scratch_name(state, "2"), scratch_name(state, "3")};
    bool ok = true;
    for (int i = 0; i < CHILD_FILES; i++) {
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100); /* -1 for the last */
        int file = open(names[i].path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        dup3(file, i, i == 3 ? O_CLOEXEC : 0);
        if (file != i)
            close(file);
    }
    for (int way = 0; way < 256; way++) {
        const char *const arguments[] = {"sh", "-c",
                                         "echo 0 >&0; echo 1 >&1; echo 2 >&2; echo 3 >&3", NULL};
        const struct child_command command = {
            .program = "sh",
            .arguments = arguments,
            .files = {way & 3, way >> 2 & 3, way >> 4 & 3, way >> 6 & 3}};
        pid_t id;
        char expected[CHILD_FILES][16] = {{0}}, found[16];
        for (int i = 0; i < CHILD_FILES; i++) {
            char *at = expected[command.files[i]];
            sprintf(at + strlen(at), "%d\n", i);
            ok = ok && ftruncate(i, 0) == 0 && lseek(i, 0, SEEK_SET) == 0;
        }
        ok = ok && child_exec(&command, &id) == 0 && child_wait(id, &status) == CHILD_ENDED &&
             child_has_succeeded(status);
        for (int i = 0; i < CHILD_FILES; i++) {
            ssize_t got = pread(i, found, sizeof found, 0);
            ok = ok && got == (ssize_t)strlen(expected[i]) &&
                 memcmp(found, expected[i], (size_t)got) == 0;
        }
    }
    for (int i = 0; i < CHILD_FILES; i++) {
        if (saved[i] >= 0)
            dup2(saved[i], i);
        else
            close(i);
        if (saved[i] >= 0)
            close(saved[i]);
    }
    assert_true(ok); /* here, where there is an output again */
}

TEST(a_command_ignores_what_the_program_found_ignored)
{
    static const char *const look[] = {"grep", "-E", "Sig(Ign|Blk)", "/proc/self/status", NULL};
    static const char format[] = "SigBlk:\t%016x\nSigIgn:\t%016x\n";
    char expected[64];
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* whatever this test was started with */
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    child_adopt_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_IGN); /* as the program does for itself */
    unsigned ignored = 1U << (SIGHUP - 1) | 1U << (SIGCHLD - 1);
    snprintf(expected, sizeof expected, format, 1U << (SIGUSR2 - 1), ignored);
    assert_string_equal(output_of(look, users), expected);
    snprintf(expected, sizeof expected, format, 0U, ignored);
    assert_string_equal(output_of(look, own), expected);
    signal(SIGPIPE, SIG_DFL);
    child_adopt_signals();
    snprintf(expected, sizeof expected, format, 0U, 0U);
    assert_string_equal(output_of(look, own), expected);
}

TEST(a_command_has_its_limits)
{
    static const char *const limits[] = {"cat", "/proc/self/limits", NULL};
    struct child_command command = own;
    command.limits = (struct child_limits){.address_bytes = (uint64_t)1 << 40,
                                           .data_bytes = (uint64_t)1 << 39,
                                           .cpu_s = 500,
                                           .file_bytes = 1 << 20};
    const char *found = output_of(limits, command);
    unsigned long long soft, hard;
    assert_int_equal(sscanf(strstr(found, "Max cpu time"), "Max cpu time %llu %llu", &soft, &hard),
                     2);
    assert_true(soft == 500 && hard == 505); /* SIGXCPU, then SIGKILL */
    sscanf(strstr(found, "Max file size"), "Max file size %llu", &soft);
    assert_int_equal(soft, 1 << 20);
    sscanf(strstr(found, "Max core file size"), "Max core file size %llu", &soft);
    assert_int_equal(soft, 0);
    if (IS_SANITIZED) /* which needs terabytes of them */
        return;
    sscanf(strstr(found, "Max data size"), "Max data size %llu", &soft);
    assert_int_equal(soft, (uint64_t)1 << 39);
    sscanf(strstr(found, "Max address space"), "Max address space %llu", &soft);
    assert_int_equal(soft, (uint64_t)1 << 40);
}

TEST(what_cannot_be_run_is_told_as_a_shell_does)
{
    struct scratch_name name = scratch_name(state, "file");
    const char *const arguments[] = {"x", NULL};
    struct child_command command = own;
    pid_t id = 1;
    if (IS_SANITIZED) /* see child.c */
        return;
    write_whole_file(name.path, "", 0);
    command.arguments = arguments;
    command.program = "kymo-no-such-program";
    assert_int_equal(child_exec(&command, &id), ENOENT);
    assert_int_equal(id, -1);
    assert_int_equal(child_unstarted_code(ENOENT), 127);
    command.program = name.path;
    assert_int_equal(child_exec(&command, &id), EACCES);
    assert_int_equal(child_unstarted_code(EACCES), 126);
    assert_int_equal(waitpid(-1, NULL, 0), -1); /* no child is left */
}

TEST(how_a_child_ended_is_told)
{
    static const struct {
        const char *script, *text;
        int code;
    } cases[] = {{"exit 3", "failed with exit code 3", 3},
                 {"kill -9 $$", "was killed by signal 9 (Killed)", 137}};
    char text[CHILD_TEXT_SIZE];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *const arguments[] = {"sh", "-c", cases[i].script, NULL};
        struct child_command command = own;
        pid_t id;
        int status;
        command.program = "sh";
        command.arguments = arguments;
        assert_int_equal(child_exec(&command, &id), 0);
        assert_int_equal(child_wait_any(&status), id);
        assert_string_equal(child_end_text(status, text), cases[i].text);
        assert_int_equal(child_exit_code(status), cases[i].code);
        assert_false(child_has_succeeded(status));
        assert_int_equal(child_look(id, &status), CHILD_LOST);
        assert_false(child_has_succeeded(status));
    }
}

/* A process that starts children, which hold the pipe, and is killed: the pipe's end comes when all
 * of them are gone. */
TEST(children_die_with_their_parent)
{
    int ends[2], status;
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t parent = fork();
    if (parent == 0) {
        const char *const arguments[] = {"sleep", "1000", NULL};
        struct child_command command = own;
        pid_t id;
        command.program = "sleep";
        command.arguments = arguments;
        command.files[1] = ends[1];
        command.death_signal = SIGKILL;
        if (child_exec(&command, &id) != 0)
            _exit(1);
        if (child_fork(SIGTERM) == 0)
            for (;;)
                pause();
        raise(SIGKILL);
    }
    close(ends[1]);
    assert_int_equal(child_wait(parent, &status), CHILD_ENDED);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_gets_no_descriptors_but_its_own),
        SCRATCH_TEST(descriptors_may_change_places),
        cmocka_unit_test(a_command_ignores_what_the_program_found_ignored),
        cmocka_unit_test(a_command_has_its_limits),
        SCRATCH_TEST(what_cannot_be_run_is_told_as_a_shell_does),
        cmocka_unit_test(how_a_child_ended_is_told),
        cmocka_unit_test(children_die_with_their_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

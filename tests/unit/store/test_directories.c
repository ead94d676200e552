/*
 * Directories that are made while another process removes those above them, empty ones, as ranks of
 * a dataset come and go.
 */
#include "base/directory.h"
#include "store/tables/store.h"

#include "support.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(directories_are_made_with_those_above_them)
{
    struct scratch_name name = scratch_name(state, "a/b/c");
    struct stat status;
    struct error err;
    for (int i = 0; i < 2; i++) /* once more where they are there */
        assert_true(make_directories(name.path, &err));
    assert_int_equal(stat(name.path, &status), 0);
    assert_true(S_ISDIR(status.st_mode));
}

TEST(directories_are_made_while_others_remove_them)
{
    struct scratch_name above = scratch_name(state, "a"), middle = scratch_name(state, "a/b"),
                        name = scratch_name(state, "a/b/c");
    struct error err;
    pid_t child = fork();
    if (child == 0)
        for (;;) {
            rmdir(name.path);
            rmdir(middle.path);
            rmdir(above.path);
            usleep(20);
        }
    size_t failures = 0;
    for (int i = 0; i < 5000; i++)
        failures += !make_directories(name.path, &err);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(failures, 0);
}

TEST(a_file_in_the_way_is_an_error)
{
    struct scratch_name file = scratch_name(state, "file"), name = scratch_name(state, "file/a");
    struct error err;
    write_whole_file(file.path, "x", 1);
    assert_false(make_directories(name.path, &err));
    assert_non_null(strstr(err.text, "cannot create directory: Not a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(directories_are_made_with_those_above_them),
        SCRATCH_TEST(directories_are_made_while_others_remove_them),
        SCRATCH_TEST(a_file_in_the_way_is_an_error),
    };
    return cmocka_run_group_tests_name("directories", tests, NULL, NULL);
}

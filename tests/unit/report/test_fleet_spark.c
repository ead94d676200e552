/*
 * The process of Spark, where the system has no memory for its streams.
 */
#include "report/fleet/spark.h"
#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/wait.h>

static int streams_left;

/* Takes the place of libc's. */
FILE *fdopen(int fd, const char *mode)
{
    FILE *(*open_stream)(int, const char *);
    *(void **)&open_stream = dlsym(RTLD_NEXT, "fdopen");
    errno = ENOMEM;
    return streams_left-- > 0 ? open_stream(fd, mode) : NULL;
}

TEST(a_pipe_without_a_stream_is_an_error_and_leaves_no_process)
{
    struct spark *spark;
    struct error err;
    setenv("KYMO_PYTHON", "true", 1);
    for (int streams = 0; streams < 2; streams++) {
        streams_left = streams;
        assert_false(spark_start(&spark, "local", &err));
        assert_string_equal(err.text, "cannot make a pipe: Cannot allocate memory");
        assert_int_equal(waitpid(-1, NULL, 0), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_without_a_stream_is_an_error_and_leaves_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

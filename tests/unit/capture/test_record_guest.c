/*
 * The recorder in programs that cancel threads, leave signal handlers with longjmp, fork, and exit
 * at any time: no lock stays held, and recorded events are intact.
 */
#include "ntrace_model.h"

#include "capture/recorder/record.h"
#include "kymo/kymo.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { LONGEST_SECONDS = 240, WRITERS = 3 };

/* Read by ThreadSanitizer: children start threads here, as real programs do, and leave some
 * running. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0:report_thread_leaks=0:report_signal_unsafe=0";
}

/* Leak detection is off for the hundreds of children, which end at any time. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void start_in(void **state, uint64_t max_events)
{
    struct kymo_options options = KYMO_OPTIONS;
    options.output_dir = ((struct scratch *)*state)->path;
    options.instance = "i-test";
    options.max_events = max_events;
    if (kymo_start(&options) != 0)
        _exit(101);
}

/* Runs body in a child; SIGALRM ends one that hangs. Returns its status and session directory. */
static int run(void **state, void (*body)(void **state), char directory[static 4096])
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(LONGEST_SECONDS);
        body(state);
        _exit(102);
    }
    int status;
    waitpid(child, &status, 0);
    snprintf(directory, 4096, "%s/i-test_pid_%d", ((struct scratch *)*state)->path, (int)child);
    return status;
}

static void record_number(uint64_t i)
{
    char text[32];
    snprintf(text, sizeof text, "text %d", (int)i);
    switch (i % 3) {
    case 0:
        KYMO_INSTANT("number", kymo_uint("i", i));
        break;
    case 1:
        KYMO_INSTANT("number", kymo_uint("i", i), kymo_uint("twice", i * 2),
                     kymo_uint("thrice", i * 3));
        break;
    default:
        kymo_named_event("number", KYMO_KIND_INSTANT, i,
                         (struct kymo_arg[]){kymo_uint("i", i), kymo_text("text", text)}, 2);
    }
}

/* Every event is one that record_number recorded, numbers increase within a lane, and recorded =
 * kept + lost. */
static void assert_whole(const struct ntrace *trace)
{
    for (size_t e = 0; e < trace->events.count; e++) {
        const struct model_event *event = &trace->events.items[e];
        const struct model_arg *args = &trace->args.items[event->first_arg];
        uint64_t i = args[0].value;
        assert_true(model_is(event->name, "number"));
        assert_true(model_is(args[0].key, "i"));
        assert_int_equal(event->args, i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 2);
        if (i % 3 == 1) {
            assert_int_equal(args[1].value, i * 2);
            assert_int_equal(args[2].value, i * 3);
        } else if (i % 3 == 2) {
            char text[32];
            snprintf(text, sizeof text, "text %d", (int)i);
            assert_int_equal(event->id, i);
            assert_true(model_is(args[1].text, text));
        }
        if (e > 0 && event[-1].lane == event->lane)
            assert_true(i > trace->args.items[event[-1].first_arg].value);
    }
    assert_int_equal(trace->recorded, trace->kept + trace->lost);
}

static void read_session(struct ntrace *trace, const char *directory)
{
    struct error err;
    struct record_summary summary;
    if (record_is_left_over(directory) && !record_recover(directory, &summary, &err))
        fail_msg("%s: %s", err.file, err.text);
    model_read(trace, directory);
    assert_whole(trace);
}

/* ---- Canceled threads --------------------------------------------------------------------- */

/* The first event opens files: without protection, the thread is canceled there. */
static void *record_canceled(void *number)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    record_number((uint64_t)(intptr_t)number);
    pthread_testcancel();
    return NULL;
}

static void cancel_in_first_event(void **state)
{
    start_in(state, 1000);
    for (intptr_t i = 0; i < 50; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, record_canceled, (void *)i);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            _exit(1);
    }
    exit(kymo_stop() != 0);
}

TEST(a_thread_canceled_in_its_first_event_leaves_no_lock_held)
{
    char directory[4096];
    struct ntrace trace;
    assert_int_equal(run(state, cancel_in_first_event, directory), 0);
    read_session(&trace, directory);
    assert_int_equal(trace.kept, 50);
    model_free(&trace);
}

/* pthread_cancel sends this signal some time after it looked whether it may. Most versions of glibc
 * take it for a cancellation even if the thread has disabled that meanwhile; the others ignore one
 * that comes alone. */
enum { CANCEL_SIGNAL = 32 };
static __thread bool cancel_comes_late;

/* The recorder's, which holds a lock when it makes a ring. */
int ftruncate(int fd, off_t size)
{
    if (cancel_comes_late)
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), CANCEL_SIGNAL);
    return (int)syscall(SYS_ftruncate, fd, size);
}

static bool is_cancellable(int expected_type)
{
    int state, type;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_setcanceltype(expected_type, &type);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    return state == PTHREAD_CANCEL_ENABLE && type == expected_type;
}

static bool same_signals(const sigset_t *a, const sigset_t *b)
{
    int differences = 0;
    for (int number = 1; number <= SIGRTMAX; number++)
        differences += sigismember(a, number) != sigismember(b, number);
    return differences == 0;
}

/* Of either type of cancellation. */
static void *record_and_be_canceled_late(void *number)
{
    sigset_t before, after;
    int type = (intptr_t)number % 2 ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(type, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    cancel_comes_late = true;
    record_number((uint64_t)(intptr_t)number);
    cancel_comes_late = false;
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    if (!same_signals(&before, &after) || !is_cancellable(type))
        _exit(1);
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return NULL;
}

static void cancel_late(void **state)
{
    start_in(state, 1000);
    for (intptr_t i = 0; i < 50; i++) {
        pthread_t thread;
        void *result;
        /* With the first call of pthread_cancel, glibc installs its signal handler. */
        pthread_create(&thread, NULL, i ? record_and_be_canceled_late : record_canceled, (void *)i);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            _exit(1);
    }
    exit(kymo_stop() != 0);
}

/* With asynchronous cancellation, the signal may have ended a thread before its event. */
TEST(a_cancellation_that_comes_late_leaves_no_lock_held)
{
    if (IS_SANITIZED)
        skip();
    char directory[4096];
    struct ntrace trace;
    assert_int_equal(run(state, cancel_late, directory), 0);
    read_session(&trace, directory);
    assert_in_range(trace.kept, 25, 50);
    model_free(&trace);
}

static void *record_until_canceled(void *first)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (uint64_t i = (uint64_t)(intptr_t)first * 1000000;; i++)
        record_number(i);
    return NULL;
}

static void cancel_anywhere(void **state)
{
    struct rng rng = {1};
    start_in(state, 200);
    for (intptr_t i = 0; i < 400; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, record_until_canceled, (void *)i);
        usleep((useconds_t)rng_below(&rng, 600));
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    exit(kymo_stop() != 0);
}

TEST(threads_may_be_canceled_at_any_instruction)
{
    if (IS_SANITIZED) /* sanitizers do not support longjmp from any instruction */
        skip();
    char directory[4096];
    struct ntrace trace;
    assert_int_equal(run(state, cancel_anywhere, directory), 0);
    read_session(&trace, directory);
    assert_true(trace.kept > 0);
    model_free(&trace);
}

/* ---- Signals ------------------------------------------------------------------------------- */

static sigjmp_buf back;

static void jump(int number)
{
    siglongjmp(back, number);
}

/* Sends SIGUSR1 repeatedly; SIGALRM is for programs that hang. */
static void set_timer(int microseconds)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec times = {.it_interval = {.tv_nsec = microseconds * 1000},
                               .it_value = {.tv_nsec = microseconds * 1000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &times, NULL) != 0)
        _exit(103);
}

/* The jumps must not hit the check after each of them. */
static void jump_out_of_events(void **state)
{
    static volatile uint64_t i, jumps;
    sigset_t jumping;
    sigemptyset(&jumping);
    sigaddset(&jumping, SIGUSR1);
    start_in(state, 3000);
    signal(SIGUSR1, jump);
    sigprocmask(SIG_BLOCK, &jumping, NULL);
    sigsetjmp(back, 1);
    if (!is_cancellable(PTHREAD_CANCEL_DEFERRED))
        _exit(104);
    if (jumps++ == 0)
        set_timer(150);
    sigprocmask(SIG_UNBLOCK, &jumping, NULL);
    while (jumps < 5000) {
        i++;
        record_number(i);
    }
    signal(SIGUSR1, SIG_IGN);
    exit(kymo_stop() != 0);
}

TEST(signal_handlers_may_leave_an_event_with_longjmp)
{
    char directory[4096];
    struct ntrace trace;
    assert_int_equal(run(state, jump_out_of_events, directory), 0);
    read_session(&trace, directory);
    assert_true(trace.kept > 500 && trace.lost > 0);
    model_free(&trace);
}

static void stop_in_handler(int number)
{
    exit(number == SIGUSR1 ? 0 : 1);
}

static void exit_in_handler(void **state)
{
    signal(SIGUSR1, stop_in_handler);
    start_in(state, 3000);
    set_timer(100 + (int)(getpid() % 900));
    for (uint64_t i = 0;; i++)
        record_number(i);
}

TEST(signal_handlers_may_exit_in_the_middle_of_an_event)
{
    for (int round = 0; round < 30; round++) {
        char directory[4096];
        struct ntrace trace;
        assert_int_equal(run(state, exit_in_handler, directory), 0);
        if (access(directory, F_OK) != 0)
            continue; /* ended before its first event */
        read_session(&trace, directory);
        model_free(&trace);
    }
}

/* ---- fork and exit ------------------------------------------------------------------------- */

static void *record_for_ever(void *first)
{
    for (uint64_t i = (uint64_t)(intptr_t)first * 100000000;; i++)
        record_number(i);
    return NULL;
}

static void *come_and_go(void *unused)
{
    for (intptr_t i = 100;; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_canceled, (void *)i) == 0)
            pthread_join(thread, NULL);
    }
    return unused;
}

static void start_writers(void)
{
    pthread_t thread;
    for (intptr_t i = 1; i <= WRITERS; i++)
        pthread_create(&thread, NULL, record_for_ever, (void *)i);
    pthread_create(&thread, NULL, come_and_go, NULL);
}

/* At most so long after the writers' first events, in which names are made. */
static unsigned longest_us;

static void record_for_a_while(void **state)
{
    start_in(state, longest_us < 2000 ? 2000 : 50000);
    start_writers();
    usleep((unsigned)getpid() * 7919 % longest_us);
}

static void exit_under_writers(void **state)
{
    record_for_a_while(state);
    exit(0);
}

static void quick_exit_under_writers(void **state)
{
    record_for_a_while(state);
    quick_exit(0);
}

TEST(a_program_may_exit_while_its_threads_record)
{
    for (int round = 0; round < (IS_SANITIZED ? 12 : 60); round++) {
        char directory[4096];
        struct ntrace trace;
        longest_us = round % 3 ? 1000 : 10000;
        assert_int_equal(
            run(state, round % 2 ? exit_under_writers : quick_exit_under_writers, directory), 0);
        if (access(directory, F_OK) != 0)
            continue;
        read_session(&trace, directory);
        model_free(&trace);
    }
}

static void fork_under_writers(void **state)
{
    start_in(state, 2000);
    start_writers();
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(LONGEST_SECONDS / 2);
            for (uint64_t k = 0; k < 20; k++)
                record_number(k);
            exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status != 0)
            _exit(1);
    }
    exit(0);
}

TEST(a_program_may_fork_while_its_threads_record)
{
    if (IS_SANITIZED) /* sanitizers do not support threads in a child of a threaded program */
        skip();
    char directory[4096];
    struct ntrace trace;
    assert_int_equal(run(state, fork_under_writers, directory), 0);
    read_session(&trace, directory);
    model_free(&trace);
}

/* ---- Texts --------------------------------------------------------------------------------- */

/* More than the recorder's file of names holds. */
enum { TEXTS = 160000, KEPT = 2000, TEXT_SIZE = 512 };

static void long_text(char text[static TEXT_SIZE], uint64_t i)
{
    snprintf(text, TEXT_SIZE, "the text of event %d, which is as long as a path to a file: %0*d",
             (int)i, 350 + (int)(i % 40), 0);
}

static void record_texts(void **state)
{
    char text[TEXT_SIZE];
    start_in(state, KEPT * 32);
    for (uint64_t i = 0; i < TEXTS; i++) {
        long_text(text, i);
        kymo_named_event(text, KYMO_KIND_INSTANT, i % 2,
                         (struct kymo_arg[]){kymo_text("text", text), kymo_uint("i", i),
                                             kymo_text("again", i % 3 ? text : "")},
                         3);
    }
    KYMO_INSTANT("a name in the source", kymo_uint("a key in the source", 1));
    exit(kymo_stop() != 0);
}

TEST(events_that_are_kept_keep_their_texts_however_many_there_were)
{
    char directory[4096], text[TEXT_SIZE];
    struct ntrace trace;
    assert_int_equal(run(state, record_texts, directory), 0);
    model_read(&trace, directory);
    assert_true(trace.kept > KEPT / 2 && trace.lost > 0);
    for (size_t e = 0; e + 1 < trace.events.count; e++) {
        const struct model_event *event = &trace.events.items[e];
        const struct model_arg *args = &trace.args.items[event->first_arg];
        assert_int_equal(event->args, 3);
        uint64_t i = args[1].value;
        assert_int_equal(i, TEXTS - (trace.events.count - 1) + e);
        long_text(text, i);
        assert_true(model_is(event->name, text));
        assert_true(model_is(args[0].text, text));
        assert_true(model_is(args[2].text, i % 3 ? text : ""));
    }
    const struct model_event *last = &trace.events.items[trace.events.count - 1];
    assert_true(model_is(last->name, "a name in the source"));
    assert_true(model_is(trace.args.items[last->first_arg].key, "a key in the source"));
    assert_int_equal(trace.lost_names, 0);
    model_free(&trace);
}

enum { LONG = 5000, LONG_TEXTS = 8000 };

static void record_long_texts(void **state)
{
    static char text[LONG + 1];
    memset(text, 'x', LONG);
    start_in(state, 1000);
    for (uint64_t i = 0; i < LONG_TEXTS; i++) {
        int size = snprintf(text, 32, "%d", (int)i);
        text[size] = 'x';
        KYMO_INSTANT("number", kymo_text("text", text));
    }
    exit(kymo_stop() != 0);
}

TEST(a_text_too_long_for_a_ring_is_cut_visibly_and_counted)
{
    char directory[4096];
    struct ntrace trace;
    assert_int_equal(run(state, record_long_texts, directory), 0);
    model_read(&trace, directory);
    assert_true(trace.events.count > 0);
    struct text text = trace.args.items[trace.args.count - 1].text;
    assert_in_range(text.size, 1000, LONG - 1);
    assert_memory_equal(text.data, "7999xxx", 7);
    assert_memory_equal(text.data + text.size - 4, "x...", 4);
    assert_in_range(trace.lost_names, 1, LONG_TEXTS - 1);
    model_free(&trace);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_thread_canceled_in_its_first_event_leaves_no_lock_held),
        WITH_FOLDER(a_cancellation_that_comes_late_leaves_no_lock_held),
        WITH_FOLDER(threads_may_be_canceled_at_any_instruction),
        WITH_FOLDER(signal_handlers_may_leave_an_event_with_longjmp),
        WITH_FOLDER(signal_handlers_may_exit_in_the_middle_of_an_event),
        WITH_FOLDER(a_program_may_exit_while_its_threads_record),
        WITH_FOLDER(a_program_may_fork_while_its_threads_record),
        WITH_FOLDER(events_that_are_kept_keep_their_texts_however_many_there_were),
        WITH_FOLDER(a_text_too_long_for_a_ring_is_cut_visibly_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

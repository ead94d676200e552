/*
 * The recorder under failures: killed programs, full disks, unwritable directories, children of
 * fork, damaged rings.
 */
#include "ntrace_model.h"

#include "capture/recorder/record.h"
#include "kymo/kymo.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* Read by ThreadSanitizer: children start threads here, as real programs do. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

static struct kymo_options options_for(const char *directory, uint64_t max_events)
{
    struct kymo_options options = KYMO_OPTIONS;
    options.output_dir = directory;
    options.instance = "i-test";
    options.max_events = max_events;
    return options;
}

static int start_in(const char *directory, uint64_t max_events)
{
    struct kymo_options options = options_for(directory, max_events);
    return kymo_start(&options);
}

static void session_of(char path[static 4096], void **state, pid_t pid)
{
    snprintf(path, 4096, "%s/i-test_pid_%d", ((struct scratch *)*state)->path, (int)pid);
}

/* A counter in memory shared with the parent. */
static _Atomic uint64_t *shared_counter(void)
{
    void *memory =
        mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void record_number(uint64_t i)
{
    switch (i % 4) {
    case 0:
        KYMO_INSTANT("number", kymo_uint("i", i));
        break;
    case 1:
        KYMO_INSTANT("number", kymo_uint("i", i), kymo_uint("twice", i * 2),
                     kymo_uint("thrice", i * 3));
        break;
    default: {
        char text[32];
        snprintf(text, sizeof text, "text %d", (int)(i % 100));
        kymo_named_event("number", KYMO_KIND_INSTANT, i,
                         (struct kymo_arg[]){kymo_uint("i", i), kymo_text("text", text)}, 2);
    }
    }
}

/* The number of an event, checked to be one that record_number recorded. */
static uint64_t whole_number(const struct ntrace *trace, const struct model_event *event)
{
    const struct model_arg *args = &trace->args.items[event->first_arg];
    uint64_t i = args[0].value;
    assert_true(model_is(event->name, "number"));
    assert_true(model_is(args[0].key, "i"));
    assert_int_equal(event->args, i % 4 == 0 ? 1 : i % 4 == 1 ? 3 : 2);
    if (i % 4 == 1) {
        assert_int_equal(args[1].value, i * 2);
        assert_int_equal(args[2].value, i * 3);
    } else if (i % 4 > 1) {
        char text[32];
        snprintf(text, sizeof text, "text %d", (int)(i % 100));
        assert_int_equal(event->id, i);
        assert_true(model_is(args[1].text, text));
    }
    return i;
}

/* The same for its neighbors. */
static void assert_whole_numbers(const struct ntrace *trace, uint64_t *last)
{
    for (size_t e = 0; e < trace->events.count; e++) {
        uint64_t i = whole_number(trace, &trace->events.items[e]);
        if (e > 0)
            assert_int_equal(i, *last + 1);
        *last = i;
    }
}

/* A child that records until the signal kills it, at any instruction. */
static void die_recording(void **state, int deadly, uint64_t max_events, useconds_t after)
{
    int64_t begun_ns = wall_ns();
    _Atomic uint64_t *finished = shared_counter();
    pid_t child = fork();
    if (child == 0) {
        signal(deadly, SIG_DFL); /* cmocka handles some signals */
        if (start_in(((struct scratch *)*state)->path, max_events) != 0)
            _exit(1);
        for (uint64_t i = 0;; i++) {
            record_number(i);
            *finished = i + 1;
            if (deadly == SIGABRT && i == 5000)
                abort();
        }
    }
    while (*finished < 1000)
        usleep(100);
    usleep(after);
    if (deadly != SIGABRT)
        kill(child, deadly);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == deadly);
    char directory[4096];
    struct error err;
    session_of(directory, state, child);
    assert_true(record_is_left_over(directory));
    struct record_summary summary;
    if (!record_recover(directory, &summary, &err))
        fail_msg("%s: %s", err.file, err.text);
    assert_false(record_is_left_over(directory));
    assert_int_equal(summary.process, child);
    assert_int_equal(summary.skipped, 0);
    struct ntrace trace;
    uint64_t last = 0;
    model_read(&trace, directory);
    assert_true(trace.recovered);
    assert_int_equal(trace.pid, child);
    assert_whole_numbers(&trace, &last);
    for (size_t i = 0; i < trace.events.count; i++)
        assert_in_range(trace.events.items[i].time_ns, begun_ns - 1000000, wall_ns() + 1000000);
    /* The event in progress may have been recorded but not counted. */
    assert_in_range(trace.recorded, *finished, *finished + 1);
    assert_int_equal(last, trace.recorded - 1);
    assert_true(trace.kept > 0 && (trace.recorded <= max_events) >= (trace.lost == 0));
    model_free(&trace);
    munmap((void *)finished, sizeof *finished);
}

TEST(a_killed_program_loses_nothing)
{
    struct rng rng = {3};
    for (int i = 0; i < 10; i++)
        die_recording(state, SIGKILL, 50000000, (useconds_t)rng_below(&rng, 20000));
}

TEST(a_killed_program_with_a_full_ring_keeps_the_newest_events_whole)
{
    struct rng rng = {4};
    for (int i = 0; i < 20; i++)
        die_recording(state, SIGKILL, 1 + rng_below(&rng, 500), (useconds_t)rng_below(&rng, 20000));
}

TEST(a_program_that_aborts_or_is_terminated_loses_nothing)
{
    die_recording(state, SIGABRT, 1000000, 0);
    die_recording(state, SIGTERM, 1000000, 0);
    die_recording(state, SIGSEGV, 1000000, 0);
}

/* At any moment, the files either exist or can be made from the rings. */
TEST(a_program_killed_while_it_stops_a_capture_loses_nothing)
{
    enum { EVENTS = 60000 };
    struct rng rng = {8};
    int recoveries = 0, rounds = IS_SANITIZED ? 8 : 25;
    for (int round = 0; round < rounds; round++) {
        _Atomic uint64_t *stage = shared_counter();
        pid_t child = fork();
        if (child == 0) {
            if (start_in(((struct scratch *)*state)->path, EVENTS * 2) != 0)
                _exit(1);
            for (uint64_t i = 0; i < EVENTS; i++)
                record_number(i);
            *stage = 1;
            kymo_stop();
            pause();
        }
        while (*stage == 0)
            usleep(100);
        usleep((useconds_t)rng_below(&rng, 12000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        char directory[4096];
        struct error err;
        session_of(directory, state, child);
        if (record_is_left_over(directory)) {
            struct record_summary summary;
            if (!record_recover(directory, &summary, &err))
                fail_msg("%s: %s", err.file, err.text);
            recoveries++;
        }
        struct ntrace trace;
        uint64_t last;
        model_read(&trace, directory);
        assert_whole_numbers(&trace, &last);
        assert_int_equal(trace.kept, EVENTS);
        model_free(&trace);
        munmap((void *)stage, sizeof *stage);
    }
    print_message("%d of %d had to be recovered\n", recoveries, rounds);
}

TEST(rings_of_a_running_program_are_left_alone)
{
    _Atomic uint64_t *ready = shared_counter();
    pid_t child = fork();
    if (child == 0) {
        *ready = start_in(((struct scratch *)*state)->path, 100) == 0 ? 1 : 2;
        pause();
        _exit(0);
    }
    while (*ready == 0)
        usleep(100);
    assert_int_equal(*ready, 1);
    char directory[4096];
    struct error err;
    struct record_summary summary;
    session_of(directory, state, child);
    assert_false(record_recover(directory, &summary, &err));
    assert_non_null(strstr(err.text, "still recording"));
    assert_true(record_is_left_over(directory));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(record_recover(directory, &summary, &err));
    munmap((void *)ready, sizeof *ready);
}

/* Converts rings to session files in another directory, with record_convert. */
static void convert_to(const char *to, const char *directory, struct record_summary *summary)
{
    static const char *const names[RECORD_FILES] = {"ntrace.pb", "trace_info.pb", "cpu_util.pb",
                                                    "host_mem.pb", "gpu_trace.pb"};
    int files[RECORD_FILES];
    struct error err;
    mkdir(to, 0700);
    for (size_t i = 0; i < RECORD_FILES; i++) {
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", to, names[i]);
        files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(files[i] >= 0);
    }
    if (!record_convert(directory, files, summary, &err))
        fail_msg("%s: %s", err.file, err.text);
    for (size_t i = 0; i < RECORD_FILES; i++)
        close(files[i]);
}

/* The ring wraps around meanwhile. */
TEST(a_running_program_is_read_without_an_event_that_is_half_overwritten)
{
    _Atomic uint64_t *finished = shared_counter();
    struct scratch_name to = scratch_name(state, "snapshot");
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (start_in(((struct scratch *)*state)->path, 20000) != 0)
            _exit(1);
        for (uint64_t i = 0;; i++) {
            record_number(i);
            *finished = i + 1;
        }
    }
    while (*finished < 100000)
        usleep(100);
    char directory[4096];
    session_of(directory, state, child);
    uint64_t kept = 0;
    for (int round = 0; round < 30; round++) {
        struct record_summary summary;
        struct ntrace trace;
        convert_to(to.path, directory, &summary);
        assert_true(summary.is_running);
        assert_int_equal(summary.process, child);
        model_read(&trace, to.path);
        assert_int_equal(trace.events.count, summary.kept);
        uint64_t last = 0;
        for (size_t e = 0; e < trace.events.count; e++) {
            uint64_t i = whole_number(&trace, &trace.events.items[e]);
            assert_true(e == 0 || i > last);
            last = i;
        }
        kept += trace.events.count;
        model_free(&trace);
    }
    assert_true(kept > 0);
    print_message("%d events of a ring of 20000 in the mean\n", (int)(kept / 30));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap((void *)finished, sizeof *finished);
}

/* As daemons do; a lock would be released with its descriptor. */
TEST(rings_of_a_program_that_closes_all_descriptors_are_left_alone)
{
    enum { EVENTS = 4000 };
    _Atomic uint64_t *count = shared_counter();
    pid_t child = fork();
    if (child == 0) {
        if (start_in(((struct scratch *)*state)->path, EVENTS) != 0)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        for (uint64_t i = 0; i < EVENTS; i++) {
            while (i == EVENTS / 4 && *count < EVENTS)
                usleep(100);
            record_number(i);
            if (i + 1 == EVENTS / 4)
                *count = i + 1;
        }
        exit(0);
    }
    while (*count == 0)
        usleep(100);
    char directory[4096];
    struct error err;
    struct record_summary summary;
    session_of(directory, state, child);
    assert_false(record_recover(directory, &summary, &err));
    assert_non_null(strstr(err.text, "still recording"));
    *count = EVENTS;
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct ntrace trace;
    uint64_t last;
    model_read(&trace, directory);
    assert_whole_numbers(&trace, &last);
    assert_int_equal(trace.recorded, EVENTS);
    assert_int_equal(last, EVENTS - 1);
    model_free(&trace);
    munmap((void *)count, sizeof *count);
}

/* The next descriptor the program opens has the number a recorder's descriptor would have. Without
 * samples of CPUs and memory: the files that are open meanwhile have such numbers too. */
TEST(a_capture_touches_no_descriptor_of_its_program)
{
    struct scratch_name name = scratch_name(state, "data");
    pid_t child = fork();
    if (child == 0) {
        struct kymo_options options = options_for(((struct scratch *)*state)->path, 1000);
        options.cpu_util_ms = options.host_memory_ms = 0;
        if (kymo_start(&options) != 0)
            _exit(1);
        record_number(0);
        int fd = open(name.path, O_RDWR | O_CREAT, 0600);
        for (int copy = 3; copy < 64; copy++)
            if (copy != fd && dup2(fd, copy) != copy)
                _exit(2);
        pid_t inner = fork();
        if (inner == 0) {
            for (int copy = 3; copy < 64; copy++)
                if (write(copy, "a", 1) != 1)
                    _exit(3);
            exit(0);
        }
        int status;
        waitpid(inner, &status, 0);
        if (status != 0 || kymo_stop() != 0)
            _exit(4);
        for (int copy = 3; copy < 64; copy++)
            if (write(copy, "b", 1) != 1)
                _exit(5);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    size_t size;
    free(read_whole_file(name.path, &size));
    assert_int_equal(size, 2 * (64 - 3));
}

TEST(a_child_of_fork_has_a_capture_of_its_own_once_it_records)
{
    char directory[4096];
    assert_int_equal(start_in(((struct scratch *)*state)->path, 1000), 0);
    record_number(0);
    pid_t silent = fork();
    if (silent == 0)
        exit(0);
    pid_t child = fork();
    if (child == 0) {
        for (uint64_t i = 10; i < 15; i++)
            record_number(i);
        exit(0); /* as a program ends: this writes the session */
    }
    int status;
    waitpid(silent, &status, 0);
    assert_int_equal(status, 0);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    record_number(1);
    assert_int_equal(kymo_stop(), 0);
    struct ntrace trace;
    uint64_t last;
    session_of(directory, state, getpid());
    model_read(&trace, directory);
    assert_whole_numbers(&trace, &last);
    assert_int_equal(trace.events.count, 2);
    model_free(&trace);
    session_of(directory, state, child);
    model_read(&trace, directory);
    assert_whole_numbers(&trace, &last);
    assert_int_equal(trace.events.count, 5);
    assert_int_equal(last, 14);
    assert_int_equal(trace.pid, child);
    model_free(&trace);
    session_of(directory, state, silent);
    assert_int_equal(access(directory, F_OK), -1);
}

/* Runs body in a child with standard error in a file; returns the number of lines. */
static size_t error_lines(void **state, void (*body)(void **state))
{
    struct scratch_name name = scratch_name(state, "stderr");
    pid_t child = fork();
    if (child == 0) {
        int fd = open(name.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, STDERR_FILENO);
        body(state);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    size_t size, lines = 0;
    char *text = read_whole_file(name.path, &size);
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    free(text);
    return lines;
}

static void record_in_a_file(void **state)
{
    (void)state;
    if (start_in("/dev/null/output", 1000) >= 0)
        _exit(1);
    for (uint64_t i = 0; i < 1000; i++)
        record_number(i);
    if (kymo_stop() != -EALREADY)
        _exit(2);
}

TEST(a_directory_that_cannot_be_made_gives_one_line_and_the_program_runs_on)
{
    assert_int_equal(error_lines(state, record_in_a_file), 1);
}

static void record_with_a_small_limit(void **state)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100 << 10, 100 << 10});
    if (start_in(((struct scratch *)*state)->path, 1000000) >= 0)
        _exit(1);
    record_number(1);
}

TEST(a_limit_on_the_size_of_files_gives_one_line_and_no_signal)
{
    assert_int_equal(error_lines(state, record_with_a_small_limit), 1);
}

/* Rings cannot grow if their files are gone: the same path as a full disk. */
static void record_without_files(void **state)
{
    char path[8192], directory[4096];
    if (start_in(((struct scratch *)*state)->path, 1000000) != 0)
        _exit(1);
    record_number(0);
    kymo_session_dir(directory, sizeof directory);
    snprintf(path, sizeof path, "%s/rings/lane_0", directory);
    unlink(path);
    for (uint64_t i = 1; i < 100000; i++)
        record_number(i);
    struct ntrace trace;
    uint64_t last;
    if (kymo_stop() != 0)
        _exit(2);
    model_read(&trace, directory);
    assert_whole_numbers(&trace, &last);
    if (trace.recorded != 100000 || trace.lost == 0 || trace.kept < 1000 || last != 99999)
        _exit(3);
}

TEST(a_ring_that_cannot_grow_goes_on_with_the_size_it_has)
{
    assert_int_equal(error_lines(state, record_without_files), 1);
}

static void record_on_a_full_disk(void **state)
{
    struct scratch_name disk = scratch_name(state, "disk");
    for (uint64_t i = 0; i < 1000000; i++) {
        if (i == 0 && start_in(disk.path, 1000000) != 0)
            _exit(1);
        record_number(i);
    }
    kymo_stop(); /* there is no room for the session files: the rings stay */
}

TEST(a_full_disk_ends_neither_the_program_nor_the_capture)
{
    struct scratch_name disk = scratch_name(state, "disk");
    assert_int_equal(mkdir(disk.path, 0700), 0);
    if (mount("tmpfs", disk.path, "tmpfs", 0, "size=4m") != 0)
        skip();
    size_t lines = error_lines(state, record_on_a_full_disk);
    umount(disk.path);
    assert_in_range(lines, 1, 2); /* when the ring could not grow; when nothing could be written */
}

static void *record_in_thread(void *number)
{
    record_number((uint64_t)(intptr_t)number);
    return NULL;
}

/* A session directory with a ring and a pack of three lanes. */
static void leave_rings(void **state, char directory[static 4096])
{
    pid_t child = fork();
    if (child == 0) {
        if (start_in(((struct scratch *)*state)->path, 300) != 0)
            _exit(1);
        for (uint64_t i = 0; i < 1000; i++)
            record_number(i);
        for (intptr_t i = 0; i < 3; i++) {
            pthread_t thread;
            pthread_create(&thread, NULL, record_in_thread, (void *)i);
            pthread_join(thread, NULL);
        }
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
    session_of(directory, state, child);
}

static bool convert_into_nothing(const char *directory, struct record_summary *summary,
                                 struct error *err)
{
    int files[RECORD_FILES];
    for (size_t i = 0; i < RECORD_FILES; i++)
        files[i] = memfd_create("converted", MFD_CLOEXEC);
    bool ok = record_convert(directory, files, summary, err);
    for (size_t i = 0; i < RECORD_FILES; i++)
        close(files[i]);
    return ok;
}

TEST(rings_with_any_damage_are_read_or_refused_but_never_believed_blindly)
{
    static const char *const names[] = {"session", "names", "lane_0", "pack_0"};
    struct rng rng = {9};
    for (int round = 0; round < 60; round++) {
        char directory[4096], path[8192];
        struct error err;
        struct record_summary summary;
        leave_rings(state, directory);
        snprintf(path, sizeof path, "%s/rings/%s", directory, names[round % 4]);
        int fd = open(path, O_RDWR);
        assert_true(fd >= 0);
        for (int i = 0; i < 20; i++) {
            uint64_t value = rng_any_width(&rng);
            off_t at = (off_t)(rng_below(&rng, round % 3 ? 300 : 8192));
            assert_true(pwrite(fd, &value, 1 + rng_below(&rng, 8), at) > 0);
        }
        if (round % 5 == 0)
            assert_int_equal(ftruncate(fd, (off_t)rng_below(&rng, 8192)), 0);
        close(fd);
        convert_into_nothing(directory, &summary, &err);
        record_recover(directory, &summary, &err);
        nftw(directory, scratch_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    }
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_killed_program_loses_nothing),
        WITH_FOLDER(a_killed_program_with_a_full_ring_keeps_the_newest_events_whole),
        WITH_FOLDER(a_program_that_aborts_or_is_terminated_loses_nothing),
        WITH_FOLDER(a_program_killed_while_it_stops_a_capture_loses_nothing),
        WITH_FOLDER(rings_of_a_running_program_are_left_alone),
        WITH_FOLDER(a_running_program_is_read_without_an_event_that_is_half_overwritten),
        WITH_FOLDER(rings_of_a_program_that_closes_all_descriptors_are_left_alone),
        WITH_FOLDER(a_capture_touches_no_descriptor_of_its_program),
        WITH_FOLDER(a_child_of_fork_has_a_capture_of_its_own_once_it_records),
        WITH_FOLDER(a_directory_that_cannot_be_made_gives_one_line_and_the_program_runs_on),
        WITH_FOLDER(a_limit_on_the_size_of_files_gives_one_line_and_no_signal),
        WITH_FOLDER(a_ring_that_cannot_grow_goes_on_with_the_size_it_has),
        WITH_FOLDER(a_full_disk_ends_neither_the_program_nor_the_capture),
        WITH_FOLDER(rings_with_any_damage_are_read_or_refused_but_never_believed_blindly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

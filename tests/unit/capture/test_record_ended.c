/*
 * Threads that end: their events are packed into few files, none is lost or there twice wherever
 * the program is killed, and nothing else is left of them.
 */
#include "ntrace_model.h"

#include "capture/recorder/record.h"
#include "kymo/kymo.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { MOST_FILES = 4096 }; /* of ended lanes; src/capture/recorder/ended.c */

/* Read by ThreadSanitizer: children start threads here, as real programs do. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

static void start_in(void **state, uint64_t max_events)
{
    struct kymo_options options = KYMO_OPTIONS;
    options.output_dir = ((struct scratch *)*state)->path;
    options.instance = "i-test";
    options.max_events = max_events;
    assert_int_equal(kymo_start(&options), 0);
}

static struct ntrace stop(void)
{
    struct ntrace trace;
    char directory[4096];
    assert_int_equal(kymo_stop(), 0);
    kymo_session_dir(directory, sizeof directory);
    assert_false(record_is_left_over(directory));
    model_read(&trace, directory);
    return trace;
}

/* A path in the rings of a process, or of this one with 0. */
static struct scratch_name in_rings(void **state, pid_t process, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "i-test_pid_%d/rings/%s", (int)(process ? process : getpid()),
             name);
    return scratch_name(state, path);
}

static size_t files_in(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void put_empty(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* ---- Threads ------------------------------------------------------------------------------- */

struct task {
    uint64_t thread, events;
    _Atomic uint64_t *finished; /* events of all threads, or NULL */
};

/* Events of one record and of several. */
static void *record_task(void *user)
{
    const struct task *task = user;
    for (uint64_t i = 0; i < task->events; i++) {
        if (i % 5 == 4)
            KYMO_INSTANT("number", kymo_uint("thread", task->thread), kymo_uint("i", i),
                         kymo_text("text", "some"));
        else
            kymo_named_event(
                "number", KYMO_KIND_INSTANT, 7,
                (struct kymo_arg[]){kymo_uint("thread", task->thread), kymo_uint("i", i)}, 2);
        if (task->finished)
            ++*task->finished;
    }
    return NULL;
}

static void run_task(uint64_t thread, uint64_t events, _Atomic uint64_t *finished)
{
    struct task task = {thread, events, finished};
    pthread_t handle;
    assert_int_equal(pthread_create(&handle, NULL, record_task, &task), 0);
    pthread_join(handle, NULL);
}

/* The threads follow each other from 0 on, and the events of each are whole and follow each other,
 * up to the last one that a thread recorded: `events` each; the last thread may have fewer. */
static void assert_tasks(const struct ntrace *trace, uint64_t events)
{
    uint64_t thread = 0, next = 0;
    for (size_t e = 0; e < trace->events.count; e++) {
        const struct model_event *event = &trace->events.items[e];
        const struct model_arg *args = &trace->args.items[event->first_arg];
        if (next == events) {
            thread++;
            next = 0;
        }
        assert_int_equal(args[0].value, thread);
        assert_int_equal(args[1].value, next);
        assert_int_equal(event->args, next % 5 == 4 ? 3 : 2);
        assert_int_equal(event->lane, thread);
        next++;
    }
}

static size_t lines_of(const char *path)
{
    size_t lines = 0;
    FILE *file = fopen(path, "re");
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

TEST(five_thousand_threads_come_and_go_and_leave_nothing_behind_but_their_events)
{
    enum { EVENTS = 40 };
    uint64_t threads = getenv("KYMO_SOAK_SECONDS") ? 40000 : 5000; /* more in `make soak` */
    start_in(state, 1000000);
    for (uint64_t i = 0; i < 10; i++)
        run_task(i, EVENTS, NULL);
    size_t maps = lines_of("/proc/self/maps"), open_files = files_in("/proc/self/fd");
    for (uint64_t i = 10; i < threads; i++)
        run_task(i, EVENTS, NULL);
    assert_in_range(lines_of("/proc/self/maps"), 0, maps + 50); /* sanitizers have their own */
    assert_int_equal(files_in("/proc/self/fd"), open_files);
    assert_in_range(files_in(in_rings(state, 0, "").path), 3, 8 + threads / 1000);
    struct ntrace trace = stop();
    assert_int_equal(trace.recorded, threads * EVENTS);
    assert_int_equal(trace.kept, threads * EVENTS);
    assert_int_equal(trace.lanes.count, threads);
    assert_tasks(&trace, EVENTS);
    model_free(&trace);
}

/* Short and long threads, with rings that are not full, just full, and went round. */
TEST(a_thread_that_has_ended_keeps_what_it_would_have_kept_alive)
{
    struct rng rng = {6};
    for (int round = 0; round < 40; round++) {
        uint64_t size = 1 + rng_below(&rng, round % 2 ? 300 : 20000);
        uint64_t events = 1 + rng_below(&rng, size * 3);
        struct ntrace traces[2];
        for (int is_alive = 0; is_alive < 2; is_alive++) {
            start_in(state, size);
            if (is_alive)
                record_task(&(struct task){0, events, NULL});
            else
                run_task(0, events, NULL);
            traces[is_alive] = stop();
        }
        assert_int_equal(traces[0].recorded, events);
        assert_int_equal(traces[0].recorded, traces[1].recorded);
        assert_int_equal(traces[0].events.count, traces[1].events.count);
        for (size_t e = 0; e < traces[0].events.count; e++)
            for (size_t i = 0; i < 2; i++)
                assert_int_equal(
                    traces[0].args.items[traces[0].events.items[e].first_arg + i].value,
                    traces[1].args.items[traces[1].events.items[e].first_arg + i].value);
        model_free(&traces[0]);
        model_free(&traces[1]);
    }
}

/* A file that is not the recorder's has the name of the first pack: every lane keeps its own. */
static void prevent_packs(void **state)
{
    put_empty(in_rings(state, 0, "pack_0").path);
}

/* ---- Kills --------------------------------------------------------------------------------- */

static _Atomic uint64_t *shared_counter(void)
{
    void *memory =
        mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

enum { EVENTS_OF_A_THREAD = 12 };

/* A child that makes threads, one after the other, until it is killed. */
static pid_t make_threads(void **state, bool has_packs, _Atomic uint64_t *finished)
{
    *finished = 0;
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start_in(state, 1000);
    if (!has_packs)
        prevent_packs(state);
    for (uint64_t i = 0;; i++)
        run_task(i, EVENTS_OF_A_THREAD, finished);
}

static void wait_until(const _Atomic uint64_t *finished, uint64_t count)
{
    while (*finished < count)
        usleep(100);
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static struct ntrace recover(void **state, pid_t child)
{
    struct error err;
    struct record_summary summary;
    struct ntrace trace;
    struct scratch_name rings = in_rings(state, child, "");
    char *end = strstr(rings.path, "/rings/");
    *end = '\0';
    if (!record_recover(rings.path, &summary, &err))
        fail_msg("%s: %s", err.file, err.text);
    assert_int_equal(summary.skipped, 0);
    assert_false(record_is_left_over(rings.path));
    model_read(&trace, rings.path);
    nftw(rings.path, scratch_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return trace;
}

/* The last thread may have begun an event that it had not counted. */
TEST(a_program_killed_while_its_threads_end_loses_nothing_and_has_nothing_twice)
{
    struct rng rng = {7};
    _Atomic uint64_t *finished = shared_counter();
    for (int round = 0; round < 30; round++) {
        pid_t child = make_threads(state, true, finished);
        wait_until(finished, 100);
        usleep((useconds_t)rng_below(&rng, 10000));
        end_child(child);
        struct ntrace trace = recover(state, child);
        assert_in_range(trace.recorded, *finished, *finished + 1);
        assert_int_equal(trace.kept, trace.recorded);
        assert_tasks(&trace, EVENTS_OF_A_THREAD);
        model_free(&trace);
    }
    munmap((void *)finished, sizeof *finished);
}

TEST(of_too_many_files_the_oldest_go_and_a_kill_loses_no_count_of_them)
{
    _Atomic uint64_t *finished = shared_counter();
    pid_t child = make_threads(state, false, finished);
    wait_until(finished, (MOST_FILES + 50) * EVENTS_OF_A_THREAD);
    end_child(child);
    struct ntrace trace = recover(state, child);
    assert_in_range(trace.recorded, *finished, *finished + 1);
    assert_in_range(trace.lanes.count, MOST_FILES, MOST_FILES + 1);
    uint64_t oldest = trace.args.items[0].value;
    assert_int_equal(trace.lost, oldest * EVENTS_OF_A_THREAD);
    assert_in_range(oldest, 49, *finished);
    model_free(&trace);
    munmap((void *)finished, sizeof *finished);
}

/* What a kill leaves at each step of packing the third thread, made by hand. */
enum step { BEFORE_THE_PACK_IS_MADE, WHILE_IT_IS_COPIED, BEFORE_ITS_FILE_GOES, STEPS };

static void *record_and_link(void *state)
{
    record_task(&(struct task){2, EVENTS_OF_A_THREAD, NULL});
    assert_int_equal(link(in_rings(state, 0, "lane_2").path, in_rings(state, 0, "saved").path), 0);
    return NULL;
}

static void leave_as_killed(void **state, enum step step)
{
    static const uint8_t garbage[300] = {[0] = 0xFF, [8] = 0x11, [200] = 0x77};
    struct scratch_name pack = in_rings(state, 0, "pack_0");
    struct ring_pack header = {0};
    start_in(state, 1000);
    if (step == BEFORE_THE_PACK_IS_MADE)
        prevent_packs(state);
    run_task(0, EVENTS_OF_A_THREAD, NULL);
    run_task(1, EVENTS_OF_A_THREAD, NULL);
    int fd = open(pack.path, O_RDWR | O_CLOEXEC);
    if (step == BEFORE_ITS_FILE_GOES) {
        pthread_t thread;
        pthread_create(&thread, NULL, record_and_link, state);
        pthread_join(thread, NULL);
        rename(in_rings(state, 0, "saved").path, in_rings(state, 0, "lane_2").path);
    } else {
        record_task(&(struct task){2, EVENTS_OF_A_THREAD, NULL});
    }
    if (step == WHILE_IT_IS_COPIED &&
        (pread(fd, &header, sizeof header, 0) != sizeof header ||
         pwrite(fd, garbage, sizeof garbage, (off_t)header.used) != sizeof garbage))
        _exit(1);
    /* Files that were being made. */
    put_empty(in_rings(state, 0, "lane_7").path);
    put_empty(in_rings(state, 0, "lane_8").path);
    put_empty(in_rings(state, 0, "pack_1").path);
    if (truncate(in_rings(state, 0, "lane_8").path,
                 RING_HEADER_SIZE + (1000 + RING_GUARD) * (off_t)sizeof(struct ring_record)) != 0)
        _exit(1);
    kill(getpid(), SIGKILL);
}

TEST(every_step_of_packing_leaves_every_event_once)
{
    for (enum step step = 0; step < STEPS; step++) {
        pid_t child = fork();
        if (child == 0)
            leave_as_killed(state, step);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(access(in_rings(state, child, "lane_2").path, F_OK), 0);
        assert_int_equal(access(in_rings(state, child, "lane_1").path, F_OK) == 0,
                         step == BEFORE_THE_PACK_IS_MADE);
        struct ntrace trace = recover(state, child);
        assert_int_equal(trace.events.count, 3 * EVENTS_OF_A_THREAD);
        assert_int_equal(trace.lost, 0);
        assert_tasks(&trace, EVENTS_OF_A_THREAD);
        model_free(&trace);
    }
}

/* Lanes move from their files to packs meanwhile. */
TEST(a_snapshot_of_a_running_program_has_all_that_its_ended_threads_recorded_before)
{
    _Atomic uint64_t *finished = shared_counter();
    pid_t child = make_threads(state, true, finished);
    struct scratch_name session = in_rings(state, child, "");
    *strstr(session.path, "/rings/") = '\0';
    for (int round = 0; round < 30; round++) {
        struct record_summary summary;
        struct error err;
        int files[RECORD_FILES];
        for (size_t i = 0; i < RECORD_FILES; i++)
            files[i] = memfd_create("snapshot", MFD_CLOEXEC);
        wait_until(finished, *finished + 200);
        uint64_t before = *finished;
        if (!record_convert(session.path, files, &summary, &err))
            fail_msg("%s: %s", err.file, err.text);
        if (summary.skipped > 0)
            fail_msg("%s: %s", summary.first_skipped.file, summary.first_skipped.text);
        assert_true(summary.kept >= before);
        for (size_t i = 0; i < RECORD_FILES; i++)
            close(files[i]);
    }
    end_child(child);
    munmap((void *)finished, sizeof *finished);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(five_thousand_threads_come_and_go_and_leave_nothing_behind_but_their_events),
        WITH_FOLDER(a_thread_that_has_ended_keeps_what_it_would_have_kept_alive),
        WITH_FOLDER(a_program_killed_while_its_threads_end_loses_nothing_and_has_nothing_twice),
        WITH_FOLDER(of_too_many_files_the_oldest_go_and_a_kill_loses_no_count_of_them),
        WITH_FOLDER(every_step_of_packing_leaves_every_event_once),
        WITH_FOLDER(a_snapshot_of_a_running_program_has_all_that_its_ended_threads_recorded_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

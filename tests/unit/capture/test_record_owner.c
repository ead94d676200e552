/*
 * The owner of a capture: alive, dead, or unknown.
 */
#include "base/clock.h"
#include "support.h"

#include "capture/recorder/clock.h"
#include "capture/recorder/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND ((int64_t)1000000000)

static struct ring_session *described(void)
{
    struct ring_session *session =
        mmap(NULL, sizeof *session, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(session != MAP_FAILED);
    session->pid = (uint32_t)getpid();
    owner_describe(&session->owner);
    owner_beat(&session->owner);
    return session;
}

static void beat_ago(struct ring_session *session, int64_t ns)
{
    session->owner.heartbeat_ns = clock_wall_ns() - ns;
}

TEST(a_process_is_identified_by_pid_and_start_time)
{
    (void)state;
    struct ring_session *session = described();
    assert_true(session->owner.start_time > 0 && session->owner.pid_namespace > 0);
    assert_int_equal(strlen(session->owner.boot_id), 36);
    assert_int_equal(owner_state(session), OWNER_ALIVE);
    session->owner.start_time--; /* the pid was reused */
    assert_int_equal(owner_state(session), OWNER_DEAD);
    munmap(session, sizeof *session);
}

/* Runs body in a child with its own session; the child stays alive. */
static pid_t child_with(struct ring_session *session, void (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        session->pid = (uint32_t)getpid();
        owner_describe(&session->owner);
        owner_beat(&session->owner);
        __atomic_store_n(&session->samples, 1, __ATOMIC_RELEASE);
        body();
        _exit(0);
    }
    while (__atomic_load_n(&session->samples, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    return child;
}

static void wait_for_signal(void)
{
    pause();
}

static void stop_oneself(void)
{
    raise(SIGSTOP);
}

static void *wait_in_thread(void *unused)
{
    pause();
    return unused;
}

static void leave_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_in_thread, NULL);
    pthread_exit(NULL);
}

TEST(a_zombie_is_dead_and_so_is_a_process_that_was_waited_for)
{
    (void)state;
    struct ring_session *session = described();
    pid_t child = child_with(session, wait_for_signal);
    assert_int_equal(owner_state(session), OWNER_ALIVE);
    kill(child, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(owner_state(session), OWNER_DEAD);
    waitpid(child, NULL, 0);
    assert_int_equal(owner_state(session), OWNER_DEAD);
    munmap(session, sizeof *session);
}

TEST(a_process_whose_first_thread_has_ended_is_alive)
{
    (void)state;
    struct ring_session *session = described();
    pid_t child = child_with(session, leave_a_thread);
    for (int i = 0; i < 20; i++, usleep(5000))
        assert_int_equal(owner_state(session), OWNER_ALIVE);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(session, sizeof *session);
}

TEST(a_process_that_was_killed_is_ending_until_it_is_gone)
{
    (void)state;
    struct ring_session *session = described();
    pid_t child = child_with(session, wait_for_signal);
    bool held = ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACEEXIT) == 0;
    bool is_emulated = !held && errno == ENOSYS; /* qemu's user mode has no ptrace */
    assert_true(held || is_emulated);
    assert_false(owner_is_ending(session));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, __WALL), child); /* held on its way out */
    if (held) {
        assert_int_equal(owner_state(session), OWNER_ALIVE);
        assert_true(owner_is_ending(session));
        ptrace(PTRACE_DETACH, child, NULL, NULL);
        waitpid(child, NULL, 0);
    }
    assert_false(owner_is_ending(session));
    munmap(session, sizeof *session);
    if (is_emulated)
        skip();
}

TEST(a_process_whose_first_thread_has_ended_is_not_ending)
{
    (void)state;
    struct ring_session *session = described();
    pid_t child = child_with(session, leave_a_thread);
    for (int i = 0; i < 20; i++, usleep(5000))
        assert_false(owner_is_ending(session) && i > 10);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(session, sizeof *session);
}

/* It has no session file mapped, as after exec. */
TEST(a_process_that_stands_still_is_dead_only_if_its_mappings_say_so)
{
    (void)state;
    char path[] = "/tmp/kymo-owner-XXXXXX", rings[64], file[64];
    assert_non_null(mkdtemp(path));
    snprintf(rings, sizeof rings, "%s/rings", path);
    snprintf(file, sizeof file, "%s/rings/session", path);
    assert_int_equal(mkdir(rings, 0700), 0);
    int fd = open(file, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, sizeof(struct ring_session)) == 0);
    struct ring_session *session =
        mmap(NULL, sizeof *session, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(session != MAP_FAILED);
    close(fd);
    pid_t child = child_with(session, stop_oneself);
    waitpid(child, NULL, WUNTRACED);
    beat_ago(session, 3600 * SECOND);
    assert_int_equal(owner_state(session), OWNER_ALIVE);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(session, sizeof *session);
    unlink(file);
    rmdir(rings);
    rmdir(path);

    session = described();
    child = child_with(session, stop_oneself);
    waitpid(child, NULL, WUNTRACED);
    assert_int_equal(owner_state(session), OWNER_ALIVE);
    beat_ago(session, 3600 * SECOND);
    assert_int_equal(owner_state(session), OWNER_DEAD);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(session, sizeof *session);
}

TEST(elsewhere_the_heartbeat_decides)
{
    (void)state;
    struct ring_session *session = described();
    for (int i = 0; i < 3; i++) {
        owner_describe(&session->owner);
        if (i == 0)
            session->owner.boot_id[0] ^= 1;
        else if (i == 1)
            session->owner.pid_namespace++;
        else
            session->owner.time_namespace++;
        beat_ago(session, 10 * SECOND);
        assert_int_equal(owner_state(session), OWNER_ALIVE);
        beat_ago(session, 600 * SECOND);
        assert_int_equal(owner_state(session), OWNER_DEAD);
        beat_ago(session, -10 * SECOND); /* two clocks */
        assert_int_equal(owner_state(session), OWNER_ALIVE);
        beat_ago(session, -600 * SECOND);
        assert_int_equal(owner_state(session), OWNER_UNKNOWN);
        session->owner.heartbeat_ns = 0;
        assert_int_equal(owner_state(session), OWNER_UNKNOWN);
    }
    munmap(session, sizeof *session);
}

TEST(any_bytes_are_some_owner)
{
    (void)state;
    struct ring_session *session = described();
    struct rng rng = {5};
    for (int round = 0; round < 200; round++) {
        uint8_t *bytes = (uint8_t *)&session->owner;
        owner_describe(&session->owner);
        for (int i = 0; i < 8; i++)
            bytes[rng_below(&rng, sizeof session->owner)] = (uint8_t)rng_below(&rng, 256);
        session->pid = (uint32_t)(round % 2 ? rng_any_width(&rng) : (uint64_t)getpid());
        assert_in_range(owner_state(session), OWNER_DEAD, OWNER_UNKNOWN);
    }
    munmap(session, sizeof *session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_identified_by_pid_and_start_time),
        cmocka_unit_test(a_zombie_is_dead_and_so_is_a_process_that_was_waited_for),
        cmocka_unit_test(a_process_whose_first_thread_has_ended_is_alive),
        cmocka_unit_test(a_process_that_was_killed_is_ending_until_it_is_gone),
        cmocka_unit_test(a_process_whose_first_thread_has_ended_is_not_ending),
        cmocka_unit_test(a_process_that_stands_still_is_dead_only_if_its_mappings_say_so),
        cmocka_unit_test(elsewhere_the_heartbeat_decides),
        cmocka_unit_test(any_bytes_are_some_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

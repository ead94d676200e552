/*
 * Starts processes. A command runs in a vfork: it shares the parent's memory until its exec, so
 * that starting one costs the same in a process of any size, and handlers of pthread_atfork, which
 * in users' programs may do anything, do not run. Code between the two may use system calls only.
 * ThreadSanitizer and Valgrind turn it into a fork: there a command that cannot be run counts as
 * started, and ends with exit code 127.
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXIT_NOT_FOUND = 127,
    EXIT_NOT_RUN = 126,
    EXIT_BY_SIGNAL = 128,
    LOST_STATUS = 255 << 8,
    GRACE_CPU_S = 5,        /* between SIGXCPU and SIGKILL */
    MAX_DESCRIPTOR = 65536, /* that is closed where the kernel has no close_range */
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW 1
#endif
#endif
#ifndef HAS_SHADOW
#define HAS_SHADOW 0 /* sanitizers need terabytes of address space for shadow memory */
#endif
#if HAS_SHADOW
/* The same function under a name that ThreadSanitizer does not replace by fork, which would copy
 * the tables of its shadow memory: a second for each process. */
pid_t __vfork(void) __attribute__((returns_twice)); /* NOLINT(bugprone-reserved-identifier) */
#define vfork __vfork
#endif

static sigset_t ignored, blocked; /* when the program began; none inside users' programs */

void child_adopt_signals(void)
{
    struct sigaction found;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    sigemptyset(&ignored);
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &found) == 0 && found.sa_handler == SIG_IGN)
            sigaddset(&ignored, number);
    if (sigismember(&ignored, SIGCHLD))
        signal(SIGCHLD, SIG_DFL);
}

/* ---- Between vfork and exec ------------------------------------------------------------------ */

/* Signals and descriptors are changed without libc: ThreadSanitizer's versions of its
 * functions keep records, which are the parent's here. */

struct start {
    const struct child_command *command;
    char *const *environment;
    pid_t parent;
    volatile int *problem;
};

/* All signals are blocked here: no handler of the parent runs in the child. libc's function would
 * refuse the two signals libc uses, which posix_spawn leaves ignored. */
static void set_signals(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct {
            void (*handler)(int);
            unsigned long zeros[3]; /* flags, restorer, mask */
        } action = {.handler = sigismember(&ignored, number) == 1 ? SIG_IGN : SIG_DFL};
        syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(uint64_t));
    }
}

static void close_others_on_exec(void)
{
    if (close_range(CHILD_FILES, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    struct rlimit limit = {.rlim_cur = MAX_DESCRIPTOR};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = CHILD_FILES; fd < MAX_DESCRIPTOR && (rlim_t)fd < limit.rlim_cur; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool set_files(const int *files)
{
    int from[CHILD_FILES];
    for (int i = 0; i < CHILD_FILES; i++) { /* out of the way of those that are replaced */
        int fd = files[i];
        if (fd == CHILD_NULL)
            fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
        from[i] = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, CHILD_FILES) : -1;
        if (from[i] < 0 && files[i] != CHILD_SAME && files[i] != CHILD_NONE)
            return false;
    }
    for (int i = 0; i < CHILD_FILES; i++) {
        if (files[i] == CHILD_NONE)
            syscall(SYS_close, i);
        else if (from[i] >= 0 && syscall(SYS_dup3, from[i], i, 0) < 0)
            return false;
    }
    return true;
}

static bool set_limit(int what, uint64_t soft, uint64_t hard)
{
    struct rlimit before, limit = {(rlim_t)soft, (rlim_t)hard};
    if (getrlimit((__rlimit_resource_t)what, &before) != 0)
        return false;
    if (limit.rlim_max > before.rlim_max)
        limit.rlim_max = before.rlim_max;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &limit) == 0;
}

static bool set_limits(const struct child_limits *limits)
{
    bool has_any =
        limits->address_bytes || limits->data_bytes || limits->cpu_s || limits->file_bytes;
    bool ok = !has_any || set_limit(RLIMIT_CORE, 0, 0);
    if (limits->address_bytes && !HAS_SHADOW)
        ok = ok && set_limit(RLIMIT_AS, limits->address_bytes, limits->address_bytes);
    if (limits->data_bytes && !HAS_SHADOW)
        ok = ok && set_limit(RLIMIT_DATA, limits->data_bytes, limits->data_bytes);
    if (limits->cpu_s)
        ok = ok && set_limit(RLIMIT_CPU, limits->cpu_s, limits->cpu_s + GRACE_CPU_S);
    if (limits->file_bytes)
        ok = ok && set_limit(RLIMIT_FSIZE, limits->file_bytes, limits->file_bytes);
    return ok;
}

static void die_with_parent(int death_signal, pid_t parent)
{
    if (death_signal == 0)
        return;
    prctl(PR_SET_PDEATHSIG, death_signal);
    if (getppid() != parent) /* which ended before the line above */
        _exit(EXIT_NOT_RUN);
}

static _Noreturn void become(const struct start *start)
{
    const struct child_command *command = start->command;
    die_with_parent(command->death_signal, start->parent);
    set_signals();
    if (set_files(command->files) && set_limits(&command->limits)) {
        if (!command->is_users)
            close_others_on_exec();
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, command->is_users ? &blocked : &none, NULL);
        execvpe(command->program, (char *const *)(uintptr_t)command->arguments, start->environment);
    }
    *start->problem = errno;
    _exit(EXIT_NOT_FOUND);
}

/* ---- In the parent --------------------------------------------------------------------------- */

/* A frame of its own: the child overwrites what is below it on the stack. */
__attribute__((noinline)) static pid_t split(const struct start *start)
{
    pid_t id = vfork(); /* NOLINT(*vfork,bugprone-unsafe-functions): see above */
    if (id == 0)
        become(start); /* NOLINT(clang-analyzer-unix.Vfork) */
    return id;
}

/* A cancellation would unwind this thread's stack from inside the child. */
static int start_quietly(const struct start *start, pid_t *id)
{
    sigset_t all, before;
    int cancel, status;
    sigfillset(&all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *id = split(start);
    int problem = *id < 0 ? errno : *start->problem;
    if (*id > 0 && problem)
        child_wait(*id, &status);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(cancel, NULL);
    return problem;
}

int child_exec(const struct child_command *command, pid_t *id)
{
    volatile int failure = 0;
    struct start start = {.command = command,
                          .environment = command->environment ? command->environment : environ,
                          .parent = getpid(),
                          .problem = &failure};
    int problem = start_quietly(&start, id);
    if (problem)
        *id = -1;
    return problem;
}

pid_t child_fork(int death_signal)
{
    pid_t parent = getpid();
    fflush(NULL); /* otherwise each child would write the buffered output as well */
    pid_t id = fork();
    if (id == 0)
        die_with_parent(death_signal, parent);
    return id;
}

/* ---- How they end ---------------------------------------------------------------------------- */

static enum child_state wait_for(pid_t id, int *status, int flags)
{
    pid_t ended;
    while ((ended = waitpid(id, status, flags)) < 0 && errno == EINTR)
        ;
    if (ended < 0)
        *status = LOST_STATUS;
    return ended == 0 ? CHILD_RUNNING : ended < 0 ? CHILD_LOST : CHILD_ENDED;
}

enum child_state child_look(pid_t id, int *status)
{
    return wait_for(id, status, WNOHANG);
}

enum child_state child_wait(pid_t id, int *status)
{
    return wait_for(id, status, 0);
}

pid_t child_wait_any(int *status)
{
    pid_t id;
    while ((id = waitpid(-1, status, 0)) < 0 && errno == EINTR)
        ;
    return id;
}

bool child_has_succeeded(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const char *child_end_text(int status, char text[static CHILD_TEXT_SIZE])
{
    if (WIFSIGNALED(status))
        snprintf(text, CHILD_TEXT_SIZE, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, CHILD_TEXT_SIZE, "failed with exit code %d", WEXITSTATUS(status));
    return text;
}

int child_exit_code(int status)
{
    return WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_unstarted_code(int problem)
{
    return problem == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/*
 * Child processes that run Kymo's own commands.
 */
#include "serve/children.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROGRESS_FD = 3, MAX_LOG = 1 << 20, MAX_REASON = 2000, POLL_MS = 30 };

/* Runs between fork and exec: async-signal-safe calls only. */
static _Noreturn void exec_child(char *const *arguments, int progress, int log, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < SIGRTMIN; number++)
        if (number != SIGKILL && number != SIGSTOP)
            signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* children die with the server */
    int nothing = open("/dev/null", O_RDWR);
    if (getppid() != parent || nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 ||
        dup2(log, 2) < 0)
        _exit(127);
    if (progress == PROGRESS_FD)
        fcntl(progress, F_SETFD, 0);
    else if (dup2(progress, PROGRESS_FD) < 0)
        _exit(127);
    execv("/proc/self/exe", arguments);
    _exit(127);
}

static bool start(struct child *child, const char *const *arguments, const char *folder,
                  struct error *err)
{
    int ends[2] = {-1, -1};
    char *log_path = path_format("%s/log", folder);
    int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    *child = (struct child){.progress = -1, .log = log_path};
    bool ok = log >= 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
    pid_t parent = getpid();
    if (ok) {
        child->id = fork();
        if (child->id == 0)
            exec_child((char *const *)(uintptr_t)arguments, ends[1], log, parent);
        child->progress = ends[0];
        close(ends[1]);
        ok = child->id > 0;
    }
    if (!ok) {
        error_in_file(err, log_path, "cannot start processing: %s", strerror(errno));
        if (child->progress >= 0)
            close(child->progress);
        mem_free(log_path);
    }
    if (log >= 0)
        close(log);
    return ok;
}

bool child_start(struct child *child, const struct child_task *task, struct error *err)
{
    char threads[16];
    snprintf(threads, sizeof threads, "%u", task->threads ? task->threads : 1);
    const char *arguments[20] = {"kymo",     "view",        "--ingest-only", "--display-name",
                                 task->name, "--data-path", task->data_path, "--progress-fd",
                                 "3",        "--jobs",      threads};
    size_t count = 11;
    if (task->force)
        arguments[count++] = "--force";
    if (task->source_root) {
        arguments[count++] = "--framework-source-root";
        arguments[count++] = task->source_root;
    }
    arguments[count++] = "--";
    arguments[count++] = task->source;
    return start(child, arguments, task->folder, err);
}

bool child_start_capture(struct child *child, const struct child_capture *capture,
                         struct error *err)
{
    char duration[24];
    snprintf(duration, sizeof duration, "%llu", (unsigned long long)capture->duration_ms);
    const char *arguments[16] = {"kymo",          "capture",
                                 "--connect",     capture->addresses,
                                 "--output-dir",  capture->directory,
                                 "--duration-ms", duration,
                                 "--progress-fd", "3"};
    if (capture->settings) {
        arguments[10] = "--options";
        arguments[11] = capture->settings;
    }
    return start(child, arguments, capture->folder, err);
}

char *child_run_watched(const char *const *arguments, const char *folder,
                        const struct child_watch *watch)
{
    struct child child;
    struct error err;
    unsigned percent = 0, told = UINT_MAX;
    bool is_terminated = false;
    if (!start(&child, arguments, folder, &err))
        return mem_copy_text(err.text, strlen(err.text));
    while (child_poll(&child, &percent)) {
        if (watch->progress && percent != told)
            watch->progress(watch->context, told = percent, child.doing);
        if (!is_terminated && watch->is_over(watch->request)) {
            child_terminate(&child);
            is_terminated = true;
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
    return child_failure(&child);
}

char *child_run(const char *const *arguments, const char *folder,
                bool (*is_over)(const struct request *request), const struct request *request)
{
    const struct child_watch watch = {.is_over = is_over, .request = request};
    return child_run_watched(arguments, folder, &watch);
}

bool child_poll(struct child *child, unsigned *percent)
{
    char lines[256];
    for (ssize_t got; (got = read(child->progress, lines, sizeof lines - 1)) > 0;) {
        lines[got] = '\0';
        if (lines[got - 1] != '\n')
            continue; /* partial line; more follow */
        lines[got - 1] = '\0';
        const char *last = strrchr(lines, '\n');
        char *rest;
        unsigned long value = strtoul(last ? last + 1 : lines, &rest, 10);
        *percent = value < 100 ? (unsigned)value : 99;
        snprintf(child->doing, sizeof child->doing, "%s", *rest == ' ' ? rest + 1 : "");
    }
    pid_t ended = waitpid(child->id, &child->status, WNOHANG);
    return ended == 0;
}

void child_terminate(const struct child *child)
{
    kill(child->id, SIGTERM);
}

static bool is_log_line(const char *line)
{
    return strncmp(line, "WARN[", 5) == 0 || strncmp(line, "INFO[", 5) == 0 ||
           strncmp(line, "DEBU[", 5) == 0;
}

/* The failure message: the last FATA line, otherwise the last line without a log prefix. */
static char *find_message(char *log)
{
    char *fatal = NULL, *last = NULL;
    for (char *rest = log, *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "FATA[", 5) == 0)
            fatal = line;
        else if (*line && !is_log_line(line))
            last = line;
    }
    if (!fatal && !last)
        return NULL;
    char *message = fatal ? strstr(fatal, "] ") : NULL;
    message = message ? message + 2 : last ? last : fatal;
    size_t size = strlen(message);
    return mem_copy_text(message, size < MAX_REASON ? size : MAX_REASON);
}

char *child_failure(struct child *child)
{
    size_t size;
    char *reason = NULL;
    if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0) {
        char *log = file_content(child->log, MAX_LOG, &size);
        reason = log && WIFEXITED(child->status) ? find_message(log) : NULL;
        mem_free(log);
        if (!reason && WIFSIGNALED(child->status))
            reason = path_format("processing was killed by signal %d (%s)%s",
                                 WTERMSIG(child->status), strsignal(WTERMSIG(child->status)),
                                 WTERMSIG(child->status) == SIGKILL
                                     ? ", perhaps because the machine ran out of memory"
                                     : "");
        else if (!reason)
            reason = path_format("processing failed with exit code %d and no message",
                                 WEXITSTATUS(child->status));
    }
    close(child->progress);
    mem_free(child->log);
    return reason;
}

/*
 * `kymo convert` as a child process: it inherits no descriptor, no signal mask, and none of the
 * variables that would have it recorded as well.
 */
#include "capture/server/profile.h"

#include "base/base.h"
#include "capture/server/limits.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* The one that KYMO names; beside this library, as installed, in a build, or all in one folder;
 * else a name for PATH. */
static void find_program(char program[static PATH_MAX])
{
    const char *named = secure_getenv("KYMO");
    if (named && *named) {
        snprintf(program, PATH_MAX, "%s", named);
        return;
    }
    static const char *const places[] = {KYMO_BINDIR "/kymo", "../bin/kymo", "kymo"};
    Dl_info info;
    char library[PATH_MAX], *slash = NULL;
    if (dladdr(places, &info) && info.dli_fname && realpath(info.dli_fname, library))
        slash = strrchr(library, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        int size =
            snprintf(program, PATH_MAX, "%.*s/%s", (int)(slash - library), library, places[i]);
        if (size < PATH_MAX && is_program(program))
            return;
    }
    snprintf(program, PATH_MAX, "kymo");
}

/* The child gets only the variables it needs: with all of the program's it would be recorded, too.
 * `variables` may be static because there is one capture at a time. */
static bool spawn(pid_t *child, const struct profile_files *files, enum profile_use use)
{
    static const char *const names[] = {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"};
    enum { NAMES = sizeof names / sizeof *names };
    static char variables[NAMES][CAPTURE_VARIABLE]; /* one at a time */
    char *environment[NAMES + 1] = {0}, program[PATH_MAX];
    size_t count = 0;
    for (size_t i = 0; i < NAMES; i++) {
        const char *value = getenv(names[i]);
        if (value && snprintf(variables[count], CAPTURE_VARIABLE, "%s=%s", names[i], value) <
                         CAPTURE_VARIABLE) {
            environment[count] = variables[count];
            count++;
        }
    }
    const char *arguments[16] = {"kymo",   "convert", "--log-level",  "error",
                                 "--jobs", "1",       files->session, files->profile};
    size_t next = 8;
    if (use == PROFILE_PLANES)
        arguments[next++] = "--epoch-times";
    if (files->other) {
        arguments[next++] = "--merge";
        arguments[next] = files->other;
    }
    find_program(program);
    int log = open(files->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const struct child_command command = {
        .program = program,
        .arguments = arguments,
        .environment = environment,
        .files = {CHILD_NULL, CHILD_NULL, log >= 0 ? log : CHILD_NULL, CHILD_NONE},
    };
    int problem = child_exec(&command, child);
    if (log >= 0)
        close(log);
    errno = problem;
    return problem == 0;
}

/* The program's last line, which says why it has ended, without what stands before its message. */
static void read_log(const char *log, char *line, size_t size)
{
    char text[4096]; /* longer than any line */
    struct stat file;
    int fd = open(log, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;
    if (fd >= 0 && fstat(fd, &file) == 0) {
        off_t room = (off_t)sizeof text - 1;
        got = pread(fd, text, (size_t)room, file.st_size > room ? file.st_size - room : 0);
    }
    if (fd >= 0)
        close(fd);
    while (got > 0 && text[got - 1] == '\n')
        got--;
    text[got > 0 ? got : 0] = '\0';
    const char *before = strrchr(text, '\n'), *last = before ? before + 1 : text;
    const char *message = strstr(last, "] ");
    snprintf(line, size, "%.240s", message ? message + 2 : last);
}

/* Polls rather than waits, so that is_over can end the child. The file tells whether it succeeded,
 * not the exit status, which the program may have taken. */
bool profile_make(const struct profile_files *files, enum profile_use use, bool (*is_over)(void),
                  struct status *status)
{
    pid_t child;
    int end;
    bool was_killed = false;
    struct stat file;
    char line[256];
    if (!spawn(&child, files, use))
        return status_set(status, GRPC_INTERNAL,
                          "The profile cannot be made: cannot run the program kymo: %s.",
                          strerror(errno));
    /* It may also be lost: the program may ignore SIGCHLD or wait for all children. */
    while (child_look(child, &end) == CHILD_RUNNING) {
        if (!was_killed && is_over()) {
            kill(child, SIGKILL);
            was_killed = true;
        }
        nanosleep(&(struct timespec){.tv_nsec = CAPTURE_POLL_MS * 1000000L}, NULL);
    }
    /* It is there if it is complete. */
    if (stat(files->profile, &file) == 0)
        return true;
    read_log(files->log, line, sizeof line);
    return status_set(status, GRPC_INTERNAL, "The profile cannot be made: %s.",
                      line[0] ? line : "the program kymo failed");
}

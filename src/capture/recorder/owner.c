/*
 * Owner: describing the process that records, and finding out whether it is alive.
 */
#include "capture/recorder/owner.h"

#include "capture/recorder/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A heartbeat comes every second, through a mapping. A reader on another machine sees it after the
 * writer's system wrote the page back (up to 35 s with Linux' defaults) and after its own cache of
 * the file expired (up to 60 s for NFS); clocks of two machines may differ by some seconds.
 */
#define LONGEST_PAUSE_NS ((int64_t)120 * 1000000000)

enum { STAT_SIZE = 1024, STATUS_SIZE = 4096, PID_SIZE = 32 };

/* What /proc says about the first thread of a process (proc(5)). */
struct process {
    char state;
    unsigned long flags; /* PF_ */
    long threads;
    uint64_t start_time;
};

static ssize_t read_start(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got;
}

/* Not from /proc/<pid>/stat, which says the same: qemu's user mode makes that up for the program it
 * emulates, with the start time of the parent in a child of fork. */
static bool read_process(struct process *process, const char *pid)
{
    enum { STATE = 3, FLAGS = 9, THREADS = 20, START_TIME = 22 };
    char path[96], text[STAT_SIZE];
    snprintf(path, sizeof path, "/proc/%s/task/%s/stat", pid, pid);
    if (read_start(path, text, sizeof text) <= 0)
        return false;
    /* The second field is the program's name in parentheses, which may have any characters. */
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    at += 2;
    *process = (struct process){.state = *at};
    for (int field = STATE; field < START_TIME; field++) {
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
        if (field + 1 == FLAGS)
            process->flags = strtoul(at, NULL, 10);
        if (field + 1 == THREADS)
            process->threads = strtol(at, NULL, 10);
    }
    process->start_time = strtoull(at, NULL, 10);
    return true;
}

static uint64_t namespace_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* This process as /proc names it, which may be mounted for another namespace of pids. */
static bool own_pid(char pid[static PID_SIZE])
{
    ssize_t size = readlink("/proc/self", pid, PID_SIZE - 1);
    pid[size > 0 ? size : 0] = '\0';
    return size > 0;
}

void owner_describe(struct ring_owner *owner)
{
    struct process self;
    char pid[PID_SIZE];
    *owner = (struct ring_owner){0};
    if (own_pid(pid) && read_process(&self, pid))
        owner->start_time = self.start_time;
    read_start("/proc/sys/kernel/random/boot_id", owner->boot_id, sizeof owner->boot_id);
    owner->boot_id[strcspn(owner->boot_id, "\n")] = '\0';
    owner->pid_namespace = namespace_of("/proc/self/ns/pid");
    owner->time_namespace = namespace_of("/proc/self/ns/time");
}

void owner_beat(struct ring_owner *owner)
{
    __atomic_store_n(&owner->heartbeat_ns, clock_wall_ns(), __ATOMIC_RELAXED);
}

static enum owner_state by_heartbeat(const struct ring_owner *owner)
{
    int64_t beat = __atomic_load_n(&owner->heartbeat_ns, __ATOMIC_RELAXED);
    int64_t now = clock_wall_ns();
    if (beat <= 0 || beat > now + LONGEST_PAUSE_NS)
        return OWNER_UNKNOWN;
    return now - beat <= LONGEST_PAUSE_NS ? OWNER_ALIVE : OWNER_DEAD;
}

/* Whether pids and start times mean the same to both, and /proc shows this process's namespace. */
static bool is_near(const struct ring_owner *owner)
{
    struct ring_owner self;
    char pid[PID_SIZE], expected[PID_SIZE];
    owner_describe(&self);
    if (!own_pid(pid))
        return false;
    snprintf(expected, sizeof expected, "%d", (int)getpid());
    return strcmp(pid, expected) == 0 && self.boot_id[0] && self.pid_namespace != 0 &&
           strncmp(owner->boot_id, self.boot_id, sizeof self.boot_id) == 0 &&
           owner->pid_namespace == self.pid_namespace &&
           owner->time_namespace == self.time_namespace;
}

/* Whether the process has mapped a session file. True where that cannot be read. */
static bool maps_session(pid_t pid)
{
    static const char wanted[] = "/rings/session";
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return true;
    char *line = NULL;
    size_t capacity = 0;
    bool found = false, any = false;
    while (!found && getline(&line, &capacity, maps) > 0) {
        any = true;
        found = strstr(line, wanted);
    }
    bool whole = any && !ferror(maps);
    free(line);
    fclose(maps);
    return found || !whole;
}

/* A process that has called exec is the same to the system, but records no longer. */
static bool has_left(const struct ring_session *session)
{
    return by_heartbeat(&session->owner) != OWNER_ALIVE && !maps_session((pid_t)session->pid);
}

static enum owner_state by_process(const struct ring_session *session)
{
    struct process process;
    char name[PID_SIZE];
    if (session->pid == 0 || session->pid > INT_MAX)
        return OWNER_UNKNOWN;
    if (kill((pid_t)session->pid, 0) != 0 && errno == ESRCH)
        return OWNER_DEAD;
    snprintf(name, sizeof name, "%u", session->pid);
    if (session->owner.start_time == 0 || !read_process(&process, name))
        return OWNER_UNKNOWN; /* /proc may hide processes of others */
    if (process.start_time != session->owner.start_time)
        return OWNER_DEAD;
    /* The first thread is a zombie too when it has ended and others go on. */
    bool ended = process.state == 'Z' || process.state == 'X';
    if ((ended && process.threads <= 1) || has_left(session))
        return OWNER_DEAD;
    return OWNER_ALIVE;
}

enum owner_state owner_state(const struct ring_session *session)
{
    enum owner_state state = is_near(&session->owner) ? by_process(session) : OWNER_UNKNOWN;
    return state == OWNER_UNKNOWN ? by_heartbeat(&session->owner) : state;
}

/* A signal that cannot be caught and was not acted upon yet, as a thread in a driver may take long
 * to do. */
static bool has_pending_kill(const char *name)
{
    static const char title[] = "\nShdPnd:";
    char path[64], text[STATUS_SIZE];
    snprintf(path, sizeof path, "/proc/%s/status", name);
    if (read_start(path, text, sizeof text) <= 0)
        return false;
    const char *at = strstr(text, title);
    return at && strtoull(at + sizeof title - 1, NULL, 16) >> (SIGKILL - 1) & 1;
}

bool owner_is_ending(const struct ring_session *session)
{
    enum { PF_EXITING = 0x4, PF_SIGNALED = 0x400 }; /* of the kernel, in /proc since 2.6 */
    struct process process;
    char name[PID_SIZE];
    snprintf(name, sizeof name, "%u", session->pid);
    if (!is_near(&session->owner) || by_process(session) != OWNER_ALIVE ||
        !read_process(&process, name))
        return false;
    /* A first thread that has ended alone is a zombie. */
    return process.flags & PF_SIGNALED || (process.flags & PF_EXITING && process.state != 'Z') ||
           has_pending_kill(name);
}

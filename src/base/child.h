/*
 * Child processes: the one place that starts them and reads how they ended. Everything a child
 * inherits is set here once: signals, descriptors, limits, and the signal that ends it with its
 * parent.
 *
 * The module needs libc alone, allocates nothing and never ends the program, so that libraries
 * inside users' programs can use it as well. libkymo itself starts no processes.
 */
#ifndef KYMO_BASE_CHILD_H
#define KYMO_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* To be called first in main. Commands started later ignore the signals that are ignored now (those
 * of nohup, for one) and no others, whatever this program does with signals itself. A parent may
 * also have left SIGCHLD ignored, which would hide how children end; this undoes it for this
 * program. Inside users' programs this is not called: there commands ignore nothing, and the end of
 * a child may be CHILD_LOST. */
void child_adopt_signals(void);

/* What becomes a descriptor of the command; other values are descriptors of this process. */
enum { CHILD_SAME = -1, CHILD_NULL = -2, CHILD_NONE = -3 }; /* as here, /dev/null, closed */
enum { CHILD_FILES = 4 };

/* 0: no limit. Commands with limits leave no core files. */
struct child_limits {
    uint64_t address_bytes; /* of address space: everything that is mapped */
    uint64_t data_bytes;    /* of memory: without shared mappings of files, and without stacks that
                               grow */
    uint64_t cpu_s;         /* of CPU time, all threads together; then SIGXCPU */
    uint64_t file_bytes;    /* of each file that it writes */
};

struct child_command {
    const char *program;          /* looked for in PATH unless it has a slash */
    const char *const *arguments; /* from its name on; NULL ends them */
    char *const *environment;     /* NULL: that of this process */
    int files[CHILD_FILES];       /* standard input, output, error, and one more */
    /* Sent when the thread that started it ends, not only the process; 0: none. */
    int death_signal;
    struct child_limits limits;
    /* Run for a user as if by a shell: gets all descriptors that are not close-on-exec, and the
     * signals blocked that this program began with. Other commands get `files` only, and block
     * nothing. */
    bool is_users;
};

/* Starts a command. Returns 0, or the error number that says why it cannot be run; *id is -1 then.
 * Any thread may call it. */
int child_exec(const struct child_command *command, pid_t *id) __attribute__((warn_unused_result));
/* Like fork, from a process without other threads; stdio buffers are flushed first. The child gets
 * death_signal when its parent ends. */
pid_t child_fork(int death_signal) __attribute__((warn_unused_result));

enum child_state {
    CHILD_RUNNING,
    CHILD_ENDED,
    CHILD_LOST, /* has ended, but others took its status, or SIGCHLD is ignored */
};
/* Without waiting, and with. *status is as of waitpid; of a lost child, that of one that failed. */
enum child_state child_look(pid_t id, int *status);
enum child_state child_wait(pid_t id, int *status);
/* Waits for any child; -1 if there is none. */
pid_t child_wait_any(int *status);

bool child_has_succeeded(int status);
/* "was killed by signal 9 (Killed)" or "failed with exit code 3". */
enum { CHILD_TEXT_SIZE = 80 };
const char *child_end_text(int status, char text[static CHILD_TEXT_SIZE]);
/* The exit code with which a shell reports how a command ended, or (with the number from
 * child_exec) that it was not run: 127 if it was not found, otherwise 126. */
int child_exit_code(int status);
int child_unstarted_code(int problem);

#endif

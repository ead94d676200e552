/*
 * Child processes that run Kymo's own commands.
 */
#include "serve/jobs/children.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROGRESS_FD = 3 };

static int exec_child(struct child *child, const char *const *arguments, int progress, int log)
{
    const struct child_command command = {
        .program = "/proc/self/exe",
        .arguments = arguments,
        .files = {CHILD_NULL, CHILD_NULL, log, [PROGRESS_FD] = progress},
        .death_signal = SIGKILL, /* with the server */
        .limits = {.data_bytes = child->limits.memory_bytes,
                   .cpu_s = child->limits.cpu_s,
                   .file_bytes = child->limits.output_bytes},
    };
    return child_exec(&command, &child->id);
}

static bool start(struct child *child, const char *const *arguments, const char *folder,
                  const struct processing_limits *limits, struct error *err)
{
    int ends[2] = {-1, -1}, problem = 0;
    char *log_path = path_format("%s/log", folder);
    int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    *child = (struct child){.progress = -1, .log = log_path, .limits = *limits};
    if (log < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        problem = errno;
    } else {
        problem = exec_child(child, arguments, ends[1], log);
        child->progress = ends[0];
        close(ends[1]);
    }
    if (problem) {
        error_in_file(err, log_path, "cannot start processing: %s", strerror(problem));
        if (child->progress >= 0)
            close(child->progress);
        mem_free(log_path);
    }
    if (log >= 0)
        close(log);
    return problem == 0;
}

/* Options that change what a capture may declare, for a command that reads one. */
enum { LIMIT_ARGUMENTS = 6, NUMBER_SIZE = 24 };

static size_t add_limits(const struct processing_limits *limits, const char **arguments,
                         size_t count, char numbers[LIMIT_ARGUMENTS / 2][NUMBER_SIZE])
{
    const struct {
        const char *option;
        uint64_t value;
    } options[] = {{"--scratch-limit", limits->scratch_gib},
                   {"--track-limit", limits->tracks},
                   {"--name-limit", limits->names}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].value == 0)
            continue;
        snprintf(numbers[i], NUMBER_SIZE, "%llu", (unsigned long long)options[i].value);
        arguments[count++] = options[i].option;
        arguments[count++] = numbers[i];
    }
    return count;
}

bool child_start(struct child *child, const struct child_task *task, struct error *err)
{
    char threads[16], numbers[LIMIT_ARGUMENTS / 2][NUMBER_SIZE];
    snprintf(threads, sizeof threads, "%u", task->threads ? task->threads : 1);
    const char *arguments[20 + LIMIT_ARGUMENTS] = {
        "kymo",     "view",        "--ingest-only", "--display-name",
        task->name, "--data-path", task->data_path, "--progress-fd",
        "3",        "--jobs",      threads};
    size_t count = 11;
    if (task->force)
        arguments[count++] = "--force";
    if (task->source_root) {
        arguments[count++] = "--framework-source-root";
        arguments[count++] = task->source_root;
    }
    count = add_limits(task->limits, arguments, count, numbers);
    arguments[count++] = "--";
    arguments[count++] = task->source;
    return start(child, arguments, task->folder, task->limits, err);
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
    return start(child, arguments, capture->folder, capture->limits, err);
}

char *child_run_watched(const char *const *arguments, const char *folder,
                        const struct child_watch *watch)
{
    struct child child;
    struct error err;
    unsigned percent = 0, told = UINT_MAX;
    bool is_terminated = false;
    if (!start(&child, arguments, folder, &watch->request->server->options->processing, &err))
        return mem_copy_text(err.text, strlen(err.text));
    while (child_poll(&child, &percent)) {
        if (watch->progress && percent != told)
            watch->progress(watch->context, told = percent, child.doing);
        if (!is_terminated && watch->is_over(watch->request)) {
            child_terminate(&child);
            is_terminated = true;
        }
        nanosleep(&(struct timespec){.tv_nsec = CHILD_POLL_MS * 1000000L}, NULL);
    }
    return child_failure(&child);
}

char *child_run(const char *const *arguments, const char *folder,
                bool (*is_over)(const struct request *request), const struct request *request)
{
    const struct child_watch watch = {.is_over = is_over, .request = request};
    return child_run_watched(arguments, folder, &watch);
}

/* A line is a percentage and what is done. */
static void take_line(struct child *child, unsigned *percent)
{
    char *rest;
    unsigned long value = strtoul(child->line, &rest, 10);
    if (rest == child->line)
        return;
    *percent = value < 100 ? (unsigned)value : 99;
    snprintf(child->doing, sizeof child->doing, "%s", *rest == ' ' ? rest + 1 : "");
}

/* Lines may arrive in parts; of one that is too long, the beginning counts. */
static void read_progress(struct child *child, unsigned *percent)
{
    char part[256];
    for (ssize_t got; (got = read(child->progress, part, sizeof part)) > 0;)
        for (ssize_t i = 0; i < got; i++) {
            if (part[i] == '\n') {
                child->line[child->line_size] = '\0';
                child->line_size = 0;
                take_line(child, percent);
            } else if (child->line_size < sizeof child->line - 1) {
                child->line[child->line_size++] = part[i];
            }
        }
}

/* What a process has written so far, 0 if the system does not say. */
static uint64_t written_bytes(pid_t id)
{
    char path[32], text[256];
    snprintf(path, sizeof path, "/proc/%d/io", (int)id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *written = strstr(text, "wchar: ");
    return written ? strtoull(written + strlen("wchar: "), NULL, 10) : 0;
}

bool child_poll(struct child *child, unsigned *percent)
{
    read_progress(child, percent);
    uint64_t limit = child->limits.output_bytes;
    if (limit > 0 && !child->is_over_output && written_bytes(child->id) > limit) {
        child->is_over_output = true;
        child_terminate(child);
    }
    return child_look(child->id, &child->status) == CHILD_RUNNING;
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
    return mem_copy_text(message, size < CHILD_MAX_REASON ? size : CHILD_MAX_REASON);
}

/* Which limit the child met, or NULL. Memory that cannot be had is told by its log alone. */
static char *met_limit(const struct child *child, const char *log, const char *reason)
{
    const struct processing_limits *limits = &child->limits;
    if (child->is_over_output || (limits->output_bytes > 0 && strstr(reason, strerror(EFBIG))))
        return path_format("processing wrote more than %llu MiB, the server's limit "
                           "(--processing-output)",
                           (unsigned long long)limits->output_bytes >> 20);
    if (WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGXCPU)
        return path_format("processing took more than %llu s of CPU time, the server's limit "
                           "(--processing-cpu)",
                           (unsigned long long)limits->cpu_s);
    if (limits->memory_bytes > 0 && (strstr(log, OUT_OF_MEMORY) || strstr(log, "std::bad_alloc")))
        return path_format("processing needs more than %llu MiB of memory, the server's limit "
                           "(--processing-memory)",
                           (unsigned long long)limits->memory_bytes >> 20);
    return NULL;
}

static char *find_reason(const struct child *child, const char *log)
{
    char end[CHILD_TEXT_SIZE];
    char *copy = mem_copy_text(log, strlen(log));
    char *message = WIFEXITED(child->status) ? find_message(copy) : NULL;
    mem_free(copy);
    char *limit = met_limit(child, log, message ? message : "");
    if (limit) {
        mem_free(message);
        return limit;
    }
    if (message)
        return message;
    bool is_killed = WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGKILL;
    return path_format("processing %s%s", child_end_text(child->status, end),
                       is_killed ? ", perhaps because the machine ran out of memory"
                       : WIFEXITED(child->status) ? " and no message"
                                                  : "");
}

char *child_failure(struct child *child)
{
    size_t size;
    char *reason = NULL;
    if (!child_has_succeeded(child->status)) {
        char *log = file_content(child->log, CHILD_MAX_LOG, &size);
        reason = find_reason(child, log ? log : "");
        mem_free(log);
    }
    close(child->progress);
    mem_free(child->log);
    return reason;
}

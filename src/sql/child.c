/*
 * The child of a query: limits itself, runs the query and writes the answer to standard output. It
 * ends without cleaning up, which DuckDB takes several milliseconds for; its parent does the rest.
 */
#include "sql/child_request.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_REQUEST = 32 << 20, NICENESS = 10, SPARE_CPU_S = 5 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW 1
#endif
#endif
#ifndef HAS_SHADOW
#define HAS_SHADOW 0 /* a sanitizer's shadow memory takes terabytes of address space */
#endif

static struct {
    struct child_request request;
    char *bytes; /* what follows it */
    const char *directory, *temporary, *query;
    struct text format;
    off_t size;
} task;

static bool is_terminated(const char *at, size_t size)
{
    return size > 0 && memchr(at, '\0', size) == at + size - 1;
}

static bool read_request(void)
{
    struct child_request *request = &task.request;
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode) ||
        pread(STDIN_FILENO, request, sizeof *request, 0) != sizeof *request ||
        request->magic != CHILD_MAGIC || status.st_size > LARGEST_REQUEST)
        return false;
    size_t size = (size_t)status.st_size - sizeof *request;
    if (request->directory_size > size || request->temporary_size > size ||
        request->query_size > size || request->format_size > size ||
        request->directory_size + request->temporary_size + request->query_size +
                request->format_size !=
            size)
        return false;
    task.bytes = mem_alloc(size);
    task.size = status.st_size;
    if (pread(STDIN_FILENO, task.bytes, size, sizeof *request) != (ssize_t)size)
        return false;
    task.directory = task.bytes;
    task.temporary = task.directory + request->directory_size;
    task.query = task.temporary + request->temporary_size;
    task.format = (struct text){task.query + request->query_size, request->format_size};
    return is_terminated(task.directory, request->directory_size) &&
           is_terminated(task.temporary, request->temporary_size) &&
           is_terminated(task.query, request->query_size);
}

static void limit(int what, rlim_t most)
{
    setrlimit((__rlimit_resource_t)what, &(struct rlimit){most, most});
}

/* False when the parent is gone already: nobody would end this process. */
static bool confine(void)
{
    const struct child_request *request = &task.request;
    signal(SIGINT, SIG_IGN); /* a terminal sends it to the parent as well, which decides */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != request->parent)
        return false;
    unsigned threads = request->limits.threads ? request->limits.threads : 1;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (rlim_t)request->seconds * threads + SPARE_CPU_S);
    if (!HAS_SHADOW)
        limit(RLIMIT_AS, request->address_bytes);
    mallopt(M_ARENA_MAX, 1); /* each takes 64 MiB of address space */
    setpriority(PRIO_PROCESS, 0, NICENESS);
    FILE *score = fopen("/proc/self/oom_score_adj", "we");
    if (score) {
        fputs("1000", score); /* rather this one than the server */
        fclose(score);
    }
    return true;
}

static _Noreturn void report(enum sql_outcome outcome, const struct error *err)
{
    struct child_report failure = {CHILD_MAGIC, outcome, *err};
    ssize_t ignored = pwrite(STDIN_FILENO, &failure, sizeof failure, task.size);
    (void)ignored;
    _exit(1);
}

/* DuckDB names what it wanted, and not what it may have. */
static void name_limit(struct error *err)
{
    char text[ERROR_TEXT_SIZE];
    if (strncmp(err->text, "Out of Memory Error", 19) != 0 && !strstr(err->text, "bad_alloc"))
        return;
    snprintf(text, sizeof text, "%s", err->text);
    text[strcspn(text, "\n")] = '\0';
    error_set(err, "the query needs more memory than it may take, %zu MiB: %.300s",
              task.request.limits.memory_bytes >> 20, text);
}

int sql_child_main(sql_write *write)
{
    struct sql_database *database = NULL;
    struct sql_connection *connection = NULL;
    struct sql_result *result = NULL;
    struct output out;
    struct error err;
    if (!read_request()) {
        fputs("this command is for the program's own use\n", stderr);
        return 2;
    }
    if (!confine())
        return 1;
    struct sql_limits limits = task.request.limits;
    limits.temporary = task.temporary;
    if (!sql_open_within(&database, task.directory, &limits, &err) ||
        !sql_connect(&connection, database, &err))
        report(SQL_UNREADABLE, &err);
    bool ok = task.request.is_list ? sql_list(&result, connection, &err)
                                   : sql_query(&result, connection, task.query, &err);
    ok = ok && output_open(&out, NULL, &err) && write(result, task.format, &out, &err) &&
         output_commit(&out, &err);
    if (!ok) {
        name_limit(&err);
        report(SQL_FAILED, &err);
    }
    _exit(0);
}

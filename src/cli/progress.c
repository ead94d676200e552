/*
 * Progress line on the terminal for long reads. Hidden if standard error is not a terminal, and
 * during the first second. --progress-fd reports percentages to a server without delay.
 */
#include "base/clock.h"
#include "cli/cli.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 100, QUIET_TICKS = 10 };

struct progress {
    const struct source *source;
    const char *what;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done, shown;
    unsigned reported; /* percent */
};

static int progress_fd = -1;

void progress_set_fd(int fd)
{
    progress_fd = fd;
}

static unsigned percent_done(const struct progress *progress)
{
    const struct source *source = progress->source;
    while (source->inner)
        source = source->inner;
    uint64_t parts = atomic_load_explicit(&source->parts, memory_order_relaxed);
    uint64_t done = atomic_load_explicit(&source->parts_done, memory_order_relaxed);
    return parts > 0 ? (unsigned)(done * 100 / parts) : 0;
}

/* Reading is the smaller part of the work, before writing. */
static void report(struct progress *progress)
{
    bool is_writing = strcmp(progress->what, "writing") == 0;
    unsigned percent = percent_done(progress);
    unsigned whole = is_writing ? 40 + percent * 59 / 100 : percent * 40 / 100;
    if (whole != progress->reported)
        dprintf(progress_fd, "%u\n", progress->reported = whole);
}

static void show(struct progress *progress)
{
    progress->shown = true;
    fprintf(stderr, "\r%s: %3u %%", progress->what, percent_done(progress));
}

static void *watch(void *argument)
{
    struct progress *progress = argument;
    int64_t until_ns = clock_monotonic_ns();
    pthread_mutex_lock(&progress->lock);
    for (unsigned tick = 0; !progress->done; tick++) {
        until_ns += TICK_MS * 1000000L;
        struct timespec until = clock_timespec(until_ns);
        pthread_cond_clockwait(&progress->ended, &progress->lock, CLOCK_MONOTONIC, &until);
        if (progress_fd >= 0 && !progress->done)
            report(progress);
        if (tick >= QUIET_TICKS && !progress->done && isatty(STDERR_FILENO))
            show(progress);
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

struct progress *progress_start(const struct source *source, const char *what)
{
    if (!isatty(STDERR_FILENO) && progress_fd < 0)
        return NULL;
    struct progress *progress = mem_zeroed(1, sizeof *progress);
    progress->source = source;
    progress->what = what;
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->ended, NULL);
    if (pthread_create(&progress->thread, NULL, watch, progress) != 0) {
        mem_free(progress);
        return NULL;
    }
    return progress;
}

void progress_stop(struct progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->done = true;
    pthread_cond_signal(&progress->ended);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    pthread_cond_destroy(&progress->ended);
    pthread_mutex_destroy(&progress->lock);
    mem_free(progress);
}

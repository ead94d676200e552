/*
 * Measures recording: events compared with a bare counter read, with a locked queue and
 * clock_gettime, disabled, from eight threads; stopping a capture; memory. Prints `name value`
 * lines; times are nanoseconds per event, the best of several interleaved rounds.
 */
#include "kymo/kymo.h"

#include "capture/recorder/counter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, EVENTS = 200000, RING = 1000000, THREADS = 8, SESSION = 1300000 };

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void start(const char *directory, uint64_t max_events)
{
    struct kymo_options options = KYMO_OPTIONS;
    options.output_dir = directory;
    options.max_events = max_events;
    if (kymo_start(&options) != 0)
        exit(1);
}

static void bare_counter(int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t ticks = counter_read();
        __asm__ volatile("" : : "r"(ticks));
    }
}

static void instants(int count)
{
    for (int i = 0; i < count; i++)
        KYMO_INSTANT("instant");
}

static void pairs(int count)
{
    for (int i = 0; i < count; i++) {
        KYMO_BEGIN("range", kymo_int("i", i));
        KYMO_END("range");
    }
}

static void scopes(int count)
{
    for (int i = 0; i < count; i++) {
        KYMO_SCOPE("scope", kymo_int("i", i));
        __asm__ volatile("" : : : "memory");
    }
}

static void nothing(int count)
{
    for (int i = 0; i < count; i++)
        __asm__ volatile("" : : : "memory");
}

static void many_args(int count)
{
    for (int i = 0; i < count; i++)
        KYMO_INSTANT("args", kymo_int("a", i), kymo_double("b", 0.5), kymo_text("c", "text"));
}

/* The baseline: clock_gettime and a queue with a mutex. */
struct plain_event {
    struct timespec time;
    const char *name;
    int64_t value;
};
static struct plain_event *queue;
static size_t queue_used;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

static void locked_queue(int count)
{
    for (int i = 0; i < count; i++) {
        struct plain_event event = {.name = "instant", .value = i};
        clock_gettime(CLOCK_MONOTONIC, &event.time);
        pthread_mutex_lock(&queue_lock);
        queue[queue_used++ % RING] = event;
        pthread_mutex_unlock(&queue_lock);
    }
}

struct work {
    const char *name;
    void (*run)(int count);
    double best_ns;
};

static void measure(struct work *works, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        works[i].best_ns = 1e9;
        works[i].run(EVENTS);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < count; i++) {
            double begun = now_ns(CLOCK_THREAD_CPUTIME_ID);
            works[i].run(EVENTS);
            double taken = (now_ns(CLOCK_THREAD_CPUTIME_ID) - begun) / EVENTS;
            works[i].best_ns = taken < works[i].best_ns ? taken : works[i].best_ns;
        }
    for (size_t i = 0; i < count; i++)
        printf("%s %.3f\n", works[i].name, works[i].best_ns);
}

/* CPU time of the thread, as there may be fewer cores than threads. */
static void *thread_body(void *best)
{
    instants(RING + EVENTS); /* one lap faults in all pages of the ring */
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double begun = now_ns(CLOCK_THREAD_CPUTIME_ID);
        instants(EVENTS);
        double taken = (now_ns(CLOCK_THREAD_CPUTIME_ID) - begun) / EVENTS;
        least = taken < least ? taken : least;
    }
    *(double *)best = least;
    return NULL;
}

static double threads(int count)
{
    pthread_t thread[THREADS];
    double best[THREADS], sum = 0;
    for (int i = 0; i < count; i++)
        pthread_create(&thread[i], NULL, thread_body, &best[i]);
    for (int i = 0; i < count; i++) {
        pthread_join(thread[i], NULL);
        sum += best[i];
    }
    return sum / count;
}

static double status_kib(const char *key)
{
    char line[256];
    double value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtod(line + strlen(key), NULL);
    if (file)
        fclose(file);
    return value;
}

static void stops(const char *directory)
{
    double best = 1e9, first_lap = 1e9;
    for (int i = 0; i < 5; i++) {
        start(directory, SESSION);
        double begun = now_ns(CLOCK_THREAD_CPUTIME_ID);
        pairs(SESSION / 2);
        double taken = (now_ns(CLOCK_THREAD_CPUTIME_ID) - begun) / SESSION;
        first_lap = taken < first_lap ? taken : first_lap;
        begun = now_ns(CLOCK_MONOTONIC);
        kymo_stop();
        taken = now_ns(CLOCK_MONOTONIC) - begun;
        best = taken < best ? taken : best;
    }
    printf("first_lap %.3f\nstop_seconds %.4f\n", first_lap, best / 1e9);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    double before = status_kib("VmHWM:");
    start(argv[1], RING);
    instants(10000000);
    kymo_stop();
    printf("memory_beyond_ring_mb %.3f\n",
           (status_kib("VmHWM:") - before) * 1024 / 1e6 - (RING + 16) * 32 / 1e6);
    queue = calloc(RING, sizeof *queue);
    if (!queue)
        return 1;
    struct work off[] = {
        {"off_instant", instants, 0}, {"off_scope", scopes, 0}, {"loop", nothing, 0}};
    measure(off, sizeof off / sizeof *off);
    stops(argv[1]);
    start(argv[1], RING);
    instants(RING);
    struct work on[] = {{"counter", bare_counter, 0}, {"event", instants, 0},
                        {"pair", pairs, 0},           {"scope", scopes, 0},
                        {"args", many_args, 0},       {"queue", locked_queue, 0}};
    measure(on, sizeof on / sizeof *on);
    printf("threads_1 %.3f\n", threads(1));
    printf("threads_8 %.3f\n", threads(THREADS));
    kymo_stop();
    free(queue);
    return 0;
}

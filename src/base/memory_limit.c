/*
 * Limit on resident memory: a table of mappings, and a thread that checks resident memory every few
 * milliseconds. The thread starts when there is enough to drop, which for most programs is never.
 * Threads that access a lot can outrun it; they check for themselves, see mem_touched.
 */
#include "base/memory_limit.h"

#include "base/clock.h"
#include "base/out_of_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    BUCKETS = 1024,
    SMALLEST_PAGE = 4096,
    CHECK_EVERY_MS = 10,
    MIN_DROPPABLE = 32 << 20, /* dropping less is not worth the time, and would not help for long */
    MIN_SHARE = 2 << 20,
    MAX_SHARE = 16 << 20,
};

struct watched {
    struct mapping mapping;
    struct watched *next;
};

static struct {
    /* Guards everything but the atomics. Held while pages are dropped, so that the address range
     * cannot be reused for another mapping meanwhile. */
    pthread_mutex_t lock;
    struct watched *table[BUCKETS]; /* hashed by address */
    size_t watched_bytes;
    atomic_size_t limit_bytes; /* 0: nothing is watched */
    atomic_int statm;          /* /proc/self/statm, which has resident memory; -1: not open */
    bool stops;
    pthread_t thread;
    pthread_cond_t stopping;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .stopping = PTHREAD_COND_INITIALIZER, .statm = -1};

static struct watched **find_entry(const void *address)
{
    struct watched **entry_at = &watch.table[(uintptr_t)address / SMALLEST_PAGE % BUCKETS];
    while (*entry_at && (*entry_at)->mapping.address != address)
        entry_at = &(*entry_at)->next;
    return entry_at;
}

struct usage {
    size_t resident, of_files; /* bytes */
};

/* In statm, the second number is the resident pages and the third the file-backed ones of them. */
static struct usage measure(void)
{
    char text[128], *at;
    ssize_t size = pread(atomic_load(&watch.statm), text, sizeof text - 1, 0);
    if (size <= 0)
        return (struct usage){0};
    text[size] = '\0';
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    strtoull(text, &at, 10);
    size_t resident = strtoull(at, &at, 10) * page;
    return (struct usage){resident, strtoull(at, NULL, 10) * page};
}

static void drop_pages(size_t min_size)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct watched *entry = watch.table[i]; entry; entry = entry->next)
            if (entry->mapping.size >= min_size)
                madvise(entry->mapping.address, entry->mapping.size, MADV_DONTNEED);
}

static bool is_too_much(size_t limit)
{
    struct usage usage = measure();
    return usage.resident > limit && usage.of_files > MIN_DROPPABLE;
}

/* The largest mappings are read sequentially; smaller ones, such as hash tables, would soon be read
 * again, so they stay if possible. */
static void enforce(void)
{
    size_t limit = atomic_load(&watch.limit_bytes);
    if (!is_too_much(limit))
        return;
    drop_pages(limit / 2);
    if (is_too_much(limit - limit / 16))
        drop_pages(0);
}

/* A thread's share of the remaining memory; there may be a few times more threads than cores. */
static size_t share_of(size_t room)
{
    static _Thread_local size_t threads;
    if (threads == 0)
        threads = 4 * (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    size_t share = room / threads;
    return share < MIN_SHARE ? MIN_SHARE : share > MAX_SHARE ? MAX_SHARE : share;
}

size_t memory_limit_check(void)
{
    if (atomic_load_explicit(&watch.statm, memory_order_relaxed) < 0)
        return MAX_SHARE;
    size_t limit = atomic_load(&watch.limit_bytes), resident = measure().resident;
    if (resident <= limit)
        return share_of(limit - resident);
    pthread_mutex_lock(&watch.lock);
    enforce();
    pthread_mutex_unlock(&watch.lock);
    return MIN_SHARE;
}

static void *enforce_periodically(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&watch.lock);
    while (!watch.stops) {
        enforce();
        struct timespec until = clock_after_ms(CHECK_EVERY_MS);
        pthread_cond_clockwait(&watch.stopping, &watch.lock, CLOCK_MONOTONIC, &until);
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

static void stop(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.stops = true;
    pthread_cond_signal(&watch.stopping);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
}

static void start_if_worthwhile(void)
{
    if (watch.statm >= 0 || watch.watched_bytes < watch.limit_bytes / 2)
        return;
    watch.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (watch.statm >= 0 && pthread_create(&watch.thread, NULL, enforce_periodically, NULL) == 0)
        atexit(stop);
}

void memory_limit_set(size_t resident_limit)
{
    atomic_store(&watch.limit_bytes, resident_limit);
}

void memory_limit_watch(struct mapping mapping)
{
    if (atomic_load(&watch.limit_bytes) == 0)
        return;
    struct watched *entry = malloc(sizeof *entry); /* not mem_alloc, which is built on this */
    if (!entry)
        mem_exhausted();
    *entry = (struct watched){.mapping = mapping};
    pthread_mutex_lock(&watch.lock);
    *find_entry(mapping.address) = entry;
    watch.watched_bytes += mapping.size;
    start_if_worthwhile();
    pthread_mutex_unlock(&watch.lock);
}

bool memory_limit_forget(const void *address, struct mapping *mapping)
{
    pthread_mutex_lock(&watch.lock);
    struct watched **entry_at = find_entry(address), *entry = *entry_at;
    if (entry) {
        *mapping = entry->mapping;
        *entry_at = entry->next;
        watch.watched_bytes -= mapping->size;
    }
    pthread_mutex_unlock(&watch.lock);
    free(entry);
    return entry != NULL;
}

bool memory_limit_find(const void *address, struct mapping *mapping)
{
    pthread_mutex_lock(&watch.lock);
    const struct watched *entry = *find_entry(address);
    if (entry)
        *mapping = entry->mapping;
    pthread_mutex_unlock(&watch.lock);
    return entry != NULL;
}

/*
 * The janitor: a table of mappings, and a thread that looks at the resident memory every few
 * milliseconds. It starts when there is enough to let go of, which for most programs is never. A
 * thread that touches a lot can outrun it; such threads look for themselves, see mem_touched.
 */
#include "base/janitor.h"

#include "base/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    BUCKETS = 1024,
    SMALLEST_PAGE = 4096,
    LOOK_EVERY_MS = 10,
    LEAST = 32 << 20, /* letting go of less is not worth the time, and would not help for long */
    SMALLEST_SHARE = 2 << 20,
    LARGEST_SHARE = 16 << 20,
};

struct watched {
    struct mapping mapping;
    struct watched *next;
};

static struct {
    /* Guards all but the atomic ones. It is held while pages are dropped: nobody may give the
     * address to another mapping meanwhile. */
    pthread_mutex_t lock;
    struct watched *table[BUCKETS]; /* by address */
    size_t watched_bytes;
    atomic_size_t limit_bytes; /* 0: nothing is watched */
    atomic_int statm;          /* where resident memory is read; -1: nobody looks */
    bool stops;
    pthread_t thread;
    pthread_cond_t stopping;
} janitor = {.lock = PTHREAD_MUTEX_INITIALIZER, .stopping = PTHREAD_COND_INITIALIZER, .statm = -1};

static struct watched **place_of(const void *address)
{
    struct watched **place = &janitor.table[(uintptr_t)address / SMALLEST_PAGE % BUCKETS];
    while (*place && (*place)->mapping.address != address)
        place = &(*place)->next;
    return place;
}

struct usage {
    size_t resident, of_files; /* bytes */
};

/* In statm, the second number is the resident pages and the third those of them that files have. */
static struct usage measure(void)
{
    char text[128], *at;
    ssize_t size = pread(atomic_load(&janitor.statm), text, sizeof text - 1, 0);
    if (size <= 0)
        return (struct usage){0};
    text[size] = '\0';
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    strtoull(text, &at, 10);
    size_t resident = strtoull(at, &at, 10) * page;
    return (struct usage){resident, strtoull(at, NULL, 10) * page};
}

static void drop_pages(size_t least_size)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct watched *entry = janitor.table[i]; entry; entry = entry->next)
            if (entry->mapping.size >= least_size)
                madvise(entry->mapping.address, entry->mapping.size, MADV_DONTNEED);
}

static bool is_too_much(size_t limit)
{
    struct usage usage = measure();
    return usage.resident > limit && usage.of_files > LEAST;
}

/* The largest mappings are gone through from end to end; smaller ones, such as hash tables, would
 * soon be missed, and stay if they can. */
static void look(void)
{
    size_t limit = atomic_load(&janitor.limit_bytes);
    if (!is_too_much(limit))
        return;
    drop_pages(limit / 2);
    if (is_too_much(limit - limit / 16))
        drop_pages(0);
}

/* A thread's share of the room there is; a few times as many may be at work as there are cores. */
static size_t share_of(size_t room)
{
    static _Thread_local size_t threads;
    if (threads == 0)
        threads = 4 * (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    size_t share = room / threads;
    return share < SMALLEST_SHARE ? SMALLEST_SHARE : share > LARGEST_SHARE ? LARGEST_SHARE : share;
}

size_t janitor_look(void)
{
    if (atomic_load_explicit(&janitor.statm, memory_order_relaxed) < 0)
        return LARGEST_SHARE;
    size_t limit = atomic_load(&janitor.limit_bytes), resident = measure().resident;
    if (resident <= limit)
        return share_of(limit - resident);
    pthread_mutex_lock(&janitor.lock);
    look();
    pthread_mutex_unlock(&janitor.lock);
    return SMALLEST_SHARE;
}

static void *keep_house(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&janitor.lock);
    while (!janitor.stops) {
        look();
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_EVERY_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_clockwait(&janitor.stopping, &janitor.lock, CLOCK_MONOTONIC, &until);
    }
    pthread_mutex_unlock(&janitor.lock);
    return NULL;
}

static void stop(void)
{
    pthread_mutex_lock(&janitor.lock);
    janitor.stops = true;
    pthread_cond_signal(&janitor.stopping);
    pthread_mutex_unlock(&janitor.lock);
    pthread_join(janitor.thread, NULL);
}

static void start_when_worthwhile(void)
{
    if (janitor.statm >= 0 || janitor.watched_bytes < janitor.limit_bytes / 2)
        return;
    janitor.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (janitor.statm >= 0 && pthread_create(&janitor.thread, NULL, keep_house, NULL) == 0)
        atexit(stop);
}

void janitor_limit(size_t resident_limit)
{
    atomic_store(&janitor.limit_bytes, resident_limit);
}

void janitor_watch(struct mapping mapping)
{
    if (atomic_load(&janitor.limit_bytes) == 0)
        return;
    struct watched *entry = mem_alloc(sizeof *entry);
    *entry = (struct watched){.mapping = mapping};
    pthread_mutex_lock(&janitor.lock);
    *place_of(mapping.address) = entry;
    janitor.watched_bytes += mapping.size;
    start_when_worthwhile();
    pthread_mutex_unlock(&janitor.lock);
}

bool janitor_forget(const void *address, struct mapping *mapping)
{
    pthread_mutex_lock(&janitor.lock);
    struct watched **place = place_of(address), *entry = *place;
    if (entry) {
        *mapping = entry->mapping;
        *place = entry->next;
        janitor.watched_bytes -= mapping->size;
    }
    pthread_mutex_unlock(&janitor.lock);
    mem_free(entry);
    return entry != NULL;
}

bool janitor_find(const void *address, struct mapping *mapping)
{
    pthread_mutex_lock(&janitor.lock);
    const struct watched *entry = *place_of(address);
    if (entry)
        *mapping = entry->mapping;
    pthread_mutex_unlock(&janitor.lock);
    return entry != NULL;
}
